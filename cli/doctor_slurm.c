/* doctor_slurm.c - checks of the Slurm side: version, plugin file, plugstack.conf, running slurmd,
 * spool. */
#include "cli/cli.h"
#include "cli/doctor.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if __has_include(<slurm/slurm_version.h>)
#include <slurm/slurm_version.h>
#endif

#define PLUGIN_PATH MPITRACE_SLURMDIR "/mpitrace.so"

/* Not `scontrol --version`: without a reachable configuration it waits for a minute. */
static bool slurm_version(char *ret_line, size_t cap_bytes)
{
	return first_line_of("PATH=$PATH:/usr/sbin:/sbin; { timeout 5 slurmd -V || timeout 5 srun "
			     "--version; } 2>/dev/null",
			     ret_line, cap_bytes);
}

void check_slurm(struct verdict *v)
{
	char line[256];
	unsigned major = 0, minor = 0;
	if (!slurm_version(line, sizeof(line))) {
		verdict_say(v, VERDICT_OK, NULL, "no Slurm on this host; `mpitrace run` works without");
		return;
	}
#ifdef SLURM_VERSION_NUMBER
	const char *digits = strpbrk(line, "0123456789");
	unsigned built_major = SLURM_VERSION_NUMBER >> 16, built_minor = SLURM_VERSION_NUMBER >> 8 & 255;
	if (digits == NULL || sscanf(digits, "%u.%u", &major, &minor) != 2)
		verdict_say(v, VERDICT_WARN, NULL, "cannot understand Slurm's version \"%s\"", line);
	else if (major != built_major || minor != built_minor)
		verdict_say(v, VERDICT_BAD, "build against this Slurm's headers and install again",
			    "%s runs here, the plugin is for %u.%02u: Slurm refuses it", line, built_major,
			    built_minor);
	else
		verdict_say(v, VERDICT_OK, NULL, "%s, as the plugin was built for", line);
#else
	(void)major, (void)minor;
	verdict_say(v, VERDICT_BAD, "install libslurm-dev, build and install again",
		    "%s is here, but mpitrace was built without", line);
#endif
}

static const char *plugin_path(const struct plugstack *p)
{
	return p->plugin[0] == '/' ? p->plugin : PLUGIN_PATH;
}

void check_plugin(struct verdict *v)
{
	struct plugstack p;
	char line[256];
	plugstack_read(&p);
	const char *path = plugin_path(&p);
	if (p.times > 0 && p.plugin[0] != '/')
		verdict_say(v, VERDICT_WARN, "write the whole path: optional " PLUGIN_PATH,
			    "%s names it without its directory: Slurm looks in its PluginDir only", p.path);
	else if (access(path, R_OK) == 0)
		verdict_say(v, VERDICT_OK, NULL, "%s", path);
	else if (p.times > 0)
		verdict_say(v, VERDICT_BAD, "install it there, or name the right path in plugstack.conf",
			    "%s, named by %s, cannot be read", path, p.path);
	else if (slurm_version(line, sizeof(line)))
		verdict_say(v, VERDICT_WARN, "meson install -C build (with libslurm-dev installed when it was set up)",
			    "%s is not there: srun has no --mpitrace", path);
	else
		verdict_say(v, VERDICT_OK, NULL, "not installed, not needed without Slurm");
}

void check_plugstack(struct verdict *v)
{
	struct plugstack p;
	char next[256];
	plugstack_read(&p);
	snprintf(next, sizeof(next), "add the line: optional %.200s", PLUGIN_PATH);
	if (p.path[0] == '\0')
		verdict_say(v, VERDICT_OK, NULL, "no Slurm configuration on this host (SLURM_CONF, /etc/slurm)");
	else if (!p.readable)
		verdict_say(v, VERDICT_WARN, next, "%s cannot be read", p.path);
	else if (p.times == 0)
		verdict_say(v, VERDICT_WARN, next, "%s does not name mpitrace.so", p.path);
	else if (p.required)
		verdict_say(v, VERDICT_BAD, "write optional instead of required",
			    "%s: required: a failing plugin would stop jobs", p.path);
	else if (p.times > 1)
		verdict_say(v, VERDICT_WARN, "keep one line", "%s names mpitrace.so %u times", p.path, p.times);
	else if (p.bad_argument[0] != '\0')
		verdict_say(v, VERDICT_WARN, "known: " CONFIG_KEYS, "%s: \"%s\" is not understood", p.path,
			    p.bad_argument);
	else
		verdict_say(v, VERDICT_OK, NULL, "%s names it once, optional", p.path);
}

