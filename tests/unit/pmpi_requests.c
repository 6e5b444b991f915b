/* pmpi_requests.c - which requests the tracer says that a call starts, names and completes, on a stub of MPI. */
#include "traced.h"

#include <criterion/criterion.h>
#include <pthread.h>

static int value;

static MPI_Request start_recv(int source, int tag)
{
	MPI_Request r;
	CALL(MPI_Irecv, &value, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &r);
	return r;
}

static void start(MPI_Request *requests, int n)
{
	for (int i = 0; i < n; i++)
		requests[i] = start_recv(0, 1);
}

static void assert_run(const struct traced_call *c, unsigned n, uint64_t value_, uint32_t count, bool descending)
{
	struct sig_run run = traced_run(c, n);
	cr_assert_eq(run.value, value_, "run %u begins at %llu", n, (unsigned long long)run.value);
	cr_assert_eq(run.count, count, "run %u has %u", n, run.count);
	cr_assert_eq(run.descending, descending);
	cr_assert_not(run.absolute);
	cr_assert_not(run.other_thread);
}

Test(requests, a_wait_says_how_many_were_started_since_its_own)
{
	MPI_Request r[3];
	traced_begin(MPI_THREAD_SINGLE);
	start(r, 3);
	CALL(MPI_Wait, &r[1], MPI_STATUS_IGNORE);
	CALL(MPI_Wait, &r[2], MPI_STATUS_IGNORE);
	CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
	const struct traced *t = traced_end();
	assert_run(traced_call(t, "MPI_Wait", 0), 0, 2, 1, false);
	assert_run(traced_call(t, "MPI_Wait", 1), 0, 1, 1, false);
	assert_run(traced_call(t, "MPI_Wait", 2), 0, 3, 1, false);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(traced_call(t, "MPI_Wait", i)->sig.nruns, 1);
		cr_assert_eq(traced_call(t, "MPI_Wait", i)->sig.nlist, 0, "nobody asked for its status");
		cr_assert_neq(traced_call(t, "MPI_Irecv", i)->sig.flags & SIG_STARTS_REQUEST, 0);
	}
}

Test(requests, those_that_go_up_or_down_by_one_are_one_run)
{
	MPI_Request r[8];
	traced_begin(MPI_THREAD_SINGLE);
	start(r, 8);
	MPI_Request mixed[8] = {r[0], r[1], r[2], r[7], r[6], r[5], r[3], MPI_REQUEST_NULL};
	CALL(MPI_Waitall, 8, mixed, MPI_STATUSES_IGNORE);
	CALL(MPI_Wait, &r[4], MPI_STATUS_IGNORE);
	const struct traced *t = traced_end();
	const struct traced_call *all = traced_call(t, "MPI_Waitall", 0);
	cr_assert_eq(all->sig.requests, 8, "of the array, with what is null");
	cr_assert_eq(all->sig.nruns, 3);
	assert_run(all, 0, 8, 3, false);
	assert_run(all, 1, 1, 3, true);
	assert_run(all, 2, 5, 1, false);
}

/* The same call site: what was recorded before is found again, or not. */
Test(requests, a_loop_of_waits_names_the_right_ones_whatever_their_order)
{
	MPI_Request r[3];
	traced_begin(MPI_THREAD_SINGLE);
	for (int round = 0; round < 6; round++) {
		start(r, 3);
		MPI_Request swapped = r[1];
		if (round == 3) {
			r[1] = r[2];
			r[2] = swapped;
		} else if (round == 4) {
			r[1] = r[0];
			r[0] = swapped;
		}
		CALL(MPI_Waitall, 3, r, MPI_STATUSES_IGNORE);
	}
	const struct traced *t = traced_end();
	for (unsigned round = 0; round < 6; round++) {
		const struct traced_call *c = traced_call(t, "MPI_Waitall", round);
		cr_assert_eq(c->sig.nruns, round == 3 || round == 4 ? 2 : 1, "round %u", round);
		if (round == 3) {
			assert_run(c, 0, 3, 1, false);
			assert_run(c, 1, 1, 2, true);
		} else if (round == 4) {
			assert_run(c, 0, 2, 2, true);
			assert_run(c, 1, 1, 1, false);
		} else {
			assert_run(c, 0, 3, 3, false);
		}
	}
}

