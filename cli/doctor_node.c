/* doctor_node.c - checks of what the plugin's arguments name on this node: programs that root runs, the room a step
 * gets, what waits to be finished. */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/doctor_elf.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LATE_MANY 20

struct program {
	const char *dir, *name, *key;
};

/* What is wrong with a program that root starts, as the plugin asks it, in *v. */
static bool is_wrong(const struct program *p, struct verdict *v)
{
	char path[PATH_MAX + 32], next[PATH_MAX + 128];
	struct hindrance h;
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s", p->dir, p->name);
	snprintf(next, sizeof(next), "install as root, or set %s= behind the plugin in plugstack.conf", p->key);
	const char *wrong = NULL;
	if (path_hinders(path, PATH_RUN, &h)) {
		verdict_say(v, h.some ? VERDICT_WARN : VERDICT_BAD, h.next[0] != '\0' ? h.next : next, "%s: %s", h.what,
			    "steps run untraced here");
		return true;
	}
	if (path_is_writable(path, &h)) {
		verdict_say(v, VERDICT_BAD, h.next, "%s: root runs %s", h.what, path);
		return true;
	}
	if (stat(path, &st) == 0 && st.st_uid != 0)
		wrong = "is not root's";
	else
		wrong = program_wrong(path);
	if (wrong != NULL)
		verdict_say(v, VERDICT_BAD, next, "%s %s: steps run untraced here", path, wrong);
	return wrong != NULL;
}

/* The files that the plugin starts or preloads: with one of them wrong every step runs untraced. */
void check_programs(struct verdict *v)
{
	struct plugstack p;
	plugstack_read(&p);
	const struct program programs[] = {{p.config.bindir, "mpitrace", "bindir"},
					   {p.config.libexecdir, "mpitrace-warden", "libexecdir"}};
	if (p.times > 0 && tracer_elsewhere(&p, v))
		return;
	for (size_t i = 0; p.times > 0 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (is_wrong(&programs[i], v))
			return;
	verdict_say(v, VERDICT_OK, NULL, "%s",
		    p.times > 0 ? "tracer, mpitrace and mpitrace-warden are in place and owned by root"
				: "no plugin to run any");
}

void check_containers(struct verdict *v)
{
	struct plugstack p;
	plugstack_read(&p);
	if (p.before_pyxis)
		verdict_say(v, VERDICT_WARN, "name mpitrace.so behind spank_pyxis.so",
			    "%s: pyxis comes after mpitrace, which then preloads a library that may be missing in the "
			    "container",
			    p.path);
	else
		verdict_say(v, VERDICT_OK, NULL, "no container plugin comes after mpitrace");
}

/* The device of a directory, or of the first one above it that is there. */
static bool device_of(const char *path, dev_t *ret_device)
{
	struct stat st;
	char at[PATH_MAX];
	snprintf(at, sizeof(at), "%s", path);
	while (stat(at, &st) != 0) {
		char *slash = strrchr(at, '/');
		if (slash == NULL || slash == at)
			return false;
		*slash = '\0';
	}
	*ret_device = st.st_dev;
	return true;
}

/* %n and %h: this host (slurm.conf(5)); good enough where node and host have one name. */
static void expand(const char *from, char *to, size_t cap_bytes)
{
	char host[256] = "localhost";
	size_t used = 0;
	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	for (; *from != '\0' && used + 1 < cap_bytes; from++) {
		bool is_name = from[0] == '%' && (from[1] == 'n' || from[1] == 'h');
		used += (size_t)(is_name ? snprintf(to + used, cap_bytes - used, "%s", host)
					 : snprintf(to + used, cap_bytes - used, "%c", *from));
		from += is_name;
	}
	to[used < cap_bytes ? used : cap_bytes - 1] = '\0';
}

void check_room(struct verdict *v)
{
	struct plugstack p;
	char value[PATH_MAX] = "/var/spool/slurmd", slurmd[PATH_MAX];
	dev_t ours, theirs;
	plugstack_read(&p);
	slurm_conf_value("SlurmdSpoolDir", value, sizeof(value));
	expand(value, slurmd, sizeof(slurmd));
	if (p.times == 0)
		verdict_say(v, VERDICT_OK, NULL, "no plugin that needs any");
	else if (p.config.own_mount)
		verdict_say(v, VERDICT_OK, NULL, "a step writes into a tmpfs of its own");
	else if (device_of(p.config.spool, &ours) && device_of(slurmd, &theirs) && ours == theirs)
		verdict_say(v, p.config.share_with_slurmd ? VERDICT_WARN : VERDICT_BAD,
			    "use spool_fs=tmpfs, or a file system with a size limit of its own",
			    "%s is on the file system of SlurmdSpoolDir (%s): %s", p.config.spool, slurmd,
			    p.config.share_with_slurmd ? "when it is full, Slurm drains this node"
						       : "steps run untraced");
	else
		verdict_say(v, VERDICT_OK, NULL, "%s is not on slurmd's file system", p.config.spool);
}

void check_late(struct verdict *v)
{
	struct plugstack p;
	char path[PATH_MAX + 8];
	unsigned n = 0;
	const struct dirent *entry;
	plugstack_read(&p);
	snprintf(path, sizeof(path), "%s/late", p.config.spool);
	DIR *d = opendir(path);
	int failed = d == NULL ? errno : 0;
	while (d != NULL && (entry = readdir(d)) != NULL)
		n += entry->d_name[0] != '.';
	if (d != NULL)
		closedir(d);
	if (failed != 0 && failed != ENOENT)
		verdict_say(v, VERDICT_OK, NULL, "how many reports are not made yet only root can see: %s: %s", path,
			    strerror(failed));
	else if (n > LATE_MANY)
		verdict_say(v, VERDICT_WARN, "let a timer run `mpitrace sweep` (contrib/systemd)",
			    "%u reports on this node are not made yet", n);
	else
		verdict_say(v, VERDICT_OK, NULL, "%u reports on this node are not made yet", n);
}
