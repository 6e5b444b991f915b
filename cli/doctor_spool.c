/* doctor_spool.c - will the plugin take the spool, can ranks reach it, and is it one node's alone?
 * In: plugstack.conf, slurm.conf and job_container.conf, /proc of running slurmds.  Out: a verdict. */
#include "cli/doctor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLANKS " \t\r\n"
#define LINE_BYTES 4096
#define NODES_MAX 64
#define NAME_BYTES 128
#define HIDDEN_DIRS "/tmp,/dev/shm" /* where job_container.conf says nothing */

/* ---- what Slurm hides from jobs ---- */

static bool is_below(const char *path, const char *dir, size_t len)
{
	while (len > 1 && dir[len - 1] == '/')
		len--;
	return len > 1 && strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool is_below_any(const char *path, const char *dirs)
{
	bool is = false;
	for (size_t n; *dirs != '\0' && !is; dirs += n + (dirs[n] == ',')) {
		n = strcspn(dirs, ",");
		is = is_below(path, dirs, n);
	}
	return is;
}

/* Dirs= is a key of the file, or of some nodes in it: they may be others than this one. */
static bool is_in_dirs(const char *line, const char *path, bool *ret_has)
{
	char dirs[LINE_BYTES];
	const char *at = strcasestr(line, "Dirs");
	if (at == NULL || (at > line && strchr(BLANKS, at[-1]) == NULL))
		return false;
	at += strlen("Dirs");
	at += strspn(at, BLANKS);
	if (*at++ != '=')
		return false;
	*ret_has = true;
	at += strspn(at, BLANKS "\"");
	snprintf(dirs, sizeof(dirs), "%.*s", (int)strcspn(at, BLANKS "\""), at);
	return is_below_any(path, dirs);
}

/* By job_container/tmpfs each job has directories of its own in place of these (job_container.conf(5)). */
static bool is_hidden(const char *path)
{
	char type[64], file[PATH_MAX + 32], line[LINE_BYTES];
	bool has = false, is = false;
	struct stat st;
	if (!slurm_conf_value("JobContainerType", type, sizeof(type)) || strcasecmp(type, "job_container/tmpfs") != 0)
		return false;
	const char *conf = slurm_conf(), *slash = strrchr(conf, '/');
	snprintf(file, sizeof(file), "%.*sjob_container.conf", slash != NULL ? (int)(slash - conf + 1) : 0, conf);
	FILE *f = stat(file, &st) == 0 && S_ISREG(st.st_mode) ? fopen(file, "re") : NULL;
	while (f != NULL && !is && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "#")] = '\0';
		is = is_in_dirs(line, path, &has);
	}
	if (f != NULL)
		fclose(f);
	return is || (!has && is_below_any(path, HIDDEN_DIRS));
}

/* ---- nodes of this host ---- */

struct node {
	char name[NAME_BYTES], host[NAME_BYTES]; /* host: the namespace of its name */
	dev_t device;
	ino_t inode;
};

/* The value of a letter in the command line of a process: "-N n1", "-Nn1". */
static void option_of(const char *words, size_t len_bytes, char letter, char *ret_value, size_t cap_bytes)
{
	const char *end = words + len_bytes;
	ret_value[0] = '\0';
	for (const char *w = words; w < end; w += strlen(w) + 1) {
		if (w[0] != '-' || w[1] != letter)
			continue;
		const char *value = w[2] != '\0' ? w + 2 : w + 3; /* behind its end: the next word */
		if (value < end)
			snprintf(ret_value, cap_bytes, "%s", value);
	}
}

static size_t read_words(const char *pid, const char *name, char *ret_words, size_t cap_bytes)
{
	char path[300];
	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, ret_words, cap_bytes - 1) : 0;
	if (fd >= 0)
		close(fd);
	n = n > 0 ? n : 0;
	ret_words[n] = '\0';
	return (size_t)n;
}

/* The slurm.conf that it was told; that of this host, if it was told none. */
static void conf_of(const char *pid, const char *words, size_t len_bytes, char *ret_conf, size_t cap_bytes)
{
	static const char key[] = "SLURM_CONF=";
	char text[16384];
	option_of(words, len_bytes, 'f', ret_conf, cap_bytes);
	size_t n = ret_conf[0] == '\0' ? read_words(pid, "environ", text, sizeof(text)) : 0;
	for (const char *w = text; w < text + n; w += strlen(w) + 1)
		if (strncmp(w, key, strlen(key)) == 0)
			snprintf(ret_conf, cap_bytes, "%s", w + strlen(key));
	if (ret_conf[0] == '\0')
		snprintf(ret_conf, cap_bytes, "%s", slurm_conf());
}

/* A slurmd of this configuration, and the directory that it has under the name of the spool, or above that. */
static bool know_node(const char *pid, const char *spool, struct node *ret_node)
{
	char words[4096], conf[PATH_MAX], path[PATH_MAX + 300];
	struct stat st;
	size_t n = read_words(pid, "cmdline", words, sizeof(words));
	conf_of(pid, words, n, conf, sizeof(conf));
	if (strcmp(conf, slurm_conf()) != 0)
		return false;
	*ret_node = (struct node){0};
	option_of(words, n, 'N', ret_node->name, sizeof(ret_node->name));
	snprintf(path, sizeof(path), "/proc/%s/ns/uts", pid);
	if (readlink(path, ret_node->host, sizeof(ret_node->host) - 1) <= 0)
		return false;
	int root_len = snprintf(path, sizeof(path), "/proc/%s/root", pid);
	snprintf(path + root_len, sizeof(path) - (size_t)root_len, "%s", spool);
	char *slash = strrchr(path, '/');
	if (stat(path, &st) != 0 && slash > path + root_len)
		*slash = '\0';
	if (stat(path, &st) != 0)
		return false;
	ret_node->device = st.st_dev;
	ret_node->inode = st.st_ino;
	return true;
}

