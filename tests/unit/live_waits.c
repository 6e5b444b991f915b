/* live_waits.c - what is a deadlock and what only looks like one at the moment of a sample: rank 0 receives from rank
 * 1. */
#include "postproc/live/snapshot.h"

#include <criterion/criterion.h>
#include <math.h>

#define SECOND 1000000000ll

static int32_t world[] = {0, 1};
static struct comm comm = {.group = world, .size = 2, .parent = NONE};
static char *ops[] = {"MPI_Recv",     "MPI_Finalize", "MPI_Waitall",	 "MPI_Irecv",	"MPI_Comm_dup",
		      "MPI_Ibarrier", "MPI_Bcast",    "MPI_Comm_accept", "MPI_Win_wait"};
/* Of both ranks: what they may be in. The receives of rank 0 are from rank 1, and the other way round. */
enum { RECEIVE, FINALIZE, WAITALL, IRECV, SMALL_ISEND, DUP, IBARRIER, BCAST, ACCEPT, WIN_WAIT, SIGS };
static struct sig sigs[2][SIGS];
static struct open_sig open_sigs[2][2];
static uint32_t sig_of[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
static struct thread threads[2];
static struct process step_processes[2], *step_ranks[2];
static struct live_thread live_threads[2][2];
static struct live_process processes[2];
static struct live_rank ranks[2];
static struct live_node nodes[2];
static enum live_node_state node_states[2];
static struct snapshot l;

static uint64_t waited_for[] = {SIG_RUN_ABSOLUTE | SIG_RUN_OTHER_THREAD | 1ull << 40, 0};

static void make_sigs(int r)
{
	int other = 1 - r;
	sigs[r][RECEIVE] = (struct sig){
		.op = 0, .peer = other, .recv_peer = other, .site = NONE, .call = {.shape = SIG_RECV}, .defined = true};
	sigs[r][FINALIZE] = (struct sig){.op = 1, .comm = NONE, .site = NONE, .defined = true};
	sigs[r][WAITALL] = (struct sig){
		.op = 2,
		.comm = NONE,
		.site = NONE,
		.defined = true,
		.call = {.shape = SIG_COMPLETE, .requests = 1, .runs = waited_for, .nruns = 1, .nrun_words = 2}};
	sigs[r][IRECV] = sigs[r][SMALL_ISEND] = sigs[r][RECEIVE];
	sigs[r][IRECV].op = sigs[r][SMALL_ISEND].op = 3;
	sigs[r][IRECV].call.flags = sigs[r][SMALL_ISEND].call.flags = SIG_STARTS_REQUEST;
	sigs[r][SMALL_ISEND].call.shape = SIG_SEND;
	sigs[r][DUP] = (struct sig){.op = 4, .site = NONE, .call = {.shape = SIG_COMM}, .defined = true, .open = true};
	sigs[r][IBARRIER] = (struct sig){.op = 5,
					 .site = NONE,
					 .call = {.shape = SIG_COLL, .coll = COLL_BARRIER, .flags = SIG_STARTS_REQUEST},
					 .defined = true};
	sigs[r][BCAST] =
		(struct sig){.op = 6, .site = NONE, .call = {.shape = SIG_COLL, .coll = COLL_BCAST}, .defined = true};
	sigs[r][ACCEPT] = (struct sig){.op = 7, .site = NONE, .comm = NONE, .defined = true};
	sigs[r][WIN_WAIT] = (struct sig){.op = 8, .site = NONE, .comm = NONE, .defined = true};
}

/* A thread of the rank is in that since 1.5 s. */
static void is_in(int r, uint32_t thread, uint32_t sig)
{
	struct process *p = &step_processes[r];
	if (p->open.n <= thread)
		p->open.n = thread + 1;
	p->open.at[thread] = (struct open_sig){.thread = thread, .sig = sig};
	processes[r].threads.n = p->open.n;
	live_threads[r][thread] = (struct live_thread){.open = true, .still = 1, .age_ticks = 3 * SECOND / 2};
	if (thread == 0)
		ranks[r].sig = &sigs[r][sig];
}

static void begin(void)
{
	comm.same = 0;
	for (int r = 0; r < 2; r++) {
		make_sigs(r);
		threads[r] = (struct thread){.sig_of = {.at = sig_of, .n = SIGS}};
		step_processes[r] = (struct process){.threads = {.at = &threads[r], .n = 1},
						     .sigs = {.at = sigs[r], .n = SIGS},
						     .open = {.at = open_sigs[r], .cap = 2}};
		step_ranks[r] = &step_processes[r];
		processes[r] = (struct live_process){.threads = {.at = live_threads[r], .cap = 2}};
		nodes[r] = (struct live_node){.samples = 9,
					      .realtime_ns = 100 * SECOND,
					      .interval_ns = SECOND,
					      .gap_ns = SECOND,
					      .ns_per_tick = 1};
		node_states[r] = NODE_SAMPLED;
		ranks[r] = (struct live_rank){.state = LIVE_MPI,
					      .still = true,
					      .since_s = 1.5,
					      .off_processor = NAN,
					      .node = &nodes[r],
					      .process = &processes[r]};
	}
	is_in(0, 0, RECEIVE);
	is_in(1, 0, FINALIZE);
	l = (struct snapshot){
		.step = {.nranks = 2, .ranks = step_ranks, .comms = {.at = &comm, .n = 1}, .ops = {.at = ops, .n = 9}},
		.realtime_ns = 100 * SECOND,
		.nodes = {.at = nodes, .n = 2},
		.node_states = {.at = node_states, .n = 2},
		.ranks = {.at = ranks, .n = 2}};
}

static void end(void)
{
	states_of_done(&l.states);
	cores_done(&l.cores);
	cores_done(&l.possible);
	for (size_t i = 0; i < l.waited_for.n; i++)
		free(l.waited_for.at[i].ranks.at);
	vec_done(&l.waited_for);
	for (int r = 0; r < 2; r++)
		vec_done(&step_processes[r].started);
}

/* How many deadlocks there are. */
static size_t look_again(void)
{
	end();
	cr_assert_eq(snapshot_waits(&l), 0);
	cr_assert_eq(l.stuck, l.cores.at.n > 0);
	return l.cores.at.n;
}

static void why_is(const char *expected)
{
	char *why = live_why(&l, &l.cores.at.at[0]);
	cr_assert_str_eq(why, expected);
	free(why);
}

Test(live_waits, who_receives_from_one_that_has_left_waits_for_ever, .init = begin, .fini = end)
{
	cr_assert_eq(look_again(), 1);
	why_is("rank 0 in MPI_Recv from rank 1, tag 0 for 1.50 s; rank 1 in MPI_Finalize for 1.50 s");
	ranks[1].state = LIVE_ENDED;
	cr_assert_eq(look_again(), 1);
}

/* MPI_THREAD_MULTIPLE: another thread may send, if there is one. */
Test(live_waits, who_may_have_more_threads_is_in_no_certain_deadlock, .init = begin, .fini = end)
{
	is_in(1, 0, RECEIVE);
	step_processes[1].thread_level = 3;
	for (int64_t others = -1; others <= 1; others++) {
		processes[1].other_threads = others;
		cr_assert_eq(look_again(), others == 0 ? 1 : 0);
		cr_assert_eq(l.possible.at.n, others == 0 ? 0 : 1);
	}
	step_processes[1].thread_level = 2; /* only one at a time, and one is in a call */
	cr_assert_eq(look_again(), 1);
	step_processes[1].thread_level = 4096;
	ranks[1].state = LIVE_ENDED; /* nobody sends behind MPI_Finalize */
	cr_assert_eq(look_again(), 1);
}

/* The message was sent in the last interval, and the receiver has not seen it yet. */
Test(live_waits, who_has_only_just_left_may_have_sent_it, .init = begin, .fini = end)
{
	ranks[1].still = false;
	cr_assert_eq(look_again(), 0);
	ranks[1].state = LIVE_ENDED;
	cr_assert_eq(look_again(), 0);
	live_threads[0][0].age_ticks = 10000 * SECOND; /* however long it has waited */
	cr_assert_eq(look_again(), 0);
}

/* Its message may lie there since long: it takes it when it is continued, or gets a processor. */
Test(live_waits, who_is_stopped_by_a_signal_can_go_on, .init = begin, .fini = end)
{
	live_threads[0][0].has_system = live_threads[0][0].known_before = true;
	live_threads[0][0].system = (struct mpic_system){.run_state = 'T', .cpu_ns = 5000000};
	cr_assert_eq(look_again(), 0);
	live_threads[0][0].system = (struct mpic_system){.run_state = 'R', .wait_ns = SECOND};
	cr_assert_eq(look_again(), 0);
	live_threads[0][0].system = (struct mpic_system){.run_state = 'R', .wait_ns = SECOND, .cpu_ns = 5000000};
	cr_assert_eq(look_again(), 1);
}

Test(live_waits, two_that_receive_from_each_other_are_a_cycle, .init = begin, .fini = end)
{
	is_in(1, 0, RECEIVE);
	cr_assert_eq(look_again(), 1);
	cr_assert(l.cores.at.at[0].cycle);
	why_is("rank 0 in MPI_Recv from rank 1, tag 0 for 1.50 s; rank 1 in MPI_Recv from rank 0, tag 0 for 1.50 s");
}

/* ---- requests ---- */

/* Rank 0 is in Waitall for the request with serial 0, which was started by that signature; behind it `more`. */
static void waits_for_request(uint32_t started, uint32_t more)
{
	is_in(0, 0, WAITALL);
	live_threads[0][0].next_serial = 1 + more;
	live_threads[0][0].nstarted = 1 + more;
	live_threads[0][0].started[more] = started;
	is_in(1, 0, RECEIVE);
}

Test(live_waits, two_that_receive_from_each_other_hang_since_the_last_of_them_came, .init = begin, .fini = end)
{
	double since;
	uint64_t key;
	is_in(1, 0, RECEIVE);
	ranks[0].since_s = ranks[1].since_s = 1.5;
	cr_assert_eq(look_again(), 1);
	cr_expect_not(verdict_hangs(&l, 1.6, &since, &key), "it does so for 1.5 s");
	cr_assert(verdict_hangs(&l, 1.4, &since, &key));
	cr_expect_float_eq(since, 98.5, 1e-6);
	cr_expect_neq(key, 0);
	for (const char *state = "TtD"; *state != '\0'; state++) {
		live_threads[1][0].has_system = true;
		live_threads[1][0].system.run_state = (uint8_t)*state;
		cr_expect_not(verdict_hangs(&l, 1.4, &since, &key), "somebody is stopped: %c", *state);
	}
	live_threads[1][0].system.run_state = 'S';
	cr_expect(verdict_hangs(&l, 1.4, &since, &key));
	is_in(1, 0, BCAST);
	step_processes[1].open.n = 0;
	ranks[1].state = LIVE_USEFUL;
	look_again();
	cr_expect_not(verdict_hangs(&l, 0, &since, &key), "it may come back");
}

Test(live_waits, a_wait_needs_whom_its_request_names, .init = begin, .fini = end)
{
	waits_for_request(IRECV, 3);
	cr_assert_eq(look_again(), 1);
	why_is("rank 0 in MPI_Waitall for 1 request for 1.50 s, needs a message from rank 1 with tag 0; rank 1 in "
	       "MPI_Recv "
	       "from rank 0, tag 0 for 1.50 s");
	waits_for_request(IRECV, 0);
	live_threads[0][0].nstarted = 0; /* it is not known */
	cr_assert_eq(look_again(), 0);
	waits_for_request(WAITALL, 0); /* nothing that starts one */
	cr_assert_eq(look_again(), 0);
	waits_for_request(99, 0);
	cr_assert_eq(look_again(), 0);
}

/* What rank 1 receives is what the request sends. */
Test(live_waits, a_send_that_is_being_received_can_end, .init = begin, .fini = end)
{
	waits_for_request(SMALL_ISEND, 0);
	cr_assert_eq(look_again(), 0);
	sigs[1][RECEIVE].call.tag = 9;
	cr_assert_eq(look_again(), 1);
}

/* Of two requests one is complete, and it is not known which: whoever can serve one may let it go on. */
Test(live_waits, of_several_requests_any_may_be_the_last, .init = begin, .fini = end)
{
	waits_for_request(IRECV, 1);
	live_threads[0][0].started[0] = IRECV;
	sigs[0][WAITALL].call.requests = 2;
	waited_for[0] = SIG_RUN_ABSOLUTE | SIG_RUN_OTHER_THREAD | 2ull << 40;
	cr_assert_eq(look_again(), 1);
	live_threads[0][0].started[0] = 99; /* the other one may be anybody's */
	cr_assert_eq(look_again(), 0);
	waited_for[0] = SIG_RUN_ABSOLUTE | SIG_RUN_OTHER_THREAD | 1ull << 40;
}

/* Rank 1 has not come to the barrier that rank 0 has begun; where a broadcast may have been called since, it is not
 * known which one that is. */
Test(live_waits, a_wait_for_a_nonblocking_collective_needs_who_has_not_begun_it, .init = begin, .fini = end)
{
	waits_for_request(IBARRIER, 0);
	live_threads[0][0].totals.n = 0;
	sigs[0][IBARRIER].calls = 1;
	cr_assert_eq(look_again(), 1);
	why_is("rank 0 in MPI_Waitall for 1 request for 1.50 s, needs rank 1's MPI_Ibarrier; rank 1 in MPI_Recv from "
	       "rank 0, "
	       "tag 0 for 1.50 s");
	sigs[1][IBARRIER].calls = 1;
	cr_assert_eq(look_again(), 0);
	sigs[1][IBARRIER].calls = 0;
	sigs[0][BCAST].calls = 1;
	cr_assert_eq(look_again(), 0);
}

/* ---- communicators ---- */

Test(live_waits, who_makes_a_communicator_needs_all_members_there, .init = begin, .fini = end)
{
	is_in(0, 0, DUP);
	is_in(1, 0, RECEIVE);
	cr_assert_eq(look_again(), 1);
	why_is("rank 0 in MPI_Comm_dup for 1.50 s, needs rank 1's MPI_Comm_dup; rank 1 in MPI_Recv from rank 0, tag 0 "
	       "for "
	       "1.50 s");
	is_in(1, 0, DUP);
	cr_assert_eq(look_again(), 0);
}

/* ---- threads ---- */

/* Whatever it is that they wait for: nothing moves. But a server may wait for its clients as long as it likes. */
Test(live_waits, all_in_calls_for_a_minute_are_stuck_but_not_with_a_server, .init = begin, .fini = end)
{
	is_in(0, 0, WIN_WAIT);
	is_in(1, 0, RECEIVE);
	for (int way = 0; way < 3; way++) {
		end();
		ranks[0].since_s = ranks[1].since_s = way == 0 ? 59 : 61;
		if (way == 2)
			is_in(0, 0, ACCEPT);
		cr_assert_eq(snapshot_waits(&l), 0);
		cr_expect_eq(l.cores.at.n, 0);
		cr_expect_eq(l.stuck, way == 1, "%d", way);
	}
}

Test(live_waits, a_rank_goes_on_as_long_as_one_of_its_threads_can, .init = begin, .fini = end)
{
	is_in(1, 0, RECEIVE);
	is_in(1, 1, RECEIVE);
	cr_assert_eq(look_again(), 1);
	why_is("rank 0 in MPI_Recv from rank 1, tag 0 for 1.50 s; rank 1 thread 0 in MPI_Recv from rank 0, tag 0 for "
	       "1.50 s; rank 1 thread 1 in MPI_Recv from rank 0, tag 0 for 1.50 s");
	live_threads[1][1].still = 0;
	cr_assert_eq(look_again(), 0);
	live_threads[1][1].open = false;
	cr_assert_eq(look_again(), 0);
	live_threads[1][0].has_system = true; /* that thread is none any more */
	live_threads[1][0].system.cpu_ns = 5000000;
	cr_assert_eq(look_again(), 1);
}

/* ---- samples of nodes that are not of one moment ---- */

/* Each receives from the other; node 1 is `ahead` seconds further, and rank 1 is in its call for `since_s`. */
static void apart(int64_t ahead, double since_s)
{
	end();
	begin();
	nodes[1].realtime_ns += ahead * SECOND;
	is_in(1, 0, RECEIVE);
	ranks[1].since_s = since_s;
	live_threads[1][0].age_ticks = (uint64_t)(since_s * SECOND);
	l.realtime_ns = nodes[1].realtime_ns;
}

Test(live_waits, a_deadlock_is_one_also_while_one_node_is_a_sample_ahead, .fini = end)
{
	for (int64_t ahead = 0; ahead < 4; ahead++) {
		apart(ahead, 9);
		cr_expect_eq(look_again(), 1, "%d samples ahead", (int)ahead);
	}
}

/* At the last moment that both have sampled rank 1 was outside of MPI: it may have sent what rank 0 takes next. */
Test(live_waits, who_is_ahead_counts_as_of_the_last_common_moment, .fini = end)
{
	apart(1, 1.9);
	cr_expect_eq(look_again(), 0);
	apart(1, 2.1);
	cr_expect_eq(look_again(), 1);
}

/* Its agent took no sample since: it has left all the same. */
Test(live_waits, who_waits_for_a_node_that_has_ended_waits_for_ever, .fini = end)
{
	apart(5, 9);
	nodes[0].realtime_ns = 200 * SECOND;
	l.realtime_ns = 200 * SECOND;
	node_states[1] = NODE_ENDED;
	ranks[1].state = LIVE_ENDED;
	cr_expect_eq(look_again(), 1);
}

Test(live_waits, who_ended_behind_the_last_common_moment_may_have_sent_it, .fini = end)
{
	for (uint64_t ran = 5; ran < 8; ran++) { /* of nine samples, of which the last is not there of the other node */
		apart(1, 9);
		processes[1].ran = ran;
		ranks[1].state = LIVE_ENDED;
		cr_expect_eq(look_again(), ran == 5, "%d", (int)ran);
	}
	apart(1, 9);
	ranks[1].state = LIVE_ENDED;
	ranks[1].process = NULL; /* its file says so, and no sample has it */
	cr_expect_eq(look_again(), 1);
}
