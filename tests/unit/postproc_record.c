/* postproc_record.c - what the record says of itself: holes in it, what this program does not know, what tracing
 * cost. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Three blocks of ten barriers each on both threads of rank 1 of two; one of them has that fate. */
static cJSON *analyse_gap(unsigned thread, unsigned which, enum block_fate fate)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < 30; i++)
		for (unsigned r = 0; r < 2; r++)
			for (unsigned t = 0; t <= r; t++) {
				program_coll(p, r,
					     (struct call){.op = t == 0 ? "MPI_Barrier" : "MPI_Ibarrier",
							   .from_us = 10 * i + 1,
							   .to_us = 10 * i + 6,
							   .peer = SIG_NO_ROOT,
							   .coll = t == 0 ? COLL_BARRIER : COLL_NONE,
							   .thread = t});
				if (r == 1 && i % 10 == 9)
					program_end_block(p, r, t, t == thread && i / 10 == which ? fate : BLOCK_WHOLE);
			}
	return analyse_program(p, 1000);
}

static void expect_gap(unsigned thread, unsigned which, enum block_fate fate)
{
	cJSON *root = analyse_gap(thread, which, fate);
	unsigned gone = 30 - 10 * which;
	cr_expect(cJSON_IsFalse(node_at(root, "coverage.complete")));
	cr_expect_eq(at_path(root, "coverage.events"), 90 - gone, "thread %u, block %u, fate %u: %g", thread, which,
		     fate, at_path(root, "coverage.events"));
	cr_expect_eq(at_path(root, "coverage.events_lost"), gone);
	const cJSON *row = find(root, "per_rank", "rank", 1, NULL);
	const cJSON *until = cJSON_GetObjectItem(row, "recorded_until_s");
	cr_expect(cJSON_IsNull(until) == (gone == 0), "missing is what is not there");
	const cJSON *threads = cJSON_GetObjectItem(row, "threads");
	for (unsigned t = 0; t < 2; t++) {
		const cJSON *own = cJSON_GetObjectItem(cJSON_GetArrayItem(threads, (int)t), "recorded_until_s");
		cr_expect(t == thread ? cJSON_Compare(own, until, true) : cJSON_IsNull(own),
			  "of thread %u only what is its own is missing", t);
	}
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Barrier"), "calls"), 60);
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Ibarrier"), "calls"), 30);
	cJSON_Delete(root);
}

Test(record, events_behind_a_hole_are_counted_and_totals_stay_exact)
{
	for (unsigned thread = 0; thread < 2; thread++)
		for (unsigned which = 0; which < 3; which++) {
			expect_gap(thread, which, BLOCK_MISSING);
			expect_gap(thread, which, BLOCK_BROKEN);
		}
}

Test(record, calls_of_an_unknown_kind_are_counted_and_lose_nothing_else)
{
	static const struct {
		unsigned shape, kind, nwords;
	} rows[] = {
		{SIG_SHAPES, 0, 3}, {200, 7, 9}, {SIG_COLL, COLL_KINDS, 3}, {SIG_RMA, RMA_KINDS, 3}, {SIG_SEND, 0, 1}};
	const uint64_t words[9] = {0};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct program *p = program_create(2, 1);
		for (unsigned r = 0; r < 2; r++) {
			program_words(p, r, (struct call){.op = "MPI_Pack", .from_us = 10, .to_us = 12, .line = 3},
				      rows[i].shape, rows[i].kind, words, rows[i].nwords);
			program_words(p, r, (struct call){.op = "MPI_Pack", .from_us = 20, .to_us = 22, .line = 4},
				      rows[i].shape, rows[i].kind, words, rows[i].nwords);
			program_words(p, r, (struct call){.op = "MPI_Unpack", .from_us = 30, .to_us = 32}, SIG_TIME, 0,
				      words, 0);
			program_coll(p, r,
				     (struct call){.op = "MPI_Barrier",
						   .from_us = 40,
						   .to_us = 45,
						   .peer = SIG_NO_ROOT,
						   .coll = COLL_BARRIER});
		}
		cJSON *root = analyse_program(p, 100);
		cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Pack"), "calls"), 4, "row %zu", i);
		cr_expect_float_eq(field(find_text(root, "operations", "op", "MPI_Pack"), "time_s"), 8e-6, 1e-9);
		cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Unpack"), "calls"), 2);
		cr_expect_eq(at_path(root, "summary.barriers"), 2);
		cr_expect_eq(at_path(root, "coverage.unmatched.collectives"), 0);
		cr_expect_eq(at_path(root, "coverage.unknown_signatures"), 4);
		cr_expect_eq(at_path(root, "coverage.unknown_calls"), 4);
		cr_expect(cJSON_IsTrue(node_at(root, "coverage.complete")));
		cr_expect_eq(cJSON_GetArraySize(node_at(root, "coverage.reasons")), 1);
		cJSON_Delete(root);
	}
}