/* A slurmd forks: its child has its name. */
static bool share(const struct node *a, const struct node *b, bool by_host)
{
	return strcmp(a->name, b->name) != 0 && a->device == b->device && a->inode == b->inode &&
	       (!by_host || strcmp(a->host, b->host) == 0);
}

static bool is_shared(const struct plugstack *p, struct node ret_two[2])
{
	struct node nodes[NODES_MAX];
	size_t n = 0;
	bool found = false;
	const struct dirent *entry;
	DIR *d = p->times > 0 ? opendir("/proc") : NULL;
	while (d != NULL && !found && n < NODES_MAX && (entry = readdir(d)) != NULL) {
		if (!is_slurmd(entry->d_name) || !know_node(entry->d_name, p->config.spool, &nodes[n]))
			continue;
		for (size_t i = 0; i < n && !found; i++)
			if ((found = share(&nodes[i], &nodes[n], p->spool_by_host)))
				memcpy(ret_two, (struct node[]){nodes[i], nodes[n]}, 2 * sizeof(*ret_two));
		n++;
	}
	if (d != NULL)
		closedir(d);
	return found;
}

/* ---- the verdict ---- */

/* What spank/warden/spool.c refuses: of the spool and of its directories of steps. */
static bool is_refused(const char *path, struct verdict *v)
{
	char real[PATH_MAX];
	struct stat st;
	if (lstat(path, &st) != 0)
		return false;
	if (S_ISLNK(st.st_mode)) {
		bool known = realpath(path, real) != NULL;
		verdict_say(v, VERDICT_BAD,
			    known ? "name the directory itself in plugstack.conf, or put it in place of the link"
				  : "remove it",
			    "%s is a symbolic link%s%s, and the plugin follows none", path, known ? " to " : "",
			    known ? real : "");
		return true;
	}
	if (st.st_uid == 0 && (st.st_mode & 022) == 0 && S_ISDIR(st.st_mode))
		return false;
	verdict_say(v, VERDICT_BAD, "chown root and chmod 0711, so that nobody else can write to it",
		    "%s: owner %u, mode %04o: the plugin refuses it", path, (unsigned)st.st_uid,
		    (unsigned)st.st_mode & 07777);
	return true;
}

static bool is_unfit(const struct plugstack *p, const char *parent, struct verdict *v)
{
	char live[PATH_MAX + 8];
	struct hindrance h;
	struct stat st;
	const char *spool = p->config.spool;
	bool there = stat(spool, &st) == 0;
	snprintf(live, sizeof(live), "%s/live", spool);
	if (is_refused(spool, v) || is_refused(live, v))
		return true;
	if (p->times == 0)
		return false;
	if (path_hinders(there ? spool : parent, PATH_ENTER, &h) && h.next[0] != '\0') {
		verdict_say(v, h.some ? VERDICT_WARN : VERDICT_BAD, h.next,
			    "%s: where their ranks cannot reach the spool nothing is traced", h.what);
		return true;
	}
	if (!there && stat(parent, &st) != 0 && p->spool_by_host && !has_slurmd()) {
		verdict_say(v, VERDICT_OK, NULL, "%s is looked at on nodes: no slurmd runs on this host", spool);
		return true;
	}
	if (!there && stat(parent, &st) != 0) {
		verdict_say(v, VERDICT_BAD, "make it on every node, owned by root",
			    "%s, the parent of the spool, does not exist", parent);
		return true;
	}
	return false;
}

void check_spool(struct verdict *v)
{
	struct plugstack p;
	struct stat st;
	struct node two[2];
	char parent[PATH_MAX];
	plugstack_read(&p);
	snprintf(parent, sizeof(parent), "%s", p.config.spool);
	char *slash = strrchr(parent, '/');
	if (slash != NULL && slash != parent)
		*slash = '\0';
	if (is_hidden(p.config.spool))
		verdict_say(v, VERDICT_BAD, "choose spool=/var/spool/mpitrace",
			    "%s: Slurm's job_container/tmpfs hides this directory from jobs", p.config.spool);
	else if (is_unfit(&p, parent, v))
		return;
	else if (is_shared(&p, two))
		verdict_say(v, VERDICT_WARN,
			    "give each a spool of its own: spool=DIR/%n where they have host names of their own",
			    "%s is the spool of two nodes of this host, %s and %s: of a step that runs on both, one is "
			    "recorded",
			    p.config.spool, two[0].name, two[1].name);
	else if (stat(p.config.spool, &st) == 0)
		verdict_say(v, VERDICT_OK, NULL, "%s", p.config.spool);
	else
		verdict_say(v, VERDICT_OK, NULL, "%s will be made by the first step", p.config.spool);
}
