/* paths.c - where the tracer and our other programs lie: beside this one in a build tree, or in one that was moved as a
 * whole, else where they were installed. */
#include "base/path.h"
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXEC_WORDS_MAX 1024

/* The directory of this program. */
static bool own_directory(char ret_path[PATH_MAX])
{
	path_self(ret_path, PATH_MAX);
	char *slash = strrchr(ret_path, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

void library_path(char *ret_path, size_t cap_bytes, const char *room, const char *name, const char *flavour)
{
	char own[PATH_MAX];
	if (own_directory(own)) {
		snprintf(ret_path, cap_bytes, "%s/../%s/lib%s%s.so", own, room, name, flavour);
		if (access(ret_path, F_OK) == 0)
			return;
	}
	snprintf(ret_path, cap_bytes, MPITRACE_PKGLIBDIR "/lib%s%s.so", name, flavour);
}

const char *tracer_path(void)
{
	static char path[PATH_MAX + 64];
	char own[PATH_MAX];
	if (own_directory(own)) {
		snprintf(path, sizeof(path), "%s/../pmpi", own);
		if (access(path, F_OK) == 0) {
			snprintf(path, sizeof(path), "%s/../pmpi/libmpitrace.so", own);
			return path;
		}
	}
	return MPITRACE_PKGLIBDIR "/libmpitrace.so";
}

static void exec_one(const char *path, const char *program, char **argv)
{
	char *words[EXEC_WORDS_MAX + 2] = {(char *)program};
	size_t n = 0;
	while (argv[n] != NULL && n < EXEC_WORDS_MAX) {
		words[n + 1] = argv[n];
		n++;
	}
	execv(path, words);
}

int exec_beside(const char *program, const char *room, char **argv)
{
	char own[PATH_MAX], path[PATH_MAX + 256];
	if (own_directory(own)) {
		snprintf(path, sizeof(path), "%s/../%s/%s", own, room, program);
		exec_one(path, program, argv);
		snprintf(path, sizeof(path), "%s/../libexec/mpitrace/%s", own, program);
		exec_one(path, program, argv);
	}
	snprintf(path, sizeof(path), MPITRACE_LIBEXECDIR "/%s", program);
	exec_one(path, program, argv);
	fprintf(stderr, "mpitrace %s: %s: %s; it is part of mpitrace, so install that anew\n", argv[0], path,
		strerror(errno));
	return EXIT_BAD_INPUT;
}