Test(requests, more_than_sixteen_are_named_too)
{
	MPI_Request r[40];
	traced_begin(MPI_THREAD_SINGLE);
	start(r, 40);
	CALL(MPI_Waitall, 16, r, MPI_STATUSES_IGNORE);
	CALL(MPI_Waitall, 24, r + 16, MPI_STATUSES_IGNORE);
	const struct traced *t = traced_end();
	assert_run(traced_call(t, "MPI_Waitall", 0), 0, 40, 16, false);
	assert_run(traced_call(t, "MPI_Waitall", 1), 0, 24, 24, false);
}

/* One call: its time is in the first part alone. */
Test(requests, of_a_very_long_array_go_on_in_a_second_event_without_duration)
{
	enum { N = 1030 };
	static MPI_Request r[N];
	traced_begin(MPI_THREAD_SINGLE);
	CALL(MPI_Send_init, &value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r[0]);
	for (int i = 1; i < N; i++)
		r[i] = r[0];
	CALL(MPI_Startall, N, r);
	const struct traced *t = traced_end();
	const struct traced_call *first = traced_call(t, "MPI_Startall", 0), *more = traced_call(t, "MPI_Startall", 1);
	cr_assert_not(first->sig.continues);
	cr_assert(more->sig.continues);
	cr_assert_eq(more->enter, more->exit);
	cr_assert_eq(more->enter, first->exit);
	cr_assert_eq(first->sig.requests, N);
	cr_assert_eq(more->sig.requests, N);
	cr_assert_eq(traced_count(t, "MPI_Startall"), 2);
	cr_assert_eq(t->counted, 4, "counted once: %llu", (unsigned long long)t->counted);
}

Test(requests, that_are_persistent_keep_their_number_through_starts_and_waits)
{
	MPI_Request r, other;
	traced_begin(MPI_THREAD_SINGLE);
	other = start_recv(0, 1);
	CALL(MPI_Send_init, &value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r);
	for (int i = 0; i < 2; i++) {
		CALL(MPI_Start, &r);
		CALL(MPI_Wait, &r, MPI_STATUS_IGNORE);
	}
	stub.persistent = 0;
	CALL(MPI_Request_free, &r);
	CALL(MPI_Wait, &other, MPI_STATUS_IGNORE);
	const struct traced *t = traced_end();
	const char *const named[] = {"MPI_Start", "MPI_Wait", "MPI_Request_free"};
	for (unsigned i = 0; i < 3; i++) {
		struct sig_run run = traced_run(traced_call(t, named[i], 0), 0);
		cr_assert(run.absolute, "%s", named[i]);
		cr_assert_eq(run.value, 1, "%s names %llu", named[i], (unsigned long long)run.value);
	}
	cr_assert_eq(traced_call(t, "MPI_Wait", 1)->sig.nruns, 1);
	assert_run(traced_call(t, "MPI_Wait", 2), 0, 2, 1, false);
	cr_assert_eq(traced_call(t, "MPI_Send_init", 0)->sig.flags & (SIG_STARTS_REQUEST | SIG_PERSISTENT),
		     SIG_STARTS_REQUEST | SIG_PERSISTENT);
}

Test(requests, persistent_and_others_are_no_one_run)
{
	MPI_Request r[2];
	traced_begin(MPI_THREAD_SINGLE);
	r[0] = start_recv(0, 1);
	CALL(MPI_Send_init, &value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r[1]);
	CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
	const struct traced *t = traced_end();
	const struct traced_call *c = traced_call(t, "MPI_Waitall", 0);
	cr_assert_eq(c->sig.nruns, 2);
	assert_run(c, 0, 2, 1, false);
	cr_assert(traced_run(c, 1).absolute);
	cr_assert_eq(traced_run(c, 1).value, 1);
}

static MPI_Request of_others[3];

static void *start_elsewhere(void *context)
{
	(void)context;
	of_others[1] = start_recv(0, 1);
	of_others[2] = start_recv(0, 1);
	return NULL;
}

