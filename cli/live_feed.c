/* live_feed.c - the integrator: merges the samples of all nodes and hands them to other programs (docs/LIVE.md). */
#include "cli/live_feed.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "postproc/live/snapshot.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define REST_TIMES 4		/* as cmd_live.c */
#define LINGER_NS 10000000000ll /* at the end, for readers that have not taken all yet */

static volatile sig_atomic_t asked_to_stop;

static void stop(int signal)
{
	(void)signal;
	asked_to_stop = 1;
}

static void catch_signals(void)
{
	struct sigaction a = {.sa_handler = stop};
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL); /* else its socket's name stayed */
	signal(SIGPIPE, SIG_IGN);
}

static int hand_on(struct merge *m, struct feed *f)
{
	struct merged s;
	int more;
	while ((more = merge_next(m, clock_ns(CLOCK_REALTIME), &s)) == 1) {
		if (feed_add(f, &s) < 0)
			return -ENOMEM;
		feed_serve(f, 1); /* there may be thousands of them at first */
	}
	return more;
}

static int follow(struct merge *m, struct feed *f, int64_t interval_ns)
{
	struct error e, said = {""};
	while (!asked_to_stop) {
		int64_t began_ns = now_ns();
		int code = merge_update(m, &e);
		if (code < 0)
			error_say_new("mpitrace live", &e, &said);
		code = code == 0 ? hand_on(m, f) : code;
		if (code == -ENOMEM)
			return code;
		if (code == 0 && merge_over(m))
			return 0;
		int64_t took_ns = REST_TIMES * (now_ns() - began_ns);
		feed_serve(f, took_ns > interval_ns ? took_ns : interval_ns);
	}
	return 0;
}

static void linger(struct feed *f)
{
	feed_end(f);
	while (!asked_to_stop && now_ns() - feed_active_ns(f) < LINGER_NS)
		feed_serve(f, 100000000);
}

static void print_where(const struct feed *f, const struct feed_options *o)
{
	if (o->socket_path != NULL)
		printf("unix %s\n", o->socket_path);
	if (o->tcp)
		printf("tcp 127.0.0.1 %u token %s\n", feed_port(f), feed_token(f));
	fflush(stdout);
}

int live_feed(const char *job_or_path, const struct feed_options *o, int64_t interval_ns)
{
	char path[PATH_MAX];
	struct error e;
	struct merge *m = NULL;
	struct feed *f = NULL;
	int code = find_step(job_or_path, path, &e);
	code = code == 0 ? feed_create(o, &f, &e) : code;
	if (code == 0 && merge_create(path, &m) < 0)
		code = fail(&e, -ENOMEM, "out of memory");
	if (code == 0) {
		catch_signals();
		print_where(f, o);
		code = follow(m, f, interval_ns);
		if (code < 0)
			fail(&e, code, "out of memory");
		else
			linger(f);
	}
	if (code < 0)
		fprintf(stderr, "mpitrace live: %s\n", e.text);
	merge_destroy(m);
	feed_destroy(f);
	return code < 0 ? EXIT_BAD_INPUT : EXIT_DONE;
}
