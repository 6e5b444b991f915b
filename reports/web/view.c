/* view.c - `mpitrace view FILE.mpix [OTHER.mpix...]`: serves the viewer and one trace, or some to be
 * compared, on loopback, and opens a browser. The address has a random token in it, so that other users
 * of this machine cannot read the trace; requests whose Host is not loopback are refused, so that no
 * page from elsewhere can. Nothing else is served. */
#include "base/command.h"
#include "base/loopback.h"
#include "format/mpix.h"
#include "postproc/live/snapshot.h"
#include "reports/text/place.h"
#include "reports/web/page.h"
#include "reports/web/programs.h"
#include "reports/web/web.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNS_MAX 6 /* as layout/run_keys.ts of the viewer */
#define RUN_NAME 32
#define LABEL_TEXT 64
#define LABEL_PARTS 3 /* of a path */
#define OTHERS_TEXT (RUNS_MAX * (RUN_NAME + sizeof("&other=")))

struct view_options {
	char *const *runs; /* the first, and those to compare it with */
	size_t nruns;
	uint16_t port;
	bool no_browser;
	double rank, from_s, to_s; /* what to look at; NAN: all */
};

static int number(const char *name, const char *text, double *ret_value)
{
	char *end;
	double value = strtod(text, &end);
	if (!(value >= 0 && value <= 1e9) || *end != '\0' || end == text)
		return usage_error("view", "--%s takes a number, not \"%.64s\"", name, text);
	*ret_value = value;
	return 0;
}

/* As the viewer reads its address: what is shown, what is marked, which rank is chosen. */
static void put_place(const struct view_options *o, char text[PLACE_TEXT + 1])
{
	struct place place = PLACE_ANYWHERE;
	place.from_s = o->from_s;
	place.to_s = o->to_s;
	place_add_ranks(&place, o->rank, o->rank);
	text[0] = place_address(&place, text + 1) ? '#' : '\0';
}

static int parse(struct view_options *o, int argc, char **argv)
{
	static const struct option names[] = {
		{"port", required_argument, NULL, 'p'}, {"no-browser", no_argument, NULL, 'n'},
		{"rank", required_argument, NULL, 'r'}, {"from", required_argument, NULL, 'f'},
		{"to", required_argument, NULL, 't'},	{NULL, 0, NULL, 0}};
	int key, code = 0;
	opterr = 0;
	*o = (struct view_options){.rank = NAN, .from_s = NAN, .to_s = NAN};
	while (code == 0 && (key = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (key == 'n')
			o->no_browser = true;
		else if (key == 'r')
			code = number("rank", optarg, &o->rank);
		else if (key == 'f')
			code = number("from", optarg, &o->from_s);
		else if (key == 't')
			code = number("to", optarg, &o->to_s);
		else if (key != 'p')
			return usage_error("view", "unknown option, or its value is missing");
		else if (!page_port(optarg, &o->port))
			return usage_error("view", "--port %s: not a port", optarg);
	}
	if (code != 0)
		return code;
	if (optind >= argc || optind + RUNS_MAX < argc)
		return usage_error("view", "give one FILE.mpix, or up to %u to compare", RUNS_MAX);
	if (o->to_s <= o->from_s)
		return usage_error("view", "--to must be behind --from");
	o->runs = argv + optind;
	o->nruns = (size_t)(argc - optind);
	return 0;
}

/* A file that is served under a name. */
struct resource {
	char name[RUN_NAME], label[LABEL_TEXT]; /* label: what tells it apart from other runs */
	const char *type;
	struct page file;
};

struct view {
	struct resource resources[1 + RUNS_MAX]; /* the page, and each run */
	size_t n;
};

static void answer(void *context, const struct web_request *r, struct web_answer *ret_answer)
{
	const struct view *v = context;
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(r->path, v->resources[i].name) == 0)
			*ret_answer = (struct web_answer){.kind = WEB_FILE,
							  .type = v->resources[i].type,
							  .name = v->resources[i].label,
							  .fd = v->resources[i].file.fd,
							  .len_bytes = v->resources[i].file.len_bytes};
}

/* "?other=other.mpix&other=other-2.mpix": the page opens them beside trace.mpix. */
static void put_others(const struct view *v, char text[OTHERS_TEXT])
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 2; i < v->n; i++)
		used += (size_t)snprintf(text + used, OTHERS_TEXT - used, "%cother=%s", i == 2 ? '?' : '&',
					 v->resources[i].name);
}

static int serve(const struct view_options *o, struct view *v)
{
	char token[WEB_TOKEN_CHARS + 1], others[OTHERS_TEXT], place[PLACE_TEXT + 1],
		url[PLACE_TEXT + OTHERS_TEXT + 128];
	struct web *w;
	struct error e;
	if (loopback_token(token, WEB_TOKEN_CHARS) < 0) {
		fprintf(stderr, "mpitrace view: no random numbers from the system\n");
		return EXIT_BAD_INPUT;
	}
	struct web_options server = {.port = o->port, .token = token, .handler = answer, .context = v};
	if (web_start(&server, &w, &e) < 0) {
		fprintf(stderr, "mpitrace view: %s\n", e.text);
		return EXIT_BAD_INPUT;
	}
	put_place(o, place);
	put_others(v, others);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/%s/%s%s", web_port(w), token, others, place);
	page_open(url, web_port(w), o->no_browser);
	while (!page_wait(-1)) /* a signal ends us, too */
		;
	web_stop(w);
	return EXIT_DONE;
}

