/* traffic.c - events of an .mpix in their order, and what is made of them: random traces of which the windows must not
 * matter, and super epochs against an oracle that adds up all messages again and again. */
#include "postproc/protocol/epochs_report.h"
#include "postproc/protocol/epochs_super.h"
#include "postproc/protocol/traffic.h"
#include "tests/unit/mpix_trace.h"

#include <criterion/criterion.h>
#include <string.h>

#define RANKS 20u

/* ---- windows ---- */

static char *epochs_text(const struct trace_shape *shape)
{
	static const uint64_t budgets[] = {2, 50, 100000};
	struct plain_trace *t = trace_make(shape);
	struct mpix_file *f;
	struct error e;
	cJSON *epochs, *analysis = cJSON_CreateObject(), *comms = cJSON_AddArrayToObject(analysis, "communicators");
	cJSON *ranks = cJSON_AddArrayToObject(analysis, "per_rank");
	for (uint32_t r = 0; r < RANKS; r++)
		cJSON_AddStringToObject(json_row(ranks), "state", "finalized");
	for (int c = 0; c < 5; c++) {
		cJSON *row = json_row(comms), *members = json_array(row, "ranks");
		json_put(row, "id", c);
		for (uint32_t r = 0; r < RANKS; r++)
			json_push(members, r);
	}
	cr_assert_eq(plain_write(path_of("t.mpix"), t, "{}", &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(path_of("t.mpix"), &f, &e), 0, "%s", e.text);
	cr_assert_eq(epochs_of_trace(f, "t.mpix", analysis, budgets, 3, &epochs, &e), 0, "%s", e.text);
	char *text = cJSON_PrintUnformatted(epochs);
	cJSON_Delete(epochs);
	cJSON_Delete(analysis);
	mpix_close(f);
	trace_done(t);
	return text;
}

Test(traffic, windows_of_the_file_do_not_matter, .init = make_directory, .fini = remove_directory)
{
	struct trace_shape shape = {.ranks = RANKS, .events = 400, .links = 3000, .runtime_ns = 1000000000};
	for (int threads = 0; threads < 2; threads++) {
		shape.threads = threads > 0;
		shape.windows = 1;
		char *one = epochs_text(&shape);
		cr_assert_not_null(strstr(one, "\"messages\":3000"), "%.200s", one);
		for (shape.windows = 2; shape.windows < 50; shape.windows += 11) {
			char *many = epochs_text(&shape);
			cr_assert_str_eq(one, many, "%u windows", shape.windows);
			cJSON_free(many);
		}
		cJSON_free(one);
	}
}

/* ---- order of events ---- */

struct last {
	uint64_t next[RANKS];
	uint64_t sends, receives, parts;
};

static int see_end(void *context, struct traffic_message *m, bool sends, struct error *e)
{
	struct last *l = context;
	uint32_t rank = sends ? m->src : m->dst;
	(void)e;
	cr_assert_eq(sends ? m->send_event : m->recv_event, l->next[rank]++);
	*(sends ? &l->sends : &l->receives) += 1;
	return 0;
}

static int see_part(void *context, const struct mpix_collective_part *part, struct error *e)
{
	struct last *l = context;
	(void)e;
	l->next[part->rank]++;
	l->parts++;
	return 0;
}

Test(traffic, each_message_has_a_send_and_a_receive_and_events_count_from_0, .init = make_directory,
     .fini = remove_directory)
{
	struct trace_shape shape = {.ranks = RANKS,
				    .events = 400,
				    .links = 3000,
				    .windows = 7,
				    .runtime_ns = 1000000000,
				    .far_ticks = true};
	struct plain_trace *t = trace_make(&shape);
	struct last l = {0};
	struct traffic_visitor visitor = {&l, see_end, see_part};
	struct mpix_file *f;
	struct error e;
	uint64_t collectives = 0;
	for (uint32_t r = 0; r < RANKS; r++)
		for (uint32_t i = 0; i < t->lanes[r].n; i++)
			collectives += (t->sigs[r][t->lanes[r].events[i].sig].flags & MPIX_COLLECTIVE) != 0;
	cr_assert_eq(plain_write(path_of("t.mpix"), t, "{}", &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(path_of("t.mpix"), &f, &e), 0, "%s", e.text);
	cr_assert_eq(traffic_read(f, "t.mpix", &visitor, &e), 0, "%s", e.text);
	mpix_close(f);
	cr_assert_eq(l.sends, t->nlinks);
	cr_assert_eq(l.receives, t->nlinks);
	cr_assert_eq(l.parts, collectives);
	trace_done(t);
}

/* Nanoseconds are coarse, and a trace may say of all its calls that they took none. */
Test(traffic, many_events_of_one_moment_are_sorted_in_time, .init = make_directory, .fini = remove_directory,
     .timeout = 30)
{
	struct trace_shape shape = {.ranks = RANKS, .events = 400, .links = 300000, .windows = 1, .runtime_ns = 10};
	struct plain_trace *t = trace_make(&shape);
	struct last l = {0};
	struct traffic_visitor visitor = {&l, see_end, see_part};
	struct mpix_file *f;
	struct error e;
	cr_assert_eq(plain_write(path_of("t.mpix"), t, "{}", &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(path_of("t.mpix"), &f, &e), 0, "%s", e.text);
	cr_assert_eq(traffic_read(f, "t.mpix", &visitor, &e), 0, "%s", e.text);
	mpix_close(f);
	cr_assert_eq(l.sends, t->nlinks);
	trace_done(t);
}

/* ---- super epochs ---- */

#define EPOCHS 400u
#define MESSAGES 6u

struct given {
	struct epoch_message messages[EPOCHS][MESSAGES];
	uint32_t n[EPOCHS];
};

/* Largest number in flight at once of epochs first .. last. */
static uint64_t need_of(const struct given *g, uint32_t first, uint32_t last)
{
	uint64_t most = 0;
	for (uint32_t a = first; a <= last; a++)
		for (uint32_t i = 0; i < g->n[a]; i++) {
			uint64_t n = 0;
			int64_t at = g->messages[a][i].from_ns;
			for (uint32_t b = first; b <= last; b++)
				for (uint32_t k = 0; k < g->n[b]; k++)
					n += g->messages[b][k].from_ns <= at && g->messages[b][k].to_ns > at;
			most = n > most ? n : most;
		}
	return most;
}

static void check_budget(const struct given *g, uint64_t budget)
{
	struct super_epochs s = {.budget = budget};
	struct super_run before;
	uint32_t first = 0;
	uint64_t runs = 1;
	for (uint32_t i = 0; i < EPOCHS; i++) {
		struct epoch x = {.number = i + 1, .single = true, .message = g->messages[i], .nmessage = g->n[i]};
		x.total.messages = need_of(g, i, i);
		bool splits = i > 0 && need_of(g, first, i) > budget;
		cr_assert_eq(super_add(&s, &x, &before), splits, "epoch %u, budget %lu", i + 1, budget);
		if (splits) {
			cr_assert_eq(before.first, first + 1);
			cr_assert_eq(before.last, i);
			first = i;
			runs++;
		}
	}
	cr_assert_eq(s.count, runs);
	cr_assert_eq(s.run.last, EPOCHS);
	super_done(&s);
}

Test(super_epochs, are_as_long_as_all_their_messages_fit)
{
	static struct given g;
	uint64_t state = 99;
	for (uint32_t i = 0; i < EPOCHS; i++) {
		g.n[i] = (uint32_t)(next_random(&state) % MESSAGES);
		for (uint32_t k = 0; k < g.n[i]; k++) {
			int64_t from = (int64_t)(i * 10 + next_random(&state) % 40);
			g.messages[i][k] =
				(struct epoch_message){0, 1, 1, from, from + 1 + (int64_t)(next_random(&state) % 30)};
		}
	}
	for (uint64_t budget = 1; budget < 20; budget += 3)
		check_budget(&g, budget);
}

Test(super_epochs, of_very_long_runs_are_never_too_long)
{
	struct super_epochs s = {.budget = 2};
	struct super_run before;
	for (uint32_t i = 0; i < 300000; i++) {
		struct epoch_message m = {0, 1, 1, i * 10ll, i * 10ll + 15};
		struct epoch x = {.number = i + 1, .single = true, .message = &m, .nmessage = 1, .total = {0, 1, 1}};
		cr_assert_eq(super_add(&s, &x, &before), 0);
	}
	cr_assert_leq(s.turns.n, SUPER_TURNS_MAX + 2);
	struct epoch_message late = {0, 1, 1, 299995ll * 10, 299995ll * 10 + 100};
	struct epoch x = {.number = 300001, .single = true, .message = &late, .nmessage = 1, .total = {0, 1, 1}};
	cr_assert_eq(super_add(&s, &x, &before), 1, "three at once");
	super_done(&s);
}
