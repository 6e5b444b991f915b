/* open.c - the calls that threads are in, as an agent reads them from the memory of a process: each shape's words say,
 * decoded, what the program stored; who is in none, or goes on meanwhile, is in none; and what was started last. */
#include "collect/open.h"

#include "format/mpic.h"
#include "format/sig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3
#define OP 77u
#define HANDLE 0x44000000u
#define COMM 5u
#define ADDRESS 0x401234u
#define PROC_NULL (-9)
#define ANY_SOURCE (-8)

static union {
	struct thread_area area;
	uint64_t words[512];
} areas[THREADS];
static struct drained_thread threads[THREADS];
static struct segfile file;
static struct process process = {.file = &file, .threads = threads, .nthreads = THREADS};

static void begin(void)
{
	file.proc_null = PROC_NULL;
	file.any_source = ANY_SOURCE;
	for (uint32_t i = 0; i < THREADS; i++)
		threads[i].area = &areas[i].area;
	file.comms[open_comm_place(HANDLE, OPEN_COMM_PLACES - 1)] = (struct open_comm){HANDLE, COMM};
}

TestSuite(open, .init = begin);

static struct open_words *enter(uint32_t thread, uint32_t sig, uint64_t tick)
{
	struct open_call *open = (void *)((char *)&areas[thread] + THREAD_OPEN_OFFSET);
	*open = (struct open_call){.inside = 1, .sig = sig, .enter_tick = tick};
	areas[thread].area.open.address = ADDRESS;
	areas[thread].area.open.comm = HANDLE;
	return &areas[thread].area.open;
}

/* What a reader of the trace makes of it. */
static struct sig_call decoded(uint32_t thread)
{
	static struct open_now now;
	struct sig_call call;
	cr_assert(open_call_now(&process, thread, &now));
	cr_assert_eq(sig_decode(now.words, now.nwords, &call), 0);
	cr_expect(!call.unknown);
	cr_expect_eq(call.nwords, now.nwords);
	cr_expect_eq(call.op, OP);
	return call;
}

Test(open, of_a_thread_outside_of_MPI_there_is_none)
{
	struct open_now now;
	cr_expect(!open_call_now(&process, 0, &now));
	cr_expect_null(open_calls(&process));
}

Test(open, one_that_was_made_before_is_its_signature)
{
	struct open_now now;
	enter(1, 42, 1000);
	cr_assert(open_call_now(&process, 1, &now));
	cr_expect_eq(now.sig, 42);
	cr_expect_eq(now.nwords, 0);
	cr_expect_eq(now.enter_tick, 1000);
}

Test(open, a_receive_has_its_source_tag_and_communicator)
{
	struct open_words *w = enter(0, open_by_name(OP, SIG_RECV, 0), 9);
	w->peer = 3;
	w->tag = 17;
	struct sig_call call = decoded(0);
	cr_expect_eq(call.shape, SIG_RECV);
	cr_expect_eq(call.address, ADDRESS);
	cr_expect_eq(call.comm, COMM);
	cr_expect_eq(call.peer, 3);
	cr_expect_eq(call.tag, 17);
	cr_expect_eq(call.flags, 0);
}

Test(open, the_librarys_wildcards_are_those_of_the_trace)
{
	struct open_words *w = enter(0, open_by_name(OP, SIG_RECV, 0), 9);
	w->peer = ANY_SOURCE;
	w->tag = -1;
	cr_expect_eq(decoded(0).peer, SIG_ANY);
	cr_expect_eq(decoded(0).flags, SIG_ANY_SOURCE | SIG_ANY_TAG);
	w->peer = PROC_NULL;
	w->tag = 0;
	cr_expect_eq(decoded(0).peer, SIG_PROC_NULL);
	cr_expect_eq(decoded(0).flags, 0);
	enter(0, open_by_name(OP, SIG_PROBE, 0), 9)->peer = ANY_SOURCE;
	cr_expect_eq(decoded(0).flags, SIG_ANY_SOURCE);
}