static bool has_records(const char *path)
{
	const struct dirent *entry;
	bool has = false;
	DIR *dir = opendir(path);
	while (dir != NULL && !has && (entry = readdir(dir)) != NULL) {
		const char *dot = strrchr(entry->d_name, '.');
		has = dot != NULL && strcmp(dot, ".mpic") == 0;
	}
	if (dir != NULL)
		closedir(dir);
	return has;
}

/* A step: the trace that was made of it; else it runs, and path is of its directory. 0, 1 for one that runs, -errno. */
static int find_trace(const char *what, char *ret_path, struct error *e)
{
	char trace[PATH_MAX];
	struct stat st;
	if (stat(what, &st) == 0 && !S_ISDIR(st.st_mode))
		return snprintf(ret_path, PATH_MAX, "%s", what) < PATH_MAX ? 0
									   : fail(e, -ENAMETOOLONG, "name too long");
	int code = find_step(what, ret_path, e);
	if (code < 0)
		return code;
	size_t len = strlen(ret_path);
	if (snprintf(trace, sizeof(trace), "%s/job.mpix", ret_path) >= PATH_MAX || stat(trace, &st) != 0)
		return has_records(ret_path)
			       ? 1
			       : fail(e, -ENOENT, "%s: neither a job.mpix nor a .mpic is there", ret_path);
	memcpy(ret_path + len, trace + len, strlen(trace + len) + 1);
	return 0;
}

static int view_live(const struct view_options *o, char *path)
{
	char port[8], *words[] = {"live", path, "--port", port, o->no_browser ? "--no-browser" : NULL, NULL};
	snprintf(port, sizeof(port), "%u", o->port);
	return cmd_live.run(o->no_browser ? 5 : 4, words);
}

/* Its trace, which is open then. 0, 1 for one that still runs, -errno with text. */
static int open_run(const char *what, struct resource *ret_run, char path[PATH_MAX], struct error *e)
{
	struct mpix_file *f;
	int code = find_trace(what, path, e);
	if (code == 0 && (code = mpix_open(path, &f, e)) == 0) /* refuse now what the browser could only refuse later */
		mpix_close(f);
	if (code == 0 && page_file(path, &ret_run->file) < 0)
		code = fail(e, -EIO, "%s: cannot open", path);
	return code;
}

/* The last so many names of a path, in characters that need no quoting. */
static void put_label(const char *path, unsigned parts, char text[LABEL_TEXT])
{
	const char *from = path + strlen(path);
	while (from > path && (from[-1] != '/' || --parts > 0))
		from--;
	snprintf(text, LABEL_TEXT, "%s", from);
	for (char *c = text; *c != '\0'; c++)
		if (strchr("._-/", *c) == NULL && !isalnum((unsigned char)*c))
			*c = '_';
}

static bool are_told_apart(const struct view *v)
{
	for (size_t i = 1; i < v->n; i++)
		for (size_t k = 1; k < i; k++)
			if (strcmp(v->resources[i].label, v->resources[k].label) == 0)
				return false;
	return true;
}

/* By as many names of their paths as tell them apart. */
static void put_labels(struct view *v, char paths[RUNS_MAX][PATH_MAX])
{
	for (unsigned parts = 1; parts == 1 || (parts <= LABEL_PARTS && !are_told_apart(v)); parts++)
		for (size_t i = 1; i < v->n; i++)
			put_label(paths[i - 1], parts, v->resources[i].label);
}

static void put_run_name(char name[RUN_NAME], size_t at)
{
	if (at < 2)
		snprintf(name, RUN_NAME, "%s.mpix", at == 0 ? "trace" : "other");
	else
		snprintf(name, RUN_NAME, "other-%zu.mpix", at);
}

static int open_runs(const struct view_options *o, struct view *v, char paths[RUNS_MAX][PATH_MAX], struct error *e)
{
	int code = 0;
	v->n = 1;
	for (size_t i = 0; i < o->nruns && code == 0; i++) {
		struct resource *run = &v->resources[v->n++];
		run->type = "application/octet-stream";
		put_run_name(run->name, i);
		code = open_run(o->runs[i], run, paths[i], e);
		if (code == 1 && o->nruns > 1)
			code = fail(e, -EBUSY, "%s: still runs, and has no trace to compare yet", o->runs[i]);
	}
	if (code == 0)
		put_labels(v, paths);
	return code;
}

static int view(int argc, char **argv)
{
	static char paths[RUNS_MAX][PATH_MAX];
	struct view_options o;
	struct view v = {.resources = {{.type = "text/html; charset=utf-8"}}};
	struct error e;
	int rc = parse(&o, argc, argv), code;
	if (rc != 0)
		return rc;
	if ((code = open_runs(&o, &v, paths, &e)) == 1)
		return view_live(&o, paths[0]);
	if (code < 0 || page_find(&v.resources[0].file, &e) < 0) {
		fprintf(stderr, "mpitrace view: %s\n", e.text);
		return EXIT_BAD_INPUT;
	}
	return serve(&o, &v);
}

const struct command cmd_view = {"view", view, VIEW_SUMMARY, VIEW_USAGE};
