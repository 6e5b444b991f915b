/* doctor_plugstack.c - what plugstack.conf says about our plugin, each word of it, as Slurm reads it.
 * In: SLURM_CONF, /etc/slurm/slurm.conf (PlugStackConfig), plugstack.conf(8) as in spank(7).  Out: struct plugstack. */
#include "base/path.h"
#include "cli/doctor.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES 4096 /* as in Slurm, which takes what is behind for another line */
#define WORDS_MAX 64
#define DEPTH_MAX 8
#define FILES_MAX 1000 /* some that include all of them are read so many times more at each level */
#define BLANKS " \t\r\n"
#define SEPARATORS " \t\n" /* of plugstack.conf: there a '\r' belongs to the word before it */

static void copy(char *to, size_t cap_bytes, const char *from)
{
	snprintf(to, cap_bytes, "%s", from);
}

/* Slurm's files name each other by whole paths, or by what lies beside them. */
static void beside(const char *from, const char *name, char *ret_path, size_t cap_bytes)
{
	const char *slash = strrchr(from, '/');
	if (name[0] == '/' || slash == NULL)
		copy(ret_path, cap_bytes, name);
	else
		snprintf(ret_path, cap_bytes, "%.*s/%s", (int)(slash - from), from, name);
}

/* A FIFO would keep us waiting, as it does Slurm. */
static FILE *open_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	FILE *f = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
	if (f == NULL && fd >= 0)
		close(fd);
	return f;
}

/* ---- slurm.conf ---- */

const char *slurm_conf(void)
{
	static const char usual[] = "/etc/slurm/slurm.conf", fetched[] = "/run/slurm/conf/slurm.conf";
	const char *asked = getenv("SLURM_CONF");
	if (asked != NULL && asked[0] != '\0')
		return asked;
	return access(usual, F_OK) == 0 || access(fetched, F_OK) != 0 ? usual : fetched;
}

/* Behind the key and its blanks, NULL if the line begins with something else. */
static char *behind_key(char *line, const char *key, char separator)
{
	char *at = line + strspn(line, BLANKS);
	size_t n = strlen(key);
	if (strncasecmp(at, key, n) != 0)
		return NULL;
	size_t blanks = strspn(at + n, BLANKS);
	if (separator == '=' ? at[n + blanks] != '=' : blanks == 0)
		return NULL;
	at += n + blanks + (separator == '=');
	return at + strspn(at, BLANKS);
}

static bool value_in(const char *file, const char *key, char *ret_value, size_t cap_bytes, int depth, unsigned *files)
{
	char line[LINE_BYTES], path[2 * PATH_MAX], *at;
	bool found = false;
	FILE *f = depth < DEPTH_MAX && (*files)++ < FILES_MAX ? open_file(file) : NULL;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if ((at = behind_key(line, key, '=')) != NULL) {
			bool quoted = *at == '"';
			at += quoted;
			snprintf(ret_value, cap_bytes, "%.*s", (int)strcspn(at, quoted ? "\"\n" : BLANKS "#"), at);
			found = true;
		} else if ((at = behind_key(line, "Include", ' ')) != NULL) {
			at[strcspn(at, BLANKS "#")] = '\0';
			beside(file, at, path, sizeof(path));
			found |= value_in(path, key, ret_value, cap_bytes, depth + 1, files);
		}
	}
	if (f != NULL)
		fclose(f);
	return found;
}

bool slurm_conf_value(const char *key, char *ret_value, size_t cap_bytes)
{
	unsigned files = 0;
	return value_in(slurm_conf(), key, ret_value, cap_bytes, 0, &files);
}

/* ---- plugstack.conf ---- */

/* The first that is wrong stays, unless a worse one comes. */
static void wrong(struct plugstack *p, enum verdict_level level, const char *next, const char *what)
{
	if (level <= p->wrong.level)
		return;
	verdict_say(&p->wrong, level, next, "%s", what);
}

struct line {
	const char *file;
	unsigned number;
	char *words[WORDS_MAX];
	int n;
	bool long_line, carriage_return;
};