Test(requests, of_another_thread_are_named_with_that_thread)
{
	pthread_t other;
	traced_begin(MPI_THREAD_MULTIPLE);
	of_others[0] = start_recv(0, 1); /* number 0; those of the other thread are 0 and 1 */
	pthread_create(&other, NULL, start_elsewhere, NULL);
	pthread_join(other, NULL);
	MPI_Request mine = start_recv(0, 1); /* number 1 */
	MPI_Request all[4] = {of_others[0], of_others[2], of_others[1], mine};
	CALL(MPI_Waitall, 4, all, MPI_STATUSES_IGNORE);
	const struct traced *t = traced_end();
	const struct traced_call *c = traced_call(t, "MPI_Waitall", 0);
	cr_assert_eq(c->sig.nruns, 3, "%u runs", c->sig.nruns);
	assert_run(c, 0, 2, 1, false);
	struct sig_run run = traced_run(c, 1);
	cr_assert(run.other_thread);
	cr_assert_eq(run.thread, traced_call(t, "MPI_Irecv", 3)->thread);
	cr_assert_eq(run.value, 1, "an absolute number: %llu", (unsigned long long)run.value);
	cr_assert_eq(run.count, 2);
	cr_assert(run.descending);
	assert_run(c, 2, 1, 1, false);
}

Test(requests, of_wildcard_receives_say_who_sent_what)
{
	MPI_Request r[3];
	traced_begin(MPI_THREAD_SINGLE);
	stub.source = 5, stub.tag = 77, stub.bytes = 4000;
	r[0] = start_recv(0, 1);
	r[1] = start_recv(MPI_ANY_SOURCE, 1);
	r[2] = start_recv(0, MPI_ANY_TAG);
	CALL(MPI_Waitall, 3, r, MPI_STATUSES_IGNORE);
	MPI_Request last = start_recv(0, 1);
	CALL(MPI_Wait, &last, MPI_STATUS_IGNORE);
	const struct traced *t = traced_end();
	const struct traced_call *c = traced_call(t, "MPI_Waitall", 0);
	cr_assert_eq(c->sig.nlist, 2);
	for (unsigned i = 0; i < 2; i++) {
		struct sig_status status = traced_status(c, i);
		cr_assert_eq(status.index, i + 1);
		cr_assert_eq(status.source, 5);
		cr_assert_eq(status.tag, 77);
		cr_assert_eq(status.bytes, 4000);
		cr_assert_not(status.cancelled);
	}
	cr_assert_eq(traced_call(t, "MPI_Irecv", 1)->sig.flags & (SIG_ANY_SOURCE | SIG_ANY_TAG), SIG_ANY_SOURCE);
	cr_assert_eq(traced_call(t, "MPI_Irecv", 2)->sig.flags & (SIG_ANY_SOURCE | SIG_ANY_TAG), SIG_ANY_TAG);
	cr_assert_eq(traced_call(t, "MPI_Wait", 0)->sig.nlist, 0, "no status is wanted any more");
}

/* The program asks for no status: MPI is asked for one all the same. */
Test(requests, of_wildcard_receives_say_who_sent_what_where_one_of_many_is_waited_for)
{
	MPI_Request r[2];
	MPI_Status own;
	int index, flag;
	traced_begin(MPI_THREAD_SINGLE);
	for (int i = 0; i < 2; i++)
		r[i] = start_recv(MPI_ANY_SOURCE, 1);
	stub.source = 5, stub.tag = 77, stub.bytes = 4000;
	stub.ndone = 1;
	stub.done[0] = 1;
	CALL(MPI_Waitany, 2, r, &index, MPI_STATUS_IGNORE);
	stub.source = 6;
	stub.done[0] = 0;
	CALL(MPI_Testany, 2, r, &index, &flag, MPI_STATUS_IGNORE);
	r[0] = start_recv(MPI_ANY_SOURCE, 1);
	stub.source = 7;
	CALL(MPI_Waitany, 2, r, &index, &own);
	cr_assert_eq(own.MPI_SOURCE, 7, "what it asks for is given");
	const struct traced *t = traced_end();
	cr_assert_eq(traced_status(traced_call(t, "MPI_Waitany", 0), 0).source, 5);
	cr_assert_eq(traced_status(traced_call(t, "MPI_Waitany", 0), 0).bytes, 4000);
	cr_assert_eq(traced_status(traced_call(t, "MPI_Testany", 0), 0).source, 6);
	cr_assert_eq(traced_status(traced_call(t, "MPI_Waitany", 1), 0).source, 7);
}

Test(requests, that_were_cancelled_say_what_became_of_them)
{
	MPI_Request r;
	MPI_Status status;
	traced_begin(MPI_THREAD_SINGLE);
	r = start_recv(0, 1);
	CALL(MPI_Cancel, &r);
	CALL(MPI_Wait, &r, &status);
	const struct traced *t = traced_end();
	assert_run(traced_call(t, "MPI_Cancel", 0), 0, 1, 1, false);
	cr_assert_eq(traced_call(t, "MPI_Cancel", 0)->sig.shape, SIG_REQUEST);
	cr_assert_eq(traced_call(t, "MPI_Wait", 0)->sig.nlist, 1);
}