Test(open, a_send_has_no_wildcards)
{
	struct open_words *w = enter(0, open_by_name(OP, SIG_SEND, 0), 9);
	w->peer = 2;
	w->tag = -1; /* of a hostile program */
	struct sig_call call = decoded(0);
	cr_expect_eq(call.shape, SIG_SEND);
	cr_expect_eq(call.peer, 2);
	cr_expect_eq(call.flags, 0);
}

Test(open, of_both_ways_each_has_its_own_peer_and_tag)
{
	struct open_words *w = enter(2, open_by_name(OP, SIG_SENDRECV, 0), 9);
	w->peer = 1;
	w->tag = 10;
	w->recv_peer = ANY_SOURCE;
	w->recv_tag = 20;
	struct sig_call call = decoded(2);
	cr_expect_eq(call.peer, 1);
	cr_expect_eq(call.tag, 10);
	cr_expect_eq(call.recv_peer, SIG_ANY);
	cr_expect_eq(call.recv_tag, 20);
	cr_expect_eq(call.flags, SIG_ANY_SOURCE);
}

Test(open, a_collective_has_its_kind_and_root)
{
	struct open_words *w = enter(0, open_by_name(OP, SIG_COLL, COLL_BCAST), 9);
	w->peer = 3;
	w->tag = 12345; /* left by another call */
	struct sig_call call = decoded(0);
	cr_expect_eq(call.coll, COLL_BCAST);
	cr_expect_eq(call.comm, COMM);
	cr_expect_eq(call.peer, 3);
	cr_expect_eq(call.send_unit_bytes, 0);
}

Test(open, what_makes_a_communicator_has_its_parent_and_no_child_yet)
{
	enter(0, open_by_name(OP, SIG_COMM, 0), 9);
	struct sig_call call = decoded(0);
	cr_expect_eq(call.comm, COMM);
	cr_expect_eq(call.new_comm, SIG_NO_COMM);
}

Test(open, a_communicator_that_nobody_knows_is_none)
{
	enter(0, open_by_name(OP, SIG_SEND, 0), 9)->comm = HANDLE + 1;
	cr_expect_eq(decoded(0).comm, SIG_NO_COMM);
}

Test(open, a_one_sided_call_has_its_window_target_and_lock)
{
	struct open_words *w = enter(0, open_by_name(OP, SIG_RMA, RMA_LOCK), 9);
	w->comm = 6; /* the window */
	w->peer = 1;
	w->tag = 8;
	w->recv_tag = 2;
	struct sig_call call = decoded(0);
	cr_expect_eq(call.rma, RMA_LOCK);
	cr_expect_eq(call.object, 6);
	cr_expect_eq(call.peer, 1);
	cr_expect_eq(call.assertion, 8);
	cr_expect_eq(call.lock_type, 2);
	cr_expect_eq(call.nlist, 0);
}

Test(open, a_start_has_its_group_as_long_as_there_is_room)
{
	struct open_words *w = enter(0, open_by_name(OP, SIG_RMA, RMA_START), 9);
	const uint64_t group[] = {4, 5, 6};
	w->nrequests = 3;
	memcpy(w->requests, group, sizeof(group));
	struct sig_call call = decoded(0);
	cr_assert_eq(call.nlist, 3);
	cr_expect_arr_eq(call.list, group, sizeof(group));
	w->nrequests = OPEN_GROUP_MAX;
	cr_expect_eq(decoded(0).nlist, OPEN_GROUP_MAX);
	w->nrequests = OPEN_GROUP_MAX + 1;
	cr_expect_eq(decoded(0).nlist, 0);
	enter(0, open_by_name(OP, SIG_RMA, RMA_POST), 9)->nrequests = 3;
	cr_expect_eq(decoded(0).nlist, 0, "that is Start's");
}

