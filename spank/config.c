/* config.c - see config.h. */
#include "spank/config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void host_name(char *ret_name, size_t cap_bytes)
{
	if (gethostname(ret_name, cap_bytes) != 0)
		snprintf(ret_name, cap_bytes, "localhost");
	ret_name[cap_bytes - 1] = '\0';
	ret_name[strcspn(ret_name, "./")] = '\0';
}

/* Copy an absolute path, %n replaced by the host's name. */
static bool expand(const char *text, char ret_path[PATH_MAX])
{
	char host[256];
	size_t used = 0;
	host_name(host, sizeof(host));
	if (*text != '/')
		return false;
	for (; *text != '\0'; text++) {
		bool is_name = text[0] == '%' && text[1] == 'n';
		int n = is_name ? snprintf(ret_path + used, PATH_MAX - used, "%s", host)
				: snprintf(ret_path + used, PATH_MAX - used, "%c", *text);
		used += (size_t)n;
		if (used >= PATH_MAX)
			return false;
		text += is_name;
	}
	return true;
}

static bool apply(const char *argument, struct config *c)
{
	char path[PATH_MAX];
	static const char *const switches[] = {"default=off", "default=on"};
	for (int i = 0; i < 2; i++) {
		if (strcmp(argument, switches[i]) == 0) {
			c->default_on = i == 1;
			return true;
		}
	}
	struct {
		const char *key;
		char *to;
	} paths[] = {{"spool=", c->spool}, {"libdir=", c->libdir}, {"bindir=", c->bindir}};
	for (int i = 0; i < 3; i++) {
		size_t len_bytes = strlen(paths[i].key);
		if (strncmp(argument, paths[i].key, len_bytes) != 0 || !expand(argument + len_bytes, path))
			continue;
		memcpy(paths[i].to, path, strlen(path) + 1); /* both have PATH_MAX bytes */
		return true;
	}
	return false;
}

const char *config_parse(int argc, char **argv, struct config *ret_config)
{
	const char *bad = NULL;
	*ret_config = (struct config){
		.spool = "/var/spool/mpitrace", .libdir = MPITRACE_PKGLIBDIR, .bindir = MPITRACE_BINDIR};
	for (int i = 0; i < argc; i++)
		if (!apply(argv[i], ret_config) && bad == NULL)
			bad = argv[i];
	return bad;
}
