/* doctor_slurm.c - checks of the Slurm side: version, plugstack.conf, running slurmd. */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/doctor.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of slurmd, else of srun, which wants a configuration for that: any will do, in a directory where nobody puts a
 * plugstack.conf beside it. Not with the one of this host: it may wait for a minute for what that names. */
bool slurm_version(char *ret_line, size_t cap_bytes)
{
	static const char command[] =
		"PATH=$PATH:/usr/sbin:/sbin; { timeout 5 slurmd -V || if command -v srun >&2 && d=$(mktemp -d || "
		"mktemp -d -p /dev/shm); then "
		"printf 'ClusterName=x\\nSlurmctldHost=x\\n' >\"$d/slurm.conf\"; "
		"SLURM_CONF=$d/slurm.conf timeout 5 srun --version; rm -r \"$d\"; fi; } 2>/dev/null";
	return first_line_of(command, ret_line, cap_bytes);
}

void check_slurm(struct verdict *v)
{
	char line[256], at[PATH_MAX + 64];
	struct hindrance h;
	const char *conf = slurm_conf(), *asked = getenv("SLURM_CONF");
	snprintf(at, sizeof(at), "%s", conf);
	if (asked != NULL && asked[0] != '\0' && access(conf, F_OK) != 0)
		verdict_say(v, VERDICT_WARN, "correct or unset SLURM_CONF", "SLURM_CONF names %s, which does not exist",
			    at);
	else if (access(conf, F_OK) == 0 && path_hinders(conf, PATH_READ, &h))
		verdict_say(v, VERDICT_BAD, h.next, "%s: no srun of theirs starts", h.what);
	else if (slurm_version(line, sizeof(line)))
		verdict_say(v, VERDICT_OK, NULL, "%s", line);
	else
		verdict_say(v, VERDICT_OK, NULL, "no Slurm on this host; `mpitrace run` works without");
}

void check_plugstack(struct verdict *v)
{
	struct plugstack p;
	char next[PATH_MAX + 64];
	plugstack_read(&p);
	snprintf(next, sizeof(next), "add the line: optional %s", plugin_path(&p));
	if (p.path[0] == '\0')
		verdict_say(v, VERDICT_OK, NULL, "no Slurm configuration on this host (SLURM_CONF, /etc/slurm)");
	else if (!p.there)
		verdict_say(v, VERDICT_WARN, next, "%s is not there", p.path);
	else if (p.wrong.level == VERDICT_BAD)
		*v = p.wrong;
	else if (p.times == 0)
		verdict_say(v, VERDICT_WARN, next, "%s does not name mpitrace.so", p.path);
	else if (p.times > 1)
		verdict_say(v, VERDICT_WARN, "keep one line", "%s names mpitrace.so %u times", p.path, p.times);
	else if (p.wrong.level != VERDICT_OK)
		*v = p.wrong;
	else
		verdict_say(v, VERDICT_OK, NULL, "%s names it once, optional", p.path);
}

/* Debian's file is slurmd-wlm, behind a link: after `scontrol reconfigure` newer ones have that name. */
bool is_slurmd(const char *pid)
{
	char path[300], name[64] = "";
	if (pid[0] < '0' || pid[0] > '9')
		return false;
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	FILE *f = fopen(path, "re");
	bool is = f != NULL && fgets(name, sizeof(name), f) != NULL &&
		  (strcmp(name, "slurmd\n") == 0 || strcmp(name, "slurmd-wlm\n") == 0);
	if (f != NULL)
		fclose(f);
	return is;
}

/* One of another mount namespace (a container, a test cluster) sees other files than we do. */
static bool is_our_slurmd(const char *pid)
{
	char path[300], theirs[64] = "", ours[64] = "";
	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", pid);
	return is_slurmd(pid) && readlink(path, theirs, sizeof(theirs) - 1) > 0 &&
	       readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) > 0 && strcmp(theirs, ours) == 0;
}

bool has_slurmd(void)
{
	const struct dirent *entry;
	bool has = false;
	DIR *d = opendir("/proc");
	while (d != NULL && !has && (entry = readdir(d)) != NULL)
		has = is_our_slurmd(entry->d_name);
	if (d != NULL)
		closedir(d);
	return has;
}

static int64_t tick_ns(void)
{
	return INT64_C(1000000000) / sysconf(_SC_CLK_TCK);
}

/* Nanoseconds since 1970, as exact as a tick, 0 = unknown; proc(5), stat, field 22. (btime there is of whole seconds:
 * what was started right after the plugin was installed would seem to be older.) */
static int64_t started(const char *pid)
{
	char path[300], line[1024] = "";
	int64_t ticks = 0;
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	FILE *f = fopen(path, "re");
	const char *at = f != NULL && fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
	for (int field = 2; at != NULL && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at != NULL)
		ticks = strtoll(at, NULL, 10);
	if (f != NULL)
		fclose(f);
	return ticks > 0 ? clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + ticks * tick_ns() : 0;
}

static bool is_before(int64_t since, const struct timespec *t)
{
	return since + 2 * tick_ns() < t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
}

/* Only a start that is known is compared; of several, what is said is the worst. */
static void check_daemon(const char *pid, const char *plugin, const struct stat *st, struct verdict *v)
{
	struct verdict mine;
	int64_t since = started(pid);
	if (st == NULL)
		verdict_say(&mine, VERDICT_OK, NULL, "slurmd (pid %s) has no plugin to load: %s is not there", pid,
			    plugin);
	else if (since <= 0)
		verdict_say(&mine, VERDICT_WARN, "restart slurmd, if that was before the plugin was installed",
			    "it is not known when slurmd (pid %s) was started", pid);
	else if (is_before(since, &st->st_ctim))
		verdict_say(&mine, VERDICT_WARN, "restart slurmd: systemctl restart slurmd (running jobs stay)",
			    "slurmd (pid %s) is older than the plugin: it keeps the old "
			    "one loaded",
			    pid);
	else
		verdict_say(&mine, VERDICT_OK, NULL, "slurmd (pid %s) was started after the plugin was installed", pid);
	if (v->what[0] == '\0' || mine.level > v->level)
		*v = mine;
}

void check_slurmd(struct verdict *v)
{
	struct plugstack p;
	struct stat st;
	const struct dirent *entry;
	plugstack_read(&p);
	bool there = stat(plugin_path(&p), &st) == 0;
	*v = (struct verdict){.level = VERDICT_OK};
	DIR *d = opendir("/proc");
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (is_our_slurmd(entry->d_name))
			check_daemon(entry->d_name, plugin_path(&p), there ? &st : NULL, v);
	if (d != NULL)
		closedir(d);
	if (v->what[0] == '\0')
		verdict_say(v, VERDICT_OK, NULL, "no slurmd on this host");
}