/* The next request's number counts this one, whatever it was. */
Test(record, an_unknown_call_that_starts_a_request_takes_its_number)
{
	struct program *p = program_create(2, 1);
	const uint64_t words[3] = {0};
	program_words(p, 0, (struct call){.op = "MPI_Inew", .from_us = 1, .to_us = 2, .flags = SIG_STARTS_REQUEST}, 99,
		      0, words, 3);
	struct done first = {program_serial(p, 0), NO_STATUS, 0, 0, false};
	program_recv(p, 0,
		     (struct call){.op = "MPI_Irecv",
				   .from_us = 3,
				   .to_us = 4,
				   .peer = SIG_ANY,
				   .bytes = 64,
				   .flags = SIG_STARTS_REQUEST | SIG_ANY_SOURCE});
	struct done both[2] = {first, {program_serial(p, 0), 1, 0, 48, false}};
	program_wait(p, 0, (struct call){.op = "MPI_Waitall", .from_us = 10, .to_us = 20}, both, 2);
	program_send(p, 1, (struct call){.op = "MPI_Send", .from_us = 5, .to_us = 6, .bytes = 48});
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(at_path(root, "summary.transfers"), 1);
	cr_expect_eq(at_path(root, "summary.bytes"), 48);
	cr_expect_null(find_text(root, "issues", "issue", "request_leak"));
	cJSON_Delete(root);
}

Test(record, definitions_of_an_unknown_kind_are_left_out_and_counted)
{
	struct program *p = program_create(2, 1);
	program_unknown_def(p);
	for (unsigned r = 0; r < 2; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = 40,
					   .to_us = 45,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_BARRIER});
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Barrier"), "calls"), 2);
	cr_expect_eq(at_path(root, "coverage.unknown_definitions"), 2);
	cr_expect_eq(at_path(root, "coverage.unknown_signatures"), 0);
	cr_expect(cJSON_IsTrue(node_at(root, "coverage.complete")));
	cJSON_Delete(root);
}

/* Of the last ten of twenty messages the tags stand only in the events; of so many of these no event was kept. */
struct new_tags {
	unsigned lost;
	cJSON *whole, *totals;
};

static struct new_tags analyse_new_tags(unsigned lost)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < 20; i++) {
		struct call c = {.op = "MPI_Send", .from_us = 10 * i + 1, .to_us = 10 * i + 2, .tag = (int)i};
		for (unsigned r = 0; r < 2; r++) {
			if (i == 10)
				program_table_full(p, r);
			if (i == 20 - lost)
				program_budget_spent(p, r);
		}
		c.peer = 1;
		program_send(p, 0, c);
		c.op = "MPI_Recv";
		c.peer = 0;
		program_recv(p, 1, c);
	}
	char *dir = make_directory();
	program_write(p, dir, 300, -1);
	program_destroy(p);
	struct new_tags x = {lost, analyse(dir), analyse_totals(dir)};
	remove_directory(dir);
	return x;
}

static bool gives_reason(const cJSON *root, const char *reason)
{
	const cJSON *one;
	cJSON_ArrayForEach(one,
			   node_at(root, "coverage.reasons")) if (strcmp(one->valuestring, reason) == 0) return true;
	return false;
}

static void new_tags_done(struct new_tags *x)
{
	cJSON_Delete(x->whole);
	cJSON_Delete(x->totals);
}

Test(record, tags_that_only_the_events_have_are_not_missing_from_the_trace)
{
	struct new_tags x = analyse_new_tags(0);
	cr_expect(cJSON_IsTrue(node_at(x.whole, "coverage.complete")));
	cr_expect_eq(at_path(x.whole, "summary.transfers"), 20);
	cr_expect_eq(cJSON_GetArraySize(node_at(x.whole, "coverage.reasons")), 0);
	cr_expect(cJSON_IsTrue(node_at(x.totals, "coverage.totals_complete")));
	cr_expect_eq(at_path(x.totals, "summary.messages_sent"), 10);
	cr_expect(gives_reason(
		x.totals, "20 messages of new sizes or tags with sizes and partners in the events: messages, bytes and "
			  "calls of communicators are without them"));
	cr_expect_eq(cJSON_GetArraySize(node_at(x.totals, "coverage.reasons")), 2,
		     "and how many events were passed over");
	new_tags_done(&x);
}

