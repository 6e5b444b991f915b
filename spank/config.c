/* config.c - see config.h. */
#include "spank/config.h"
#include "spank/policy/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

static bool take_path(const char *value, char *to)
{
	char path[PATH_MAX];
	if (!expand(value, path))
		return false;
	memcpy(to, path, strlen(path) + 1); /* both have PATH_MAX bytes */
	return true;
}

/* A number, or with K, M, G behind it. */
static bool take_size(const char *value, uint64_t *to)
{
	static const char units[] = "KMG";
	char *end;
	errno = 0;
	unsigned long long number = strtoull(value, &end, 10);
	const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
	unsigned shift = unit != NULL ? 10 * (unsigned)(unit - units + 1) : 0;
	if (*value < '0' || *value > '9' || errno != 0 || (*end != '\0' && (unit == NULL || end[1] != '\0')) ||
	    number > UINT64_MAX >> shift)
		return false;
	*to = (uint64_t)number << shift;
	return true;
}

static bool take_word(const char *value, const char *no, const char *yes, bool *to)
{
	if (strcmp(value, no) != 0 && strcmp(value, yes) != 0)
		return false;
	*to = strcmp(value, yes) == 0;
	return true;
}

/* The value of "key=value", NULL if it is another key. */
static const char *value_of(const char *argument, const char *key)
{
	size_t n = strlen(key);
	return strncmp(argument, key, n) == 0 && argument[n] == '=' ? argument + n + 1 : NULL;
}

static bool apply_known(const char *argument, struct config *c)
{
	const char *v;
	struct {
		const char *key;
		char *to;
	} paths[] = {{"spool", c->spool},
		     {"libdir", c->libdir},
		     {"bindir", c->bindir},
		     {"libexecdir", c->libexecdir},
		     {"policy", c->policy}};
	struct {
		const char *key;
		uint64_t *to;
	} sizes[] = {{"spool_bytes", &c->spool_bytes},	   {"node_bytes", &c->node_bytes},
		     {"reserve_bytes", &c->reserve_bytes}, {"trace_bytes", &c->trace_bytes},
		     {"budget", &c->budget_bytes},	   {"report_seconds", &c->report_seconds}};
	struct {
		const char *key, *no, *yes;
		bool *to;
	} words[] = {{"default", "off", "on", &c->default_on},
		     {"spool_fs", "none", "tmpfs", &c->own_mount},
		     {"spool_shared", "no", "yes", &c->share_with_slurmd}};
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if ((v = value_of(argument, paths[i].key)) != NULL)
			return take_path(v, paths[i].to);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if ((v = value_of(argument, sizes[i].key)) != NULL)
			return take_size(v, sizes[i].to);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((v = value_of(argument, words[i].key)) != NULL)
			return take_word(v, words[i].no, words[i].yes, words[i].to);
	return false;
}

/* Slurm hands over the '\r' of a line that ends as on Windows, with the last word. */
static bool apply(const char *argument, struct config *c)
{
	char text[PATH_MAX + 64];
	size_t len = strlen(argument);
	if (len == 0 || argument[len - 1] != '\r')
		return apply_known(argument, c);
	int n = snprintf(text, sizeof(text), "%.*s", (int)(len - 1), argument);
	return len == 1 || (n < (int)sizeof(text) && apply_known(text, c));
}

const char *config_parse(int argc, char **argv, struct config *ret_config)
{
	const char *bad = NULL;
	*ret_config = (struct config){.spool = "/var/spool/mpitrace",
				      .libdir = MPITRACE_PKGLIBDIR,
				      .bindir = MPITRACE_BINDIR,
				      .libexecdir = MPITRACE_LIBEXECDIR,
				      .policy = "",
				      .own_mount = true,
				      .budget_bytes = 256ull << 20};
	for (int i = 0; i < argc; i++)
		if (!apply(argv[i], ret_config) && bad == NULL)
			bad = argv[i];
	return bad;
}
