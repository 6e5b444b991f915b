/* pmpi_stream.c - what the tracer keeps when there is much of it: calls that are all different, more than its segments
 * hold, threads that come and go, and pauses that the program asks for. On a stub of MPI. */
#include "traced.h"

#include "pmpi/stream.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/resource.h>

static int value;

/* One call site, wherever it is called from. */
static __attribute__((noinline)) void send(int tag)
{
	CALL(MPI_Send, &value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
	__asm__ volatile(""); /* no tail call, which would return to the caller */
}

/* A call that comes again is a definition; one that comes once carries its words. */
Test(stream, of_calls_that_never_come_again_nothing_is_lost)
{
	enum { N = 3000 };
	traced_begin(MPI_THREAD_SINGLE);
	for (int i = 0; i < N; i++)
		send(i);
	for (int i = 0; i < N; i++)
		send(i);
	const struct traced *t = traced_end();
	cr_assert_eq(t->lost, 0);
	cr_assert_eq(traced_count(t, "MPI_Send"), 2 * N);
	unsigned literal = 0, at = 0;
	for (size_t i = 0; i < t->ncalls; i++) {
		if (t->calls[i].sig.shape != SIG_SEND)
			continue;
		cr_assert_eq(t->calls[i].sig.tag, (int)(at++ % N));
		literal += t->calls[i].literal;
	}
	cr_assert_gt(literal, N / 2, "%u", literal);
	cr_assert_lt(literal, 2 * N - STREAM_FIRST_SIGHT, "%u", literal);
	cr_assert_eq(t->counted, 2 * N + 2);
}

/* More than the ring holds while nobody drains it. */
Test(stream, times_go_up_and_calls_keep_their_order)
{
	enum { N = 100000 };
	traced_begin(MPI_THREAD_SINGLE);
	for (int i = 0; i < N; i++)
		send(i);
	const struct traced *t = traced_end();
	uint64_t last = 0;
	int at = 0;
	cr_assert_eq(traced_count(t, "MPI_Send") + t->lost, N);
	cr_assert_eq(t->lost, 0, "%llu", (unsigned long long)t->lost);
	cr_assert_gt(t->spilled, 0, "nobody drained it while it ran");
	for (size_t i = 0; i < t->ncalls; i++) {
		cr_assert_geq(t->calls[i].enter, last);
		cr_assert_geq(t->calls[i].exit, t->calls[i].enter);
		last = t->calls[i].exit;
		if (t->calls[i].sig.shape == SIG_SEND)
			cr_assert_eq(t->calls[i].sig.tag, at++);
	}
}

/* As after chroot or setuid: what is there may be written no further. */
Test(stream, what_may_not_be_written_is_lost_for_that_reason)
{
	enum { N = 100000 };
	struct rlimit before;
	traced_begin(MPI_THREAD_SINGLE);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, before.rlim_max}), 0);
	for (int i = 0; i < N; i++)
		send(i);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	cr_expect_eq(stream_mine->area->lost_reason, LOST_SPILL_REFUSED);
	const struct traced *t = traced_end();
	cr_expect_gt(t->lost, 0);
	cr_expect_eq(traced_count(t, "MPI_Send") + t->lost, N);
}

Test(stream, of_a_pause_calls_are_counted_and_said_to_be_lost)
{
	traced_begin(MPI_THREAD_SINGLE);
	send(1);
	CALL(MPI_Pcontrol, 0);
	for (int i = 0; i < 5; i++)
		send(2);
	CALL(MPI_Pcontrol, 1);
	send(3);
	const struct traced *t = traced_end();
	cr_assert_eq(traced_count(t, "MPI_Send"), 2);
	cr_assert_eq(t->lost, 6, "the five, and the call that ended it: %llu", (unsigned long long)t->lost);
	cr_assert_eq(t->counted, 7 + 2 + 2);
}

static void *one_call(void *context)
{
	send((int)(intptr_t)context);
	return NULL;
}

/* A lane is the stream of one thread after the other. The kernel may know a thread for a moment after it was joined:
 * the next one then has a lane of its own, and the order in the file is that of lanes. */
Test(stream, threads_that_come_and_go_are_all_there)
{
	enum { N = 40 };
	unsigned seen[N] = {0};
	traced_begin(MPI_THREAD_MULTIPLE);
	for (int i = 0; i < N; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, one_call, (void *)(intptr_t)i);
		pthread_join(thread, NULL);
	}
	const struct traced *t = traced_end();
	cr_assert_eq(traced_count(t, "MPI_Send"), N);
	for (unsigned i = 0; i < N; i++) {
		const struct traced_call *c = traced_call(t, "MPI_Send", i);
		cr_assert_eq(seen[c->sig.tag]++, 0, "call %d twice", c->sig.tag);
		cr_assert_neq(c->thread, 0, "MPI_Init was another thread's");
	}
}

/* Else the agent says of a thread that it waits in a call that has returned. */
Test(stream, behind_a_poll_a_thread_is_in_no_call)
{
	int found = 1;
	traced_begin(MPI_THREAD_SINGLE);
	for (int i = 0; i < 2; i++) {
		CALL(MPI_Iprobe, 0, i, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
		cr_assert_eq(stream_mine->open.inside, 0);
	}
	traced_end();
	cr_assert_eq(found, 0);
}

Test(stream, polls_of_different_calls_are_events_of_their_own)
{
	int flag;
	traced_begin(MPI_THREAD_SINGLE);
	for (int i = 0; i < 6; i++)
		CALL(MPI_Iprobe, 0, i / 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	send(1);
	CALL(MPI_Iprobe, 0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	const struct traced *t = traced_end();
	cr_assert_eq(traced_count(t, "MPI_Iprobe"), 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct traced_call *c = traced_call(t, "MPI_Iprobe", i);
		cr_assert_neq(c->sig.flags & SIG_POLLS, 0);
		cr_assert_eq(c->extra[0], i < 2 ? 3 : 1);
		cr_assert_eq(c->sig.tag, i > 0);
	}
	cr_assert_leq(traced_call(t, "MPI_Iprobe", 1)->exit, traced_call(t, "MPI_Send", 0)->enter);
}