Test(record, tags_that_went_with_lost_events_are_missing_from_the_trace)
{
	struct new_tags x = analyse_new_tags(4);
	cr_expect(cJSON_IsFalse(node_at(x.whole, "coverage.complete")));
	cr_expect(gives_reason(x.whole, "of new sizes or tags and so only in the totals, without sizes and partners: 8 "
					"messages"));
	cr_expect(cJSON_IsFalse(node_at(x.totals, "coverage.totals_complete")));
	cr_expect_eq(at_path(x.totals, "coverage.events_lost"), 8);
	cr_expect(gives_reason(x.totals,
			       "of new sizes or tags and so only in the totals, without sizes and partners: up "
			       "to 8 messages"));
	new_tags_done(&x);
}

Test(record, without_any_event_all_new_tags_are_missing_from_the_trace)
{
	struct new_tags x = analyse_new_tags(20);
	const char *reason = "of new sizes or tags and so only in the totals, without sizes and partners: 20 messages";
	cr_expect(gives_reason(x.whole, reason));
	cr_expect(gives_reason(x.totals, reason));
	cr_expect(cJSON_IsFalse(node_at(x.totals, "coverage.totals_complete")));
	cr_expect_eq(at_path(x.totals, "coverage.events_lost"), 40);
	new_tags_done(&x);
}

/* Open MPI leaves the flag of a file's request as it found the memory. */
Test(record, only_messages_are_cancelled)
{
	struct program *p = program_create(1, 1);
	const uint64_t words[2] = {sig_pair(0, IO_EXPLICIT), 64};
	program_words(p, 0,
		      (struct call){.op = "MPI_File_iread_at", .from_us = 1, .to_us = 2, .flags = SIG_STARTS_REQUEST},
		      SIG_IO, IO_READ, words, 2);
	struct done read = {program_serial(p, 0), 0, 0, 64, true};
	program_wait(p, 0, (struct call){.op = "MPI_Wait", .from_us = 3, .to_us = 4}, &read, 1);
	program_recv(
		p, 0,
		(struct call){.op = "MPI_Irecv", .from_us = 5, .to_us = 6, .bytes = 8, .flags = SIG_STARTS_REQUEST});
	struct done receive = {program_serial(p, 0), 0, 0, 0, true};
	program_wait(p, 0, (struct call){.op = "MPI_Wait", .from_us = 7, .to_us = 8, .line = 1}, &receive, 1);
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(at_path(root, "coverage.unmatched.cancelled"), 1);
	cJSON_Delete(root);
}

/* Two ranks, 10,000 us, 100 barriers of 10 us each; 10 of rank 1's are slow and take slow_us in all. */
static cJSON *traced(double slow_us)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < 100; i++)
		for (unsigned r = 0; r < 2; r++)
			program_coll(p, r,
				     (struct call){.op = "MPI_Barrier",
						   .from_us = 100 * i + 20,
						   .to_us = 100 * i + 30,
						   .peer = SIG_NO_ROOT,
						   .coll = COLL_BARRIER});
	if (slow_us > 0)
		program_slow(p, 1, 0, 10, slow_us);
	return analyse_program(p, 10000);
}

static double useful_in_windows(const cJSON *root)
{
	const cJSON *row;
	double sum = 0;
	cJSON_ArrayForEach(row, node_at(root, "time_windows")) sum += field(row, "useful_s");
	return sum;
}

