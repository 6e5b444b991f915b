/* doctor_node.c - checks of what the plugin's arguments name on this node: programs that root runs, the room a step gets,
 * what waits to be finished. */
#include "cli/cli.h"
#include "cli/doctor.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define LATE_MANY 20

/* What is wrong with a file that root runs, or NULL. */
static const char *distrust(const char *path, mode_t needs)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return "is not there";
	if (!S_ISREG(st.st_mode) || (st.st_mode & needs) != needs)
		return needs == 0555 ? "cannot be run by everybody" : "cannot be read by everybody";
	if (st.st_uid != 0)
		return "is not root's";
	return (st.st_mode & 022) != 0 ? "can be written by others than root" : NULL;
}

/* The files that the plugin starts or preloads: with one of them wrong every step runs untraced. */
void check_programs(struct verdict *v)
{
	struct plugstack p;
	char path[PATH_MAX + 32];
	plugstack_read(&p);
	const struct {
		const char *dir, *name, *key;
		mode_t needs;
	} files[] = {{p.config.libdir, "libmpitrace.so", "libdir", 0444},
		     {p.config.bindir, "mpitrace", "bindir", 0555},
		     {p.config.libexecdir, "mpitrace-warden", "libexecdir", 0555}};
	verdict_say(v, VERDICT_OK, NULL, "%s",
		    p.times > 0 ? "tracer, mpitrace and mpitrace-warden are root's, and in their places"
				: "no plugin to run any");
	for (size_t i = 0; p.times > 0 && i < sizeof(files) / sizeof(files[0]); i++) {
		char next[PATH_MAX + 128];
		snprintf(path, sizeof(path), "%s/%s", files[i].dir, files[i].name);
		const char *wrong = distrust(path, files[i].needs);
		snprintf(next, sizeof(next), "install as root, or set %s= behind the plugin in plugstack.conf",
			 files[i].key);
		if (wrong != NULL)
			verdict_say(v, VERDICT_BAD, next, "%s %s: steps run untraced here", path, wrong);
	}
}

void check_containers(struct verdict *v)
{
	struct plugstack p;
	plugstack_read(&p);
	if (p.before_pyxis)
		verdict_say(v, VERDICT_WARN, "name mpitrace.so behind spank_pyxis.so",
			    "%s: pyxis comes behind mpitrace, which then preloads a library that the container may not "
			    "have",
			    p.path);
	else
		verdict_say(v, VERDICT_OK, NULL, "no container plugin comes behind mpitrace");
}

/* The value of a key of slurm.conf, without includes; false if it is not there. */
static bool slurm_value(const char *key, char *ret_value, size_t cap_bytes)
{
	const char *asked = getenv("SLURM_CONF");
	char line[4096];
	bool found = false;
	FILE *f = fopen(asked != NULL ? asked : "/etc/slurm/slurm.conf", "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		const char *at = line + strspn(line, " \t");
		size_t n = strlen(key);
		if (strncasecmp(at, key, n) != 0 || at[n] != '=')
			continue;
		snprintf(ret_value, cap_bytes, "%.*s", (int)strcspn(at + n + 1, " \t\r\n#"), at + n + 1);
		found = true;
	}
	if (f != NULL)
		fclose(f);
	return found;
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
	slurm_value("SlurmdSpoolDir", value, sizeof(value));
	expand(value, slurmd, sizeof(slurmd));
	if (p.times == 0)
		verdict_say(v, VERDICT_OK, NULL, "no plugin that needs any");
	else if (p.config.own_mount)
		verdict_say(v, VERDICT_OK, NULL, "a step writes into a tmpfs of its own");
	else if (device_of(p.config.spool, &ours) && device_of(slurmd, &theirs) && ours == theirs)
		verdict_say(v, p.config.share_with_slurmd ? VERDICT_WARN : VERDICT_BAD,
			    "use spool_fs=tmpfs, or a file system with a size limit of its own",
			    "%s is on the file system of SlurmdSpoolDir (%s): %s", p.config.spool, slurmd,
			    p.config.share_with_slurmd ? "full, it drains this node" : "steps run untraced");
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
	while (d != NULL && (entry = readdir(d)) != NULL)
		n += entry->d_name[0] != '.';
	if (d != NULL)
		closedir(d);
	if (n > LATE_MANY)
		verdict_say(v, VERDICT_WARN, "let a timer run `mpitrace sweep` (contrib/systemd)",
			    "%u reports wait to be made on this node", n);
	else
		verdict_say(v, VERDICT_OK, NULL, "%u reports wait to be made on this node", n);
}