Test(open, who_waits_for_requests_names_each_with_its_thread)
{
	struct open_words *w = enter(0, open_by_name(OP, SIG_COMPLETE, 0), 9);
	w->nrequests = 2;
	w->requests[0] = (struct open_request){100, 0};
	w->requests[1] = (struct open_request){7, 2};
	struct sig_call call = decoded(0);
	struct sig_run run;
	uint32_t at = 0;
	cr_expect_eq(call.requests, 2);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(sig_next_run(&call, &at, &run), 1);
		cr_expect(run.absolute && run.other_thread && run.count == 1);
		cr_expect_eq(run.value, i == 0 ? 100 : 7);
		cr_expect_eq(run.thread, i == 0 ? 0 : 2);
	}
	cr_expect_eq(sig_next_run(&call, &at, &run), 0);
	w->nrequests = OPEN_REQUESTS_MAX + 1; /* more than there are places for, or hostile */
	cr_expect_eq(decoded(0).requests, 0);
}

Test(open, of_any_other_call_only_the_operation_is_known)
{
	struct open_now now;
	enter(0, open_by_name(OP, SIG_TIME, 0), 9);
	cr_assert(open_call_now(&process, 0, &now));
	cr_expect_eq(now.nwords, 2);
	cr_expect_eq(now.words[0], sig_head(OP, SIG_TIME, 0, 0, 0, 0));
	cr_expect_eq(now.words[1], 0);
}

Test(open, all_of_a_process_are_listed_by_thread)
{
	enter(0, 42, 1000);
	enter(2, open_by_name(OP, SIG_COMM, 0), 2000);
	threads[1].area = NULL;
	cJSON *list = open_calls(&process);
	cr_assert_eq(cJSON_GetArraySize(list), 2);
	const cJSON *first = cJSON_GetArrayItem(list, 0), *second = cJSON_GetArrayItem(list, 1);
	cr_expect_eq(cJSON_GetObjectItem(first, "thread")->valueint, 0);
	cr_expect_eq(cJSON_GetObjectItem(first, "sig")->valueint, 42);
	cr_expect_str_eq(cJSON_GetObjectItem(first, "enter_tick")->valuestring, "1000");
	cr_expect_null(cJSON_GetObjectItem(first, "words"));
	cr_expect_eq(cJSON_GetObjectItem(second, "thread")->valueint, 2);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(second, "words")), 3);
	cr_expect_str_eq(cJSON_GetArrayItem(cJSON_GetObjectItem(second, "words"), 1)->valuestring, "401234");
	cJSON_Delete(list);
}

/* ---- what was started ---- */

static void start(uint64_t serial, uint32_t sig)
{
	areas[0].words[THREAD_STARTED_OFFSET / 8 + serial % THREAD_STARTED] = started_word(serial, sig);
}

static uint32_t started(uint64_t *ret_next, uint32_t *sigs)
{
	return started_now(&process, 0, ret_next, sigs);
}

Test(open, the_last_requests_are_told_with_the_newest_first)
{
	uint64_t next = 99;
	uint32_t sigs[THREAD_STARTED];
	cr_expect_eq(started(&next, sigs), 0);
	cr_expect_eq(next, 0);
	for (uint64_t serial = 0; serial < THREAD_STARTED + 5; serial++)
		start(serial, (uint32_t)serial + 1000);
	cr_assert_eq(started(&next, sigs), THREAD_STARTED);
	cr_expect_eq(next, THREAD_STARTED + 5);
	for (uint32_t i = 0; i < THREAD_STARTED; i++)
		cr_expect_eq(sigs[i], THREAD_STARTED + 4 - i + 1000);
}

/* Of a program that is in the middle of it, or hostile. */
Test(open, behind_one_that_is_missing_nothing_is_told)
{
	uint64_t next;
	uint32_t sigs[THREAD_STARTED];
	for (uint64_t serial = 0; serial < 10; serial++)
		start(serial, 1);
	areas[0].words[THREAD_STARTED_OFFSET / 8 + 6] = 0;
	cr_expect_eq(started(&next, sigs), 3);
	cr_expect_eq(next, 10);
	areas[0].words[THREAD_STARTED_OFFSET / 8 + 20] = started_word(50, 1); /* not its place */
	cr_expect_eq(started(&next, sigs), 3);
	cr_expect_eq(next, 10);
	start(9, MPIC_SIGS_MAX); /* no such signature */
	cr_expect_eq(started(&next, sigs), 0);
}
