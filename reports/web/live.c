/* live.c - `mpitrace live --view`: a running step in the browser. The main thread merges samples as they come and
 * announces them; the server's threads hand out what is there. Served are the viewer, the merged samples and what
 * `mpitrace live --json` says, and, when somebody asks, the events so far as a trace, which `mpitrace analyze` makes
 * meanwhile. */
#include "base/clock.h"
#include "base/command.h"
#include "base/loopback.h"
#include "postproc/live/snapshot.h"
#include "postproc/live/merge.h"
#include "reports/web/page.h"
#include "reports/web/programs.h"
#include "reports/web/so_far.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#define INTERVAL_NS 2000000000ll
#define REST_TIMES 4
#define TURN_MS 50
#define PING_NS 5000000000ll
#define LINGER_NS 30000000000ll	   /* at the end, for somebody who opens the page again */
#define UNASKED_NS 3600000000000ll /* while the job runs */
#define KEPT_MAX_BYTES (64u << 20)
#define SUMMARIES_MAX 4096u

struct live_view {
	pthread_mutex_t lock; /* of all below but what only the main thread has */
	struct page page;
	VEC(struct merged) kept;      /* consecutive numbers; json is NULL where only the summary is kept */
	size_t kept_bytes, with_json; /* index of the first that has its json */
	char *now;		      /* as of `mpitrace live --json`, or NULL */
	bool over;
	int64_t asked_ns; /* when somebody asked last, or the job ended */
	struct so_far so_far;
	/* main thread */
	struct web *web;
	struct merge *merge;
	struct snapshot snapshot;
	uint64_t verdict; /* that is kept of it */
	struct error said;
	char path[PATH_MAX];
};

struct live_options {
	const char *what;
	uint16_t port;
	bool no_browser;
	int64_t interval_ns, linger_ns;
};

/* ---- what is handed out; with the lock ---- */

static void text(struct web_answer *a, char *body, size_t len)
{
	if (body != NULL)
		*a = (struct web_answer){.kind = WEB_TEXT, .type = "application/json", .text = body, .text_bytes = len};
}

static bool number_of(const char *s, uint64_t *ret_number)
{
	char *end;
	if (*s < '0' || *s > '9' || strlen(s) > 18)
		return false;
	*ret_number = strtoull(s, &end, 10);
	return *end == '\0';
}

static void give_sample(struct live_view *v, const char *which, struct web_answer *a)
{
	uint64_t number;
	if (v->kept.n == 0 || !number_of(which, &number) || number < v->kept.at[0].number)
		return;
	uint64_t at = number - v->kept.at[0].number;
	const struct merged *s = at < v->kept.n ? &v->kept.at[at] : NULL;
	if (s == NULL || s->json == NULL)
		return;
	char *copy = malloc(s->len_bytes);
	if (copy != NULL)
		memcpy(copy, s->json, s->len_bytes);
	text(a, copy, s->len_bytes);
}

static void give_summary(struct live_view *v, const char *since, struct web_answer *a)
{
	struct buf out = {0};
	uint64_t number = 0;
	if (since != NULL && !number_of(since, &number))
		return;
	const char *between = "";
	buf_printf(&out, "{\"schema\":\"mpitrace/summary/1\",\"over\":%s,\"whole_from\":%" PRIu64 ",\"samples\":[",
		   v->over ? "true" : "false", v->with_json < v->kept.n ? v->kept.at[v->with_json].number : 0);
	for (size_t i = 0; i < v->kept.n; i++) {
		if (v->kept.at[i].number <= number)
			continue;
		buf_str(&out, between);
		buf_str(&out, v->kept.at[i].summary);
		between = ",";
	}
	buf_str(&out, "]}");
	if (buf_failed(&out))
		buf_done(&out);
	else
		text(a, (char *)out.data, out.len_bytes);
}

static void give_now(struct live_view *v, struct web_answer *a)
{
	const char *now = v->now != NULL ? v->now : "null";
	text(a, strdup(now), strlen(now));
}

