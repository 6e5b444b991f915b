/* view.c - `mpitrace view FILE.mpix [OTHER.mpix]`: serves the viewer and one trace, or two to be
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

struct view_options {
	const char *path, *other; /* other: to compare with, or NULL */
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
	if (optind >= argc || optind + 2 < argc)
		return usage_error("view", "give one FILE.mpix, or two to compare");
	if (o->to_s <= o->from_s)
		return usage_error("view", "--to must be behind --from");
	o->path = argv[optind];
	o->other = argv[optind + 1];
	return 0;
}

/* Refuse now what the browser could only refuse later. */
static int check_trace(const char *path)
{
	struct mpix_file *f;
	struct error e;
	if (mpix_open(path, &f, &e) < 0) {
		fprintf(stderr, "mpitrace view: %s\n", e.text);
		return EXIT_BAD_INPUT;
	}
	mpix_close(f);
	return EXIT_DONE;
}

/* A file that is served under a name. */
struct resource {
	const char *name, *type;
	struct page file;
};

struct view {
	struct resource resources[3];
	size_t n;
};

static void answer(void *context, const struct web_request *r, struct web_answer *ret_answer)
{
	const struct view *v = context;
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(r->path, v->resources[i].name) == 0)
			*ret_answer = (struct web_answer){.kind = WEB_FILE,
							  .type = v->resources[i].type,
							  .fd = v->resources[i].file.fd,
							  .len_bytes = v->resources[i].file.len_bytes};
}

static int serve(const struct view_options *o, struct view *v)
{
	char token[WEB_TOKEN_CHARS + 1], url[PLACE_TEXT + 128], place[PLACE_TEXT + 1];
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
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/%s/%s%s", web_port(w), token,
		 o->other != NULL ? "?other=other.mpix" : "", place);
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

static int view(int argc, char **argv)
{
	struct view_options o;
	struct view v = {.resources = {{.name = "", .type = "text/html; charset=utf-8"},
				       {.name = "trace.mpix", .type = "application/octet-stream"},
				       {.name = "other.mpix", .type = "application/octet-stream"}}};
	int rc = parse(&o, argc, argv);
	v.n = o.other != NULL ? 3 : 2;
	static char path[PATH_MAX];
	struct error e;
	if (rc == 0) {
		int runs = find_trace(o.path, path, &e);
		if (runs < 0)
			fprintf(stderr, "mpitrace view: %s\n", e.text);
		if (runs != 0)
			return runs < 0 ? EXIT_BAD_INPUT : view_live(&o, path);
		o.path = path;
	}
	if (rc == 0)
		rc = check_trace(o.path);
	if (rc == 0 && o.other != NULL)
		rc = check_trace(o.other);
	if (rc != 0)
		return rc;
	for (size_t i = 1; i < v.n; i++) {
		const char *name = i == 1 ? o.path : o.other;
		if (page_file(name, &v.resources[i].file) < 0) {
			fprintf(stderr, "mpitrace view: %s: cannot open\n", name);
			return EXIT_BAD_INPUT;
		}
	}
	if (page_find(&v.resources[0].file, &e) < 0) {
		fprintf(stderr, "mpitrace view: %s\n", e.text);
		return EXIT_BAD_INPUT;
	}
	return serve(&o, &v);
}

const struct command cmd_view = {"view", view, VIEW_SUMMARY, VIEW_USAGE};
