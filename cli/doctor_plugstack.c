/* doctor_plugstack.c - what plugstack.conf says about our plugin; includes are followed one level.
 * In: SLURM_CONF, /etc/slurm/slurm.conf (PlugStackConfig), plugstack.conf(8) as in spank(7).  Out:
 * struct plugstack. */
#include "cli/doctor.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LINE_BYTES 4096
#define WORDS_MAX 64
#define BLANKS " \t\r\n"

static void copy(char *to, size_t cap_bytes, const char *from)
{
	snprintf(to, cap_bytes, "%s", from);
}

/* PlugStackConfig of slurm.conf, else plugstack.conf beside it. */
static void find_plugstack(struct plugstack *p)
{
	const char *asked = getenv("SLURM_CONF");
	char conf[PATH_MAX], line[LINE_BYTES];
	copy(conf, sizeof(conf), asked != NULL ? asked : "/etc/slurm/slurm.conf");
	FILE *f = fopen(conf, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		char *at = line + strspn(line, BLANKS);
		if (strncasecmp(at, "PlugStackConfig", 15) == 0 && (at = strchr(at, '=')) != NULL) {
			at += 1 + strspn(at + 1, BLANKS);
			at[strcspn(at, BLANKS "#")] = '\0';
			copy(p->path, sizeof(p->path), at);
		}
	}
	if (f != NULL)
		fclose(f);
	char *slash = strrchr(conf, '/');
	if (p->path[0] == '\0' && slash != NULL)
		snprintf(p->path, sizeof(p->path), "%.*s/plugstack.conf", (int)(slash - conf), conf);
	if (f == NULL && access(p->path, F_OK) != 0)
		p->path[0] = '\0';
}

/* {optional|required, path, arguments ...} */
static void take_plugin(struct plugstack *p, char **words, int n)
{
	const char *slash = strrchr(words[1], '/');
	p->before_pyxis |= p->times > 0 && strcmp(slash != NULL ? slash + 1 : words[1], "spank_pyxis.so") == 0;
	if (strcmp(slash != NULL ? slash + 1 : words[1], "mpitrace.so") != 0)
		return;
	p->required |= strcasecmp(words[0], "required") == 0;
	if (p->times++ > 0)
		return;
	const char *bad = config_parse(n - 2, words + 2, &p->config);
	copy(p->bad_argument, sizeof(p->bad_argument), bad != NULL ? bad : "");
	copy(p->plugin, sizeof(p->plugin), words[1]);
}

static bool read_file(struct plugstack *p, const char *path, int depth);

static void include(struct plugstack *p, const char *from, const char *pattern, int depth)
{
	char path[2 * PATH_MAX];
	const char *slash = strrchr(from, '/');
	glob_t found;
	if (pattern[0] == '/' || slash == NULL)
		copy(path, sizeof(path), pattern);
	else
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - from), from, pattern);
	if (depth > 0 || glob(path, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		read_file(p, found.gl_pathv[i], depth + 1);
	globfree(&found);
}

static bool read_file(struct plugstack *p, const char *path, int depth)
{
	char line[LINE_BYTES], *words[WORDS_MAX], *save;
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL) {
		int n = 0;
		line[strcspn(line, "#")] = '\0';
		for (char *w = strtok_r(line, BLANKS, &save); w != NULL && n < WORDS_MAX;
		     w = strtok_r(NULL, BLANKS, &save))
			words[n++] = w;
		if (n >= 2 && strcasecmp(words[0], "include") == 0)
			include(p, path, words[1], depth);
		else if (n >= 2)
			take_plugin(p, words, n);
	}
	fclose(f);
	return true;
}

void plugstack_read(struct plugstack *ret_p)
{
	struct plugstack p = {0};
	config_parse(0, NULL, &p.config);
	find_plugstack(&p);
	p.readable = p.path[0] != '\0' && read_file(&p, p.path, 0);
	*ret_p = p;
}