static void answer(void *context, const struct web_request *r, struct web_answer *a)
{
	struct live_view *v = context;
	pthread_mutex_lock(&v->lock);
	v->asked_ns = now_ns();
	if (strcmp(r->path, "") == 0)
		page_answer(&v->page, a);
	else if (strcmp(r->path, "events") == 0)
		a->kind = WEB_STREAM;
	else if (strcmp(r->path, "now") == 0)
		give_now(v, a);
	else if (strcmp(r->path, "summary") == 0)
		give_summary(v, web_query(r, "since"), a);
	else if (strncmp(r->path, "samples/", 8) == 0)
		give_sample(v, r->path + 8, a);
	else
		so_far_answer(&v->so_far, r->path, a);
	pthread_mutex_unlock(&v->lock);
}

/* ---- the main thread ---- */

static volatile sig_atomic_t asked_to_stop;

static void stop(int signal)
{
	(void)signal;
	asked_to_stop = 1;
}

static void forget(struct live_view *v)
{
	while (v->kept_bytes > KEPT_MAX_BYTES && v->with_json + 1 < v->kept.n) {
		struct merged *s = &v->kept.at[v->with_json++];
		v->kept_bytes -= s->len_bytes;
		free(s->json);
		s->json = NULL;
	}
	if (v->kept.n <= SUMMARIES_MAX)
		return;
	v->kept_bytes -= v->kept.at[0].json != NULL ? v->kept.at[0].len_bytes : 0;
	free(v->kept.at[0].json);
	free(v->kept.at[0].summary);
	memmove(v->kept.at, v->kept.at + 1, --v->kept.n * sizeof(*v->kept.at));
	v->with_json -= v->with_json > 0;
}

static int append_sample(struct live_view *v, const struct merged *s)
{
	char data[128];
	pthread_mutex_lock(&v->lock);
	int code = vec_push(&v->kept, *s);
	if (code == 0) {
		v->kept_bytes += s->len_bytes;
		forget(v);
	}
	pthread_mutex_unlock(&v->lock);
	snprintf(data, sizeof(data), "{\"number\":%" PRIu64 ",\"time\":%.3f,\"bytes\":%zu}", s->number,
		 (double)s->realtime_ns / 1e9, s->len_bytes);
	web_announce(v->web, "sample", data);
	return code;
}

static int merge_all(struct live_view *v)
{
	struct error e;
	struct merged s;
	int more, code = merge_update(v->merge, &e);
	if (code < 0) { /* not there yet, or not any more: `now` says nothing new either */
		error_say_new("mpitrace live", &e, &v->said);
		return code == -ENOMEM ? code : 0;
	}
	while ((more = merge_next(v->merge, clock_ns(CLOCK_REALTIME), &s)) == 1)
		if (append_sample(v, &s) < 0)
			return -ENOMEM;
	return more;
}

static void take_snapshot(struct live_view *v)
{
	struct snapshot l;
	char *paths[] = {v->path};
	int code = snapshot(paths, 1, &v->snapshot, &l, NULL);
	snapshot_done(&v->snapshot);
	if (code < 0)
		return;
	v->snapshot = l;
	verdict_keep(&l, v->path, &v->verdict);
	char *now = live_json(&l);
	pthread_mutex_lock(&v->lock);
	free(v->now);
	v->now = now;
	pthread_mutex_unlock(&v->lock);
}

static void tell_end(struct live_view *v)
{
	bool over = merge_over(v->merge);
	if (over && !v->over)
		web_announce(v->web, "end", "{}");
	pthread_mutex_lock(&v->lock);
	if (over && !v->over)
		v->asked_ns = now_ns();
	v->over = over;
	pthread_mutex_unlock(&v->lock);
}

/* Nobody has the page open, or has asked for long: a server that nobody ends would stay for ever. */
static bool is_done(struct live_view *v, int64_t linger_ns)
{
	int64_t now = now_ns();
	bool read = web_readers(v->web) > 0;
	pthread_mutex_lock(&v->lock);
	if (read)
		v->asked_ns = now;
	bool done = now - v->asked_ns > (v->over ? linger_ns : UNASKED_NS);
	pthread_mutex_unlock(&v->lock);
	if (done)
		fprintf(stderr, "mpitrace live: %s\n",
			v->over ? "the job is over, and no page is open any more" : "no page was open for an hour");
	return done;
}