static void wrong_line(struct plugstack *p, const struct line *l, enum verdict_level level, const char *next,
		       const char *what)
{
	char text[sizeof(p->wrong.what)];
	snprintf(text, sizeof(text), "%.300s:%u: %.700s", l->file, l->number, what);
	wrong(p, level, next, text);
}

/* "spool=DIR" of all keys, if the argument has a key that is known. */
static bool wanted(const char *argument, char *ret_wanted, size_t cap_bytes)
{
	size_t key = strcspn(argument, "=");
	for (const char *at = CONFIG_KEYS; *at != '\0'; at += strcspn(at, " "), at += strspn(at, " "))
		if (key > 0 && strncmp(at, argument, key) == 0 && at[key] == '=') {
			snprintf(ret_wanted, cap_bytes, "%.*s", (int)strcspn(at, " "), at);
			return true;
		}
	return false;
}

static void wrong_argument(struct plugstack *p, const struct line *l, const char *argument)
{
	char text[512], next[256];
	if (wanted(argument, next, sizeof(next))) {
		snprintf(text, sizeof(text), "\"%.200s\" has no valid value and is ignored", argument);
		wrong_line(p, l, VERDICT_WARN, next, text);
		return;
	}
	snprintf(text, sizeof(text), "\"%.200s\" is unknown and ignored", argument);
	wrong_line(p, l, VERDICT_WARN, "known: " CONFIG_KEYS, text);
}

/* {optional|required, path, arguments ...} */
static void take_plugin(struct plugstack *p, struct line *l)
{
	const char *name = path_name(l->words[1]);
	bool required = strcmp(l->words[0], "required") == 0;
	p->before_pyxis |= p->times > 0 && strcmp(name, "spank_pyxis.so") == 0;
	if (strcmp(name, "mpitrace.so") != 0 && strstr(name, "mpitrace") != NULL)
		wrong_line(p, l, VERDICT_BAD, "the plugin's file is mpitrace.so", "names no plugin of mpitrace");
	if (strcmp(name, "mpitrace.so") != 0)
		return;
	if (required)
		wrong_line(p, l, VERDICT_BAD, "write optional instead of required",
			   "required: a failing plugin would stop jobs");
	if (p->times++ > 0)
		return;
	const char *bad = config_parse(l->n - 2, l->words + 2, &p->config);
	if (bad != NULL)
		wrong_argument(p, l, bad);
	for (int i = 2; i < l->n; i++)
		if (strncmp(l->words[i], "spool=", 6) == 0)
			p->spool_by_host = strstr(l->words[i], "%n") != NULL;
	copy(p->plugin, sizeof(p->plugin), l->words[1]);
}

static void read_file(struct plugstack *p, const char *path, int depth);

static void include(struct plugstack *p, const struct line *l, int depth)
{
	char path[2 * PATH_MAX], text[PATH_MAX];
	const char *pattern = l->words[1];
	glob_t found;
	beside(l->file, pattern, path, sizeof(path));
	if (depth == DEPTH_MAX || p->files >= FILES_MAX) {
		wrong_line(p, l, VERDICT_BAD, "remove this include",
			   "files include each other without end, and so Slurm reads them");
		return;
	}
	int rc = glob(path, 0, NULL, &found);
	snprintf(text, sizeof(text), "include %.300s: %s", pattern,
		 rc == GLOB_NOMATCH ? "there is no such file" : "it cannot be read");
	if (rc == GLOB_NOMATCH ? strpbrk(pattern, "*?[") == NULL : rc != 0)
		wrong_line(p, l, VERDICT_WARN, "correct the path: it is relative to the file that contains it", text);
	for (size_t i = 0; rc == 0 && i < found.gl_pathc && p->files < FILES_MAX; i++)
		read_file(p, found.gl_pathv[i], depth + 1);
	if (rc == 0)
		globfree(&found);
}