Test(record, the_tracer_s_own_time_is_neither_useful_nor_mpi)
{
	cJSON *root = traced(900);
	const cJSON *first = find(root, "per_rank", "rank", 0, NULL), *second = find(root, "per_rank", "rank", 1, NULL);
	cr_expect_float_eq(field(first, "mpi_s"), 1000e-6, 1e-9);
	cr_expect_float_eq(field(first, "tracing_s"), 5e-6, 1e-9);    /* 100 calls of 50 ns */
	cr_expect_float_eq(field(second, "tracing_s"), 905e-6, 1e-9); /* 100 of 50 ns, and the slow ones */
	cr_expect_float_eq(field(first, "useful_s"), 8995e-6, 1e-9);
	cr_expect_float_eq(field(second, "useful_s"), 8095e-6, 1e-9);
	cr_expect_float_eq(at_path(root, "efficiency.parallel"), (8995 + 8095.0) / 2 / 10000, 1e-9);
	cr_expect_float_eq(at_path(root, "efficiency.load_balance"), (8995 + 8095.0) / 2 / 8995, 1e-9);
	cr_expect_float_eq(useful_in_windows(root), (8995 + 8095.0) * 1e-6, 1e-6);
	cr_expect_float_eq(at_path(root, "overhead.ns_per_call"), 50, 1e-9);
	cr_expect_float_eq(at_path(root, "overhead.share"), 910.0 / 20000, 1e-9);
	cr_expect_eq(at_path(root, "overhead.slow_calls"), 10);
	cr_expect_float_eq(at_path(root, "overhead.slow_s"), 900e-6, 1e-9);
	cr_expect_eq(at_path(root, "overhead.worst_rank"), 1);
	cr_expect_float_eq(at_path(root, "overhead.worst_share"), 0.0905, 1e-9);
	cJSON_Delete(root);
}

static double tracing_between_s(void (*told)(struct program *p), double between_us)
{
	struct program *p = program_create(1, 1);
	for (unsigned i = 0; i < 100; i++)
		program_coll(p, 0,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = 100 * i,
					   .to_us = 100 * (i + 1) - between_us,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_BARRIER});
	told(p);
	cJSON *root = analyse_program(p, 10000);
	double s = at_path(root, "overhead.tracing_s");
	cr_expect_float_eq(at_path(root, "overhead.ns_per_call"), s / 100 * 1e9, 1e-6);
	cJSON_Delete(root);
	return s;
}

static double tracing_s(void (*told)(struct program *p))
{
	return tracing_between_s(told, 90);
}

static void nothing_more(struct program *p)
{
	(void)p;
}

static void of_a_sample_it_was_timed(struct program *p)
{
	program_timed(p, 0, 50, 40);
}

static void quicker_than_at_the_start(struct program *p)
{
	program_timed(p, 0, 50, 4);
}

static void of_too_few_it_was_timed(struct program *p)
{
	program_timed(p, 0, 49, 40);
}

static void processors_were_shared(struct program *p)
{
	program_shares_processor(p, 0, 4000);
}

/* 50 ns at the start, 10 of which were the recording. */
Test(record, a_call_costs_what_recording_it_took_in_its_place)
{
	cr_expect_float_eq(tracing_s(nothing_more), 5e-6, 1e-10);
	cr_expect_float_eq(tracing_s(of_a_sample_it_was_timed), 8e-6, 1e-10);
	cr_expect_float_eq(tracing_s(quicker_than_at_the_start), 4.4e-6, 1e-10);
	cr_expect_float_eq(tracing_s(of_too_few_it_was_timed), 5e-6, 1e-10);
	cr_expect_float_eq(tracing_s(processors_were_shared), 10e-6, 1e-10, "half of the time it had no processor");
}

/* 30 of the 50 ns are in the calls' own time. */
Test(record, a_call_costs_no_more_than_there_is_between_calls)
{
	cr_expect_float_eq(tracing_between_s(of_a_sample_it_was_timed, 0.05), 8e-6, 1e-10);
	cr_expect_float_eq(tracing_between_s(of_a_sample_it_was_timed, 0.03), 6e-6, 1e-10);
	cr_expect_float_eq(tracing_between_s(of_a_sample_it_was_timed, 0.01), 5e-6, 1e-10, "as at the start");
	cr_expect_float_eq(tracing_between_s(quicker_than_at_the_start, 0.01), 4.4e-6, 1e-10);
}

/* Of MPI_Wtime no time is taken: 100 calls of it are an addition each. */
Test(record, calls_that_are_only_counted_cost_less)
{
	struct program *p = program_create(1, 1);
	for (unsigned i = 0; i < 100; i++)
		program_words(p, 0, (struct call){.op = "MPI_Wtime", .from_us = 100 + i, .to_us = 100 + i}, SIG_TIME, 0,
			      NULL, 0);
	cJSON *root = analyse_program(p, 10000);
	cr_expect_float_eq(field(find(root, "per_rank", "rank", 0, NULL), "tracing_s"), 1e-6,
			   1e-9); /* a fifth of 50 ns */
	cr_expect_float_eq(at_path(root, "overhead.ns_per_call"), 10, 1e-9);
	cJSON_Delete(root);
}

/* ---- what is told, beside what a run without the tracer would have taken ---- */

#define ROUNDS 200
#define CALL_US 2
#define LATENCY_US 0.05