static int follow(struct live_view *v, const struct live_options *o)
{
	int64_t next_ns = 0, ping_ns = 0;
	bool gone = false;
	v->asked_ns = now_ns();
	while (!asked_to_stop && !gone && !is_done(v, o->linger_ns)) {
		int64_t began_ns = now_ns();
		if (began_ns >= next_ns && !v->over) {
			take_snapshot(v);
			if (merge_all(v) == -ENOMEM)
				return -ENOMEM;
			tell_end(v);
			int64_t took_ns = REST_TIMES * (now_ns() - began_ns);
			next_ns = began_ns + (took_ns > o->interval_ns ? took_ns : o->interval_ns);
		}
		if (began_ns >= ping_ns) {
			web_ping(v->web);
			ping_ns = began_ns + PING_NS;
		}
		pthread_mutex_lock(&v->lock);
		char *made = so_far_turn(&v->so_far, v->path);
		pthread_mutex_unlock(&v->lock);
		if (made != NULL)
			web_announce(v->web, "timeline", made);
		free(made);
		gone = page_wait(TURN_MS);
	}
	return 0;
}

/* ---- the command ---- */

static int parse(struct live_options *o, int argc, char **argv)
{
	*o = (struct live_options){.interval_ns = INTERVAL_NS, .linger_ns = LINGER_NS};
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--view") == 0)
			continue;
		if (strcmp(argv[i], "--no-browser") == 0) {
			o->no_browser = true;
		} else if (strcmp(argv[i], "--port") == 0 && i + 1 < argc) {
			if (!page_port(argv[++i], &o->port))
				return usage_error("live", "--port %.64s: not a port", argv[i]);
		} else if (strcmp(argv[i], "--interval") == 0 && i + 1 < argc) {
			if (option_seconds(argv[++i], &o->interval_ns) < 0 || o->interval_ns == 0)
				return usage_error("live", "--interval needs seconds, not \"%.64s\"", argv[i]);
		} else if (strcmp(argv[i], "--linger") == 0 && i + 1 < argc) {
			if (option_seconds(argv[++i], &o->linger_ns) < 0)
				return usage_error("live", "--linger needs seconds, not \"%.64s\"", argv[i]);
		} else if (argv[i][0] == '-' || o->what != NULL) {
			return usage_error("live", "\"%.64s\" cannot be combined with --view", argv[i]);
		} else {
			o->what = argv[i];
		}
	}
	return o->what == NULL ? usage_error("live", "give a job's number or directory") : 0;
}

static int serve(const struct live_options *o, struct live_view *v, struct error *e)
{
	char token[WEB_TOKEN_CHARS + 1], url[256];
	if (loopback_token(token, WEB_TOKEN_CHARS) < 0)
		return fail(e, -EIO, "no random numbers from the system");
	struct web_options server = {.port = o->port, .token = token, .handler = answer, .context = v, .streams = true};
	int code = web_start(&server, &v->web, e);
	if (code < 0)
		return code;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/%s/?live", web_port(v->web), token);
	page_open(url, web_port(v->web), o->no_browser);
	code = follow(v, o);
	web_stop(v->web);
	return code < 0 ? fail(e, code, "out of memory") : 0;
}

static void done(struct live_view *v)
{
	merge_destroy(v->merge);
	snapshot_done(&v->snapshot);
	for (size_t i = 0; i < v->kept.n; i++) {
		free(v->kept.at[i].json);
		free(v->kept.at[i].summary);
	}
	vec_done(&v->kept);
	free(v->now);
	so_far_done(&v->so_far);
}

static int live(int argc, char **argv)
{
	struct live_options o;
	struct error e;
	static struct live_view v = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int code = parse(&o, argc, argv);
	if (code != 0)
		return code;
	code = find_step(o.what, v.path, &e);
	code = code == 0 ? page_find(&v.page, &e) : code;
	if (code == 0 && merge_create(v.path, &v.merge) < 0)
		code = fail(&e, -ENOMEM, "out of memory");
	if (code == 0) {
		struct sigaction a = {.sa_handler = stop};
		sigaction(SIGINT, &a, NULL);
		sigaction(SIGTERM, &a, NULL);
		sigaction(SIGHUP, &a, NULL);
		code = serve(&o, &v, &e);
	}
	if (code < 0)
		fprintf(stderr, "mpitrace live: %s\n", e.text);
	done(&v);
	return code < 0 ? EXIT_BAD_INPUT : EXIT_DONE;
}

const struct command cmd_live = {"live", live, LIVE_SUMMARY, LIVE_USAGE};