/* A word that Slurm does not know: it says so at each srun, and passes over the line. */
static void wrong_word(struct plugstack *p, const struct line *l)
{
	char text[256];
	bool ours = l->n > 1 && strcmp(path_name(l->words[1]), "mpitrace.so") == 0;
	snprintf(text, sizeof(text), "\"%.64s\" is not optional, required or include: Slurm ignores the line",
		 l->words[0]);
	wrong_line(p, l, ours ? VERDICT_BAD : VERDICT_WARN, ours ? "write optional" : "correct this word", text);
	if (ours && p->times == 0)
		copy(p->plugin, sizeof(p->plugin), l->words[1]);
}

static void take_line(struct plugstack *p, struct line *l, int depth)
{
	static const char *const known[] = {"include", "optional", "required"};
	int kind = 0;
	while (kind < 3 && l->n > 0 && strcmp(l->words[0], known[kind]) != 0)
		kind++;
	if (l->long_line)
		wrong_line(p, l, VERDICT_BAD, "make it shorter", "longer than 4,094 bytes: Slurm cuts it in two");
	if (l->carriage_return)
		wrong_line(p, l, l->n == 1 || l->n == 2 ? VERDICT_BAD : VERDICT_WARN,
			   "remove it from each line: sed -i 's/\\r$//'",
			   "ends in a carriage return, which Slurm takes for a part of the last word");
	if (l->n == 0)
		return;
	if (kind == 3)
		wrong_word(p, l);
	else if (l->n == 1)
		wrong_line(p, l, VERDICT_WARN, "write the whole path behind it",
			   "the path is missing: Slurm ignores the line");
	else if (kind == 0)
		include(p, l, depth);
	else
		take_plugin(p, l);
}

static void split(char *text, struct line *l)
{
	char *save;
	l->n = 0;
	text[strcspn(text, "#")] = '\0';
	for (char *w = strtok_r(text, SEPARATORS, &save); w != NULL && l->n < WORDS_MAX;
	     w = strtok_r(NULL, SEPARATORS, &save))
		l->words[l->n++] = w;
	char *last = l->n > 0 ? l->words[l->n - 1] : "";
	size_t len = strlen(last);
	l->carriage_return = len > 0 && last[len - 1] == '\r';
	if (l->carriage_return)
		last[len - 1] = '\0';
	if (l->carriage_return && len == 1)
		l->n--;
}

static void read_file(struct plugstack *p, const char *path, int depth)
{
	char text[LINE_BYTES], what[PATH_MAX + 256];
	struct line l = {.file = path};
	struct hindrance h;
	if (path_hinders(path, PATH_READ, &h)) {
		snprintf(what, sizeof(what), "%s: no srun starts where a file of plugstack.conf cannot be read",
			 h.what);
		wrong(p, VERDICT_BAD, h.next, what);
	}
	FILE *f = open_file(path);
	p->files++;
	if (f == NULL && access(path, R_OK) == 0) {
		snprintf(what, sizeof(what), "%s is not a regular file", path);
		wrong(p, VERDICT_BAD, "put a file in its place: srun reads it", what);
	}
	while (f != NULL && fgets(text, sizeof(text), f) != NULL) {
		l.number++;
		l.long_line = strlen(text) == sizeof(text) - 1 && text[sizeof(text) - 2] != '\n';
		split(text, &l);
		take_line(p, &l, depth);
	}
	if (f != NULL)
		fclose(f);
}

/* PlugStackConfig of slurm.conf, else plugstack.conf beside it. */
static void find(struct plugstack *p)
{
	const char *conf = slurm_conf();
	if (!slurm_conf_value("PlugStackConfig", p->path, sizeof(p->path)))
		beside(conf, "plugstack.conf", p->path, sizeof(p->path));
	if (access(conf, F_OK) != 0 && access(p->path, F_OK) != 0)
		p->path[0] = '\0';
}

void plugstack_read(struct plugstack *ret_p)
{
	struct plugstack p = {0};
	config_parse(0, NULL, &p.config);
	find(&p);
	p.there = p.path[0] != '\0' && access(p.path, F_OK) == 0;
	if (p.there)
		read_file(&p, p.path, 0);
	*ret_p = p;
}

const char *plugin_path(const struct plugstack *p)
{
	return p->plugin[0] == '/' ? p->plugin : PLUGIN_PATH;
}
