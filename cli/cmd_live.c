/* cmd_live.c - what a job does now: follows the traces of a step while its agents write them. */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/live_alert.h"
#include "cli/live_feed.h"
#include "cli/live_keys.h"
#include "cli/live_text.h"
#include "reports/web/programs.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_NS 2000000000ll
#define REST_TIMES 4 /* a look at large files takes its time, and others use that file system */

struct live {
	const char *what;
	bool once, json;
	int64_t interval_ns, alert_ns;
	const char *policy; /* NULL: where Slurm's configuration says */
	struct feed_options feed;
};

static int parse_port(struct live *o, const char *text)
{
	char *end;
	long port = strtol(text, &end, 10);
	if (end == text || *end != '\0' || port < 0 || port > 65535)
		return usage_error("live", "--port %.64s: not a port", text);
	o->feed.tcp = true;
	o->feed.port = (uint16_t)port;
	return 0;
}

static int parse(struct live *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--once") == 0)
			o->once = true;
		else if (strcmp(argv[i], "--json") == 0)
			o->json = true;
		else if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc)
			o->feed.socket_path = argv[++i];
		else if (strcmp(argv[i], "--port") == 0 && i + 1 < argc) {
			int code = parse_port(o, argv[++i]);
			if (code != 0)
				return code;
		} else if (strcmp(argv[i], "--interval") == 0 && i + 1 < argc) {
			if (option_seconds(argv[++i], &o->interval_ns) < 0 || o->interval_ns == 0)
				return usage_error("live", "--interval needs seconds, not \"%.64s\"", argv[i]);
		} else if (strcmp(argv[i], "--alert") == 0 && i + 1 < argc) {
			if (option_seconds(argv[++i], &o->alert_ns) < 0 || o->alert_ns == 0)
				return usage_error("live", "--alert needs seconds, not \"%.64s\"", argv[i]);
		} else if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc)
			o->policy = argv[++i];
		else if (argv[i][0] == '-')
			return usage_error("live", "unknown option \"%.64s\"", argv[i]);
		else if (o->what != NULL)
			return usage_error("live", "more than one job: \"%.64s\"", argv[i]);
		else
			o->what = argv[i];
	}
	if ((o->once || o->json) && (o->feed.socket_path != NULL || o->feed.tcp))
		return usage_error("live", "--once and --json cannot be combined with --socket and --port");
	return o->what == NULL ? usage_error("live", "give a job's number or directory") : 0;
}

struct screen {
	bool keys, paused;
	uint32_t first;
	unsigned lines;
};

static void show(const struct live *o, const struct snapshot *l, struct screen *s)
{
	const char *term = getenv("TERM");
	bool dumb = term == NULL || strcmp(term, "dumb") == 0;
	struct winsize size = {0};
	bool terminal = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
	if (o->json) {
		char *text = live_json(l);
		if (text != NULL)
			puts(text);
		free(text);
		fflush(stdout);
		return;
	}
	bool pages = terminal && !o->once && !dumb;
	if (pages)
		fputs("\033[H\033[J", stdout); /* home, and nothing below */
	s->lines = pages ? size.ws_row : 0;
	s->first = live_print(l, &(struct live_page){.columns = terminal ? size.ws_col : 1000,
						     .lines = s->lines,
						     .first = s->first,
						     .keys = !s->keys	 ? NULL
							     : s->paused ? "PAUSED; space continues, q quits"
									 : "q quits, space pauses, arrows scroll"});
	if (!pages && !o->once)
		putchar('\n');
}

/* False: enough. */
static bool handle_key(enum key key, struct screen *s)
{
	uint32_t page = s->lines / 2;
	switch (key) {
	case KEY_QUIT:
		return false;
	case KEY_PAUSE:
		s->paused = !s->paused;
		break;
	case KEY_UP:
		s->first -= s->first > 0;
		break;
	case KEY_DOWN:
		s->first++;
		break;
	case KEY_PAGE_UP:
		s->first -= s->first < page ? s->first : page;
		break;
	case KEY_PAGE_DOWN:
		s->first += page;
		break;
	case KEY_HOME:
		s->first = 0;
		break;
	case KEY_END:
		s->first = UINT32_MAX;
		break;
	default: /* resized, or went on */
		break;
	}
	return true;
}

/* Until the next look is due: the page, if there is one, follows the keys. False: enough. */
static bool wait_or_handle_keys(const struct live *o, const struct snapshot *l, struct screen *s, int64_t took_ns)
{
	int64_t ns = took_ns * REST_TIMES > o->interval_ns ? took_ns * REST_TIMES : o->interval_ns;
	int64_t until_ns = now_ns() + ns;
	if (!s->keys) {
		nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
		return true;
	}
	for (;;) {
		int64_t left_ns = until_ns - now_ns();
		if (left_ns <= 0 && !s->paused)
			return true;
		if (!handle_key(keys_wait(s->paused ? -1 : left_ns), s))
			return false;
		if (l != NULL && (s->paused || until_ns > now_ns()))
			show(o, l, s);
	}
}

/* Nobody looks at a terminal. */
static int for_others(const struct live *o)
{
	return o->alert_ns > 0 ? live_alert(o->what, (double)o->alert_ns / 1e9, o->policy)
			       : live_feed(o->what, &o->feed, o->interval_ns);
}

static int live(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--view") == 0)
			return exec_beside(WEB_PROGRAM, "fleet", argv);
	struct live o = {.interval_ns = INTERVAL_NS};
	struct error e;
	char path[PATH_MAX], *paths[] = {path};
	int code = parse(&o, argc, argv);
	if (code != 0)
		return code;
	if (o.alert_ns > 0 || o.feed.socket_path != NULL || o.feed.tcp)
		return for_others(&o);
	struct snapshot before = {0};
	uint64_t kept = 0;
	struct screen screen = {.keys = !o.once && !o.json && keys_begin()};
	for (;;) {
		struct snapshot l;
		int64_t began_ns = now_ns();
		code = find_step(o.what, path, &e);
		code = code == 0 ? snapshot(paths, 1, &before, &l, &e) : code;
		snapshot_done(&before);
		before = (struct snapshot){0};
		if (code == -EAGAIN && !o.once && !ferror(stdout)) {
			fprintf(stderr, "mpitrace live: %s\n", e.text);
			if (!wait_or_handle_keys(&o, NULL, &screen, now_ns() - began_ns))
				break;
			continue;
		}
		if (code < 0) {
			fprintf(stderr, "mpitrace live: %s\n", e.text);
			return EXIT_BAD_INPUT;
		}
		verdict_keep(&l, path, &kept);
		show(&o, &l, &screen);
		before = l;
		if (o.once || l.over || ferror(stdout) || !wait_or_handle_keys(&o, &l, &screen, now_ns() - began_ns))
			break;
	}
	if (screen.keys)
		putchar('\n'); /* behind what the keys do */
	keys_end();
	bool stuck = before.stuck;
	snapshot_done(&before);
	return stuck ? EXIT_ISSUES : EXIT_DONE;
}

const struct command cmd_live = {"live", live, LIVE_SUMMARY, LIVE_USAGE};
