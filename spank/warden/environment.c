/* environment.c - see environment.h. In: SLURM_CONF and MPITRACE_SLURM_BIN of root's process, and its program. */
#include "spank/warden/environment.h"

#include "base/path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define USUAL "/usr/bin:/bin"
#define BIN "MPITRACE_SLURM_BIN"

/* slurmd and slurmstepd lie in PREFIX/sbin, the commands in PREFIX/bin (Slurm's installation). */
static const char *commands(char ret_dir[PATH_MAX])
{
	char self[PATH_MAX];
	struct stat st;
	const char *told = getenv(BIN);
	path_self(self, sizeof(self));
	for (int i = 0; i < 2 && strrchr(self, '/') != NULL; i++)
		*strrchr(self, '/') = '\0';
	if (told == NULL && snprintf(ret_dir, PATH_MAX, "%s/bin/scontrol", self) < PATH_MAX &&
	    stat(ret_dir, &st) == 0) {
		*strrchr(ret_dir, '/') = '\0';
		return strcmp(ret_dir, "/usr/bin") == 0 || strcmp(ret_dir, "/bin") == 0 ? NULL : ret_dir;
	}
	return told != NULL && *told == '/' && strchr(told, ':') == NULL ? told : NULL;
}

char *const *environment_clean(void)
{
	static char path[PATH_MAX + 64], bin[PATH_MAX + 64], conf[PATH_MAX + 16], locale[] = "LC_ALL=C";
	static char *words[5];
	char dir[PATH_MAX];
	const char *slurm = commands(dir), *named = getenv("SLURM_CONF");
	int n = 0;
	snprintf(path, sizeof(path), "PATH=" USUAL "%s%s", slurm != NULL ? ":" : "", slurm != NULL ? slurm : "");
	words[n++] = path;
	words[n++] = locale;
	if (slurm != NULL && snprintf(bin, sizeof(bin), BIN "=%s", slurm) < (int)sizeof(bin))
		words[n++] = bin;
	if (named != NULL && *named == '/' && snprintf(conf, sizeof(conf), "SLURM_CONF=%s", named) < (int)sizeof(conf))
		words[n++] = conf;
	words[n] = NULL;
	return words;
}
