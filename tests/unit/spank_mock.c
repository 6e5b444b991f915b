/* spank_mock.c - see spank_mock.h. */
#include "tests/unit/spank_mock.h"
#include "spank/warden/remove.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLES 8
static struct {
	char name[64];
	char *value;
} env[VARIABLES];

const char *sl_env(spank_t sp, const char *name)
{
	(void)sp;
	for (int i = 0; i < VARIABLES; i++)
		if (env[i].value != NULL && strcmp(env[i].name, name) == 0)
			return env[i].value;
	return NULL;
}

char *program[3];

int sl_argv(spank_t sp, char ***ret_argv)
{
	(void)sp;
	*ret_argv = program;
	return (program[0] != NULL) + (program[1] != NULL);
}

int sl_node_index(const char *list, const char *node)
{
	const char *at = list != NULL ? strstr(list, node) : NULL; /* "a,b,c" */
	return at != NULL ? (int)(at - list) / 2 : -1;
}

void sl_verbose(const char *fmt, ...)
{
	(void)fmt;
}

uint32_t task_of_step;

/* The first task of a node. */
bool sl_number(spank_t sp, spank_item_t item, uint32_t *ret_value)
{
	(void)sp;
	*ret_value = item == S_TASK_GLOBAL_ID ? task_of_step : 0;
	return item == S_TASK_ID || item == S_TASK_GLOBAL_ID;
}

bool sl_unsetenv(spank_t sp, const char *name)
{
	(void)sp;
	for (int i = 0; i < VARIABLES; i++) {
		if (env[i].value == NULL || strcmp(env[i].name, name) != 0)
			continue;
		free(env[i].value);
		env[i].value = NULL;
	}
	return true;
}

bool sl_setenv(spank_t sp, const char *name, const char *value)
{
	char *copy = strdup(value);
	sl_unsetenv(sp, name);
	for (int i = 0; i < VARIABLES; i++) {
		if (env[i].value != NULL)
			continue;
		snprintf(env[i].name, sizeof(env[i].name), "%s", name);
		env[i].value = copy;
		return true;
	}
	free(copy);
	return false;
}

char root[] = "/tmp/mpitrace-spank-XXXXXX";

void make_root(void)
{
	cr_assert_not_null(mkdtemp(root));
}

void drop_root(void)
{
	remove_tree(AT_FDCWD, root);
}

int open_root(void)
{
	return open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void put_file(const char *name)
{
	char path[300];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	cr_assert_geq(fd, 0, "%s", path);
	close(fd);
}

bool exists(const char *name)
{
	char path[300];
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s", root, name);
	return lstat(path, &st) == 0;
}

struct request r;
struct config here;
struct step step;
struct notice notice;
char library[PATH_MAX + 32];

void make_task(void)
{
	make_root();
	put_file("libmpitrace.so");
	config_parse(0, NULL, &here);
	snprintf(here.libdir, sizeof(here.libdir), "%s", root);
	snprintf(library, sizeof(library), "%s/libmpitrace.so", root);
	step = (struct step){.active = true, .dir = "/spool/step-0"};
	request_parse("budget=1K", &r, NULL);
}