Test(requests, waitsome_names_those_that_were_complete)
{
	MPI_Request r[4];
	int n, indices[4];
	traced_begin(MPI_THREAD_SINGLE);
	start(r, 4);
	stub.ndone = 2;
	stub.done[0] = 3;
	stub.done[1] = 1;
	CALL(MPI_Waitsome, 4, r, &n, indices, MPI_STATUSES_IGNORE);
	stub.ndone = 1;
	stub.done[0] = 2;
	CALL(MPI_Waitany, 4, r, indices, MPI_STATUS_IGNORE);
	stub.done[0] = 0;
	CALL(MPI_Testany, 4, r, indices, &n, MPI_STATUS_IGNORE);
	const struct traced *t = traced_end();
	const struct traced_call *c = traced_call(t, "MPI_Waitsome", 0);
	cr_assert_eq(c->sig.requests, 4);
	cr_assert_eq(c->sig.nruns, 2);
	assert_run(c, 0, 1, 1, false);
	assert_run(c, 1, 3, 1, false);
	assert_run(traced_call(t, "MPI_Waitany", 0), 0, 2, 1, false);
	assert_run(traced_call(t, "MPI_Testany", 0), 0, 4, 1, false);
}

/* What is still there was not completed. */
Test(requests, of_a_call_that_failed_are_those_that_are_gone)
{
	MPI_Request r[4];
	traced_begin(MPI_THREAD_SINGLE);
	start(r, 4);
	stub.error = MPI_ERR_OTHER;
	stub.ndone = 2;
	CALL(MPI_Waitall, 4, r, MPI_STATUSES_IGNORE);
	CALL(MPI_Waitall, 2, r + 2, MPI_STATUSES_IGNORE);
	const struct traced *t = traced_end();
	const struct traced_call *c = traced_call(t, "MPI_Waitall", 0);
	cr_assert_neq(c->sig.flags & SIG_FAILED, 0);
	assert_run(c, 0, 4, 2, false);
	c = traced_call(t, "MPI_Waitall", 1);
	cr_assert_eq(c->sig.flags & SIG_FAILED, 0);
	assert_run(c, 0, 2, 2, false);
}

Test(requests, tests_in_vain_are_one_event_that_counts_them)
{
	MPI_Request r;
	int flag;
	traced_begin(MPI_THREAD_SINGLE);
	r = start_recv(0, 1);
	stub.ndone = 0;
	for (int i = 0; i < 5; i++)
		CALL(MPI_Testall, 1, &r, &flag, MPI_STATUSES_IGNORE);
	stub.ndone = 1;
	CALL(MPI_Testall, 1, &r, &flag, MPI_STATUSES_IGNORE);
	const struct traced *t = traced_end();
	const struct traced_call *vain = traced_call(t, "MPI_Testall", 0), *c = traced_call(t, "MPI_Testall", 1);
	cr_assert_eq(traced_count(t, "MPI_Testall"), 2);
	cr_assert_neq(vain->sig.flags & SIG_POLLS, 0);
	cr_assert_eq(vain->nextra, 2);
	cr_assert_eq(vain->extra[0], 5);
	cr_assert_leq(vain->extra[1], vain->exit - vain->enter);
	cr_assert_eq(vain->sig.nruns, 0);
	cr_assert_eq(c->sig.flags & SIG_POLLS, 0);
	assert_run(c, 0, 1, 1, false);
	cr_assert_eq(t->counted, 9);
}

/* A table that grows, loses and takes again keeps who is who. */
Test(requests, of_many_handles_at_once_keep_their_numbers)
{
	enum { N = 250 };
	MPI_Request r[N];
	traced_begin(MPI_THREAD_SINGLE);
	start(r, N);
	for (int i = 0; i < N; i += 2)
		CALL(MPI_Wait, &r[i], MPI_STATUS_IGNORE);
	for (int i = 1; i < N; i += 2)
		CALL(MPI_Wait, &r[i], MPI_STATUS_IGNORE);
	const struct traced *t = traced_end();
	for (unsigned i = 0; i < N; i++) {
		unsigned serial = i < N / 2 ? 2 * i : 2 * (i - N / 2) + 1;
		assert_run(traced_call(t, "MPI_Wait", i), 0, N - serial, 1, false);
	}
}