static bool is_our_slurmd(const char *pid)
{
	char path[300], name[64] = "", theirs[64] = "", ours[64] = "";
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	FILE *f = fopen(path, "re");
	bool is_slurmd = f != NULL && fgets(name, sizeof(name), f) != NULL && strcmp(name, "slurmd\n") == 0;
	if (f != NULL)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", pid);
	/* One of another mount namespace (a container, a test cluster) sees other files than we do.
	 */
	return is_slurmd && readlink(path, theirs, sizeof(theirs) - 1) > 0 &&
	       readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) > 0 && strcmp(theirs, ours) == 0;
}

static long boot_time(void)
{
	char line[256];
	long seconds = 0;
	FILE *f = fopen("/proc/stat", "re");
	while (f != NULL && seconds == 0 && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "btime %ld", &seconds);
	if (f != NULL)
		fclose(f);
	return seconds;
}

/* Seconds since 1970, 0 = unknown; proc(5), stat, field 22. */
static long started(const char *pid)
{
	char path[300], line[1024] = "";
	unsigned long long ticks = 0;
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	FILE *f = fopen(path, "re");
	const char *at = f != NULL && fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
	for (int field = 2; at != NULL && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at != NULL)
		ticks = strtoull(at, NULL, 10);
	if (f != NULL)
		fclose(f);
	return ticks > 0 ? boot_time() + (long)(ticks / (unsigned long)sysconf(_SC_CLK_TCK)) : 0;
}

void check_slurmd(struct verdict *v)
{
	struct plugstack p;
	struct stat st;
	const struct dirent *entry;
	plugstack_read(&p);
	bool there = stat(plugin_path(&p), &st) == 0;
	verdict_say(v, VERDICT_OK, NULL, "no slurmd to be seen on this host");
	DIR *d = opendir("/proc");
	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || !is_our_slurmd(entry->d_name))
			continue;
		long since = started(entry->d_name);
		if (there && since > 0 && since < st.st_ctime)
			verdict_say(v, VERDICT_WARN, "restart slurmd: systemctl restart slurmd (running jobs stay)",
				    "slurmd (pid %s) is older than the plugin: it keeps the old "
				    "one loaded",
				    entry->d_name);
		else
			verdict_say(v, VERDICT_OK, NULL, "slurmd (pid %s) was started after the plugin was installed",
				    entry->d_name);
		break;
	}
	if (d != NULL)
		closedir(d);
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

void check_spool(struct verdict *v)
{
	struct plugstack p;
	struct stat st;
	char parent[PATH_MAX];
	plugstack_read(&p);
	snprintf(parent, sizeof(parent), "%s", p.config.spool);
	char *slash = strrchr(parent, '/');
	if (slash != NULL && slash != parent)
		*slash = '\0';
	if (is_below(p.config.spool, "/tmp") || is_below(p.config.spool, "/dev/shm"))
		verdict_say(v, VERDICT_BAD, "choose spool=/var/spool/mpitrace",
			    "%s: Slurm's job_container/tmpfs hides this directory from jobs", p.config.spool);
	else if (stat(p.config.spool, &st) == 0 && (st.st_uid != 0 || (st.st_mode & 022) != 0 || !S_ISDIR(st.st_mode)))
		verdict_say(v, VERDICT_BAD, "chown root and chmod 0711, so that nobody else can write to it",
			    "%s: owner %u, mode %04o: the plugin refuses it", p.config.spool, (unsigned)st.st_uid,
			    (unsigned)st.st_mode & 07777);
	else if (stat(p.config.spool, &st) == 0)
		verdict_say(v, VERDICT_OK, NULL, "%s", p.config.spool);
	else if (p.times > 0 && stat(parent, &st) != 0)
		verdict_say(v, VERDICT_BAD, "make it on every node, owned by root",
			    "%s, where the spool would be made, is not there", parent);
	else
		verdict_say(v, VERDICT_OK, NULL, "%s will be made by the first step", p.config.spool);
}