/* When each rank is where it is. With tracing, it takes so long behind each call. */
struct lockstep {
	struct program *p;
	double at_us[2], tracing_us;
};

static void send_to(struct lockstep *l, unsigned rank, double *ret_arrives_us)
{
	double from = l->at_us[rank], to = from + CALL_US;
	if (l->p != NULL)
		program_send(
			l->p, rank,
			(struct call){
				.op = "MPI_Send", .from_us = from, .to_us = to, .peer = 1 - (int)rank, .bytes = 8});
	l->at_us[rank] = to + l->tracing_us;
	*ret_arrives_us = to + LATENCY_US;
}

static void recv_from(struct lockstep *l, unsigned rank, double arrives_us)
{
	double from = l->at_us[rank], to = fmax(from, arrives_us) + CALL_US;
	if (l->p != NULL)
		program_recv(
			l->p, rank,
			(struct call){
				.op = "MPI_Recv", .from_us = from, .to_us = to, .peer = 1 - (int)rank, .bytes = 8});
	l->at_us[rank] = to + l->tracing_us;
}

/* Ranks take turns: each waits for all that the other does. */
static void turns(struct lockstep *l)
{
	for (unsigned rank = 0; rank < 2; rank++) {
		double arrives;
		send_to(l, rank, &arrives);
		recv_from(l, 1 - rank, arrives);
	}
}

/* Both send, then both receive: nobody waits for more than a message. */
static void at_once(struct lockstep *l)
{
	double arrives[2];
	for (unsigned rank = 0; rank < 2; rank++)
		send_to(l, rank, &arrives[rank]);
	for (unsigned rank = 0; rank < 2; rank++)
		recv_from(l, rank, arrives[1 - rank]);
}

/* Rank 0 computes, rank 1 waits for it. */
static void one_works(struct lockstep *l)
{
	double arrives;
	l->at_us[0] += 30;
	send_to(l, 0, &arrives);
	recv_from(l, 1, arrives);
}

static double run(struct lockstep *l, void (*round)(struct lockstep *l), double tracing_us)
{
	l->at_us[0] = l->at_us[1] = 10;
	l->tracing_us = tracing_us;
	for (int i = 0; i < ROUNDS; i++)
		round(l);
	return fmax(l->at_us[0], l->at_us[1]) - 10;
}

static void expect_told(const char *name, void (*round)(struct lockstep *l), double tracing_us)
{
	struct lockstep untraced = {.p = NULL}, l = {.p = program_create(2, 1)};
	double plain_us = run(&untraced, round, 0), traced_us = run(&l, round, tracing_us);
	for (unsigned rank = 0; rank < 2; rank++) {
		double calls = round == one_works ? ROUNDS : 2 * ROUNDS; /* each costs 50 ns beside what is slow */
		program_slow(l.p, rank, 0, (uint64_t)calls, calls * (tracing_us - 0.05));
	}
	cJSON *root = analyse_program(l.p, traced_us + 20);
	double told = at_path(root, "overhead.share"), shown = 1 - plain_us / traced_us;
	cr_expect(told > shown * 2 / 3 && told < shown * 4 / 3, "%s, %g us a call: told %.4f, shown %.4f, ratio %.2f",
		  name, tracing_us, told, shown, told / shown);
	cJSON_Delete(root);
}

Test(record, what_tracing_is_told_to_cost_is_within_a_third_of_what_the_run_became_longer_by)
{
	for (double tracing_us = 0.1; tracing_us < 2; tracing_us *= 2) {
		expect_told("turns", turns, tracing_us);
		expect_told("at once", at_once, tracing_us);
		expect_told("one works", one_works, tracing_us);
	}
}

/* The agent's time counts where ranks waited for a processor, no longer than they did, and only what was beside them;
 * of more ranks than processors shared by these. */
