/* publishing.h - one destination, which the server of answering.h plays, and the state of a publisher, in a directory
 * of their own. For one program each: what it declares is the program's own. */
#pragma once

#include "answering.h"

#include "fleet/publish/send.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char place[64], url[64], out_path[96];
static struct destinations all;
static struct state s;
static struct destination *d;
static struct link *l;

/* A name there; of the last two asked for. */
static const char *path_of(const char *name)
{
	static char path[2][128];
	static int turn;
	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", place, name);
	return path[turn];
}

static void begin(void)
{
	struct error e = {""};
	snprintf(place, sizeof(place), "/tmp/test_publishing.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
	snprintf(out_path, sizeof(out_path), "%s/out", place);
	answering_begin(url);
	cr_assert_eq(state_open(path_of("p.db"), &s, &e), 0, "%s", e.text);
}

static void end(void)
{
	char command[128];
	if (l != NULL)
		link_destroy(d, l);
	state_close(&s);
	vec_done(&all.all);
	snprintf(command, sizeof(command), "rm -rf %s", place);
	cr_expect_eq(system(command), 0);
}

/* Of that kind; the server says what say does, and is waited for so long. */
static void use_for(const char *kind, answering_say say, unsigned timeout_s)
{
	struct destination one = {.name = "d",
				  .kind = publish_kind_find(kind),
				  .url = url,
				  .path = out_path,
				  .index = "i",
				  .bucket = "b",
				  .org = "o",
				  .batch = 3,
				  .queue = 100,
				  .timeout_s = timeout_s,
				  .backoff_max_s = 1000};
	struct error e = {""};
	cr_assert_eq(vec_push(&all.all, one), 0);
	cr_assert_eq(state_destinations(&s, &all, &e), 0, "%s", e.text);
	d = &all.all.at[0];
	l = link_create(d);
	cr_assert_not_null(l);
	server.say = say;
}

static void take_record(const char *id, const char *user, const char *more)
{
	char text[256];
	struct take_counts counts = {0};
	struct error e = {""};
	const char *why = NULL;
	int len = snprintf(
		text, sizeof(text),
		"{\"schema\":\"mpitrace/job/2\",\"id\":\"%s\",\"user\":\"%s\",\"start\":\"2025-03-01T10:00:00Z\"%s}",
		id, user, more);
	cr_assert_eq(state_take(&s, &all, text, (size_t)len, NULL, &counts, &why, &e), 0, "%s", e.text);
	cr_assert_null(why);
}

static void send_it(void)
{
	static const volatile sig_atomic_t stop = 0;
	struct error e = {""};
	cr_assert_eq(publish_send(&s, d, l, &stop, &e), 0, "%s", e.text);
}