Test(record, the_agent_costs_what_ranks_waited_for_a_processor)
{
	static const struct {
		double ready_us, share; /* of 10,000 us, of which the agent took 1,000 */
		unsigned ranks;
		const char *more;
	} rows[] = {{0, 0, 2, ""},
		    {200, 0.04, 2, ""},
		    {500, 0.1, 2, ""},
		    {4000, 0.1, 2, ""},
		    {4000, 0.1, 4, "\"topology\": {\"pus\": 4},"},
		    {4000, 0.05, 4, "\"topology\": {\"pus\": 2},"},
		    {4000, 0.025, 2, "\"agent_beside_ns\": 250000,"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct program *p = program_create(rows[i].ranks, 1);
		char members[128];
		snprintf(members, sizeof(members), "\"agent_ns\":1000000,%s", rows[i].more);
		program_node_members(p, 0, members);
		for (unsigned r = 0; r < rows[i].ranks; r++) {
			program_coll(p, r,
				     (struct call){.op = "MPI_Barrier",
						   .from_us = 20,
						   .to_us = 30,
						   .peer = SIG_NO_ROOT,
						   .coll = COLL_BARRIER});
			program_processor_wait(p, r, rows[i].ready_us);
		}
		cJSON *root = analyse_program(p, 10000);
		cr_expect_float_eq(at_path(root, "overhead.agent_s"), 1e-3, 1e-9);
		cr_expect_float_eq(at_path(root, "overhead.agent_share"), rows[i].share, 1e-9, "%g us: %g",
				   rows[i].ready_us, at_path(root, "overhead.agent_share"));
		cr_expect_float_eq(at_path(root, "overhead.share"),
				   rows[i].share + at_path(root, "overhead.tracing_s") / (0.01 * rows[i].ranks), 1e-9);
		cJSON_Delete(root);
	}
}

Test(record, tracing_that_costs_more_than_two_percent_of_a_rank_is_an_issue)
{
	cJSON *below = traced(194), *above = traced(196), *none = traced(0); /* 199, 201 and 5 us of 10,000 */
	const cJSON *issue = find_text(above, "issues", "issue", "tracing_cost");
	cr_expect_null(find_text(none, "issues", "issue", "tracing_cost"));
	cr_expect_null(find_text(below, "issues", "issue", "tracing_cost"));
	cr_assert_not_null(issue);
	cr_expect_float_eq(at_path(issue, "metric.value"), 0.0201, 1e-9);
	cr_expect_eq(cJSON_GetArraySize(node_at(issue, "ranks")), 1);
	cr_expect_eq(cJSON_GetArrayItem(node_at(issue, "ranks"), 0)->valueint, 1);
	cr_expect_not_null(strstr(cJSON_GetStringValue(node_at(above, "verdict")), "Tracing itself took 2.0 %"));
	cr_expect_null(strstr(cJSON_GetStringValue(node_at(below, "verdict")), "Tracing"));
	cJSON_Delete(below);
	cJSON_Delete(above);
	cJSON_Delete(none);
}

/* As of a program that fails behind MPI_Init: 100 of 900 us are the tracer's, which slows down nobody. */
Test(record, tracing_of_less_than_a_millisecond_is_no_issue)
{
	struct program *p = program_create(1, 1);
	program_coll(
		p, 0,
		(struct call){
			.op = "MPI_Barrier", .from_us = 200, .to_us = 210, .peer = SIG_NO_ROOT, .coll = COLL_BARRIER});
	program_slow(p, 0, 0, 1, 100);
	cJSON *root = analyse_program(p, 900);
	cr_expect_gt(at_path(root, "overhead.worst_share"), 0.1);
	cr_expect_null(find_text(root, "issues", "issue", "tracing_cost"));
	cJSON_Delete(root);
}

Test(record, useful_time_is_never_below_zero)
{
	cJSON *root = traced(1e9);
	cr_expect_eq(field(find(root, "per_rank", "rank", 1, NULL), "useful_s"), 0);
	cr_expect_float_eq(field(find(root, "per_rank", "rank", 1, NULL), "tracing_s"), 9e-3, 1e-9);
	cr_expect_eq(at_path(root, "overhead.worst_share"), 1);
	cr_expect_eq(at_path(root, "overhead.share"), 1);
	cJSON_Delete(root);
}

/* MPI_Init and MPI_Finalize, in which all wait, are in none of it. */
Test(record, the_share_of_mpi_whose_waiting_nobody_knows_is_of_all_ranks)
{
	static const struct {
		const char *op;
		double to_us;
	} calls[] = {{"MPI_Buffer_detach", 40}, {"MPI_Comm_rank", 20}, {"MPI_Comm_rank", 20}};
	struct program *p = program_create(3, 1);
	for (unsigned r = 0; r < 3; r++)
		program_words(p, r, (struct call){.op = calls[r].op, .from_us = 10, .to_us = calls[r].to_us}, SIG_TIME,
			      0, NULL, 0);
	cJSON *root = analyse_program(p, 100);
	cr_expect_float_eq(at_path(root, "coverage.mpi_without_waits"), 30.0 / (30 + 10 + 10), 1e-6);
	cJSON_Delete(root);
}
