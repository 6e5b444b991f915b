/* sig.c - signatures, word by word as format/sig.h draws them: each shape gives back what was put in, one word less
 * makes an unknown call that keeps its operation and address, and no count reaches beyond the words. */
#include "format/sig.h"

#include <criterion/criterion.h>
#include <string.h>

#define ADDRESS 0x401234u

static uint64_t w[64];
static struct sig_call c;

static void decode(enum sig_shape shape, unsigned flags, unsigned list, unsigned frames, unsigned kind, uint32_t n)
{
	w[0] = sig_head(77, shape, flags, list, frames, kind);
	w[1] = ADDRESS;
	cr_assert_eq(sig_decode(w, n, &c), 0);
	cr_assert_eq(c.op, 77);
	cr_assert_eq(c.address, ADDRESS);
	cr_assert_eq(c.flags, flags);
}

/* Of n words it is that shape, with one less it is unknown. */
static void whole(enum sig_shape shape, unsigned flags, unsigned list, unsigned frames, unsigned kind, uint32_t n)
{
	decode(shape, flags, list, frames, kind, n - 1);
	cr_expect(c.unknown, "shape %d of %u words", shape, n - 1);
	cr_expect_eq(c.shape, SIG_TIME);
	decode(shape, flags, list, frames, kind, n);
	cr_expect_not(c.unknown, "shape %d of %u words", shape, n);
	cr_expect_eq(c.shape, shape);
	cr_expect_eq(c.nwords, n);
	cr_expect_eq(c.nframes, frames);
	cr_expect_eq(c.frames, w + n - frames);
}

Test(sig, a_message_names_its_partner_tag_type_and_count)
{
	w[2] = sig_pair(3, (uint32_t)SIG_PROC_NULL);
	w[3] = sig_pair((uint32_t)-1, 9);
	w[4] = 1ull << 40;
	w[5] = 555;
	whole(SIG_SEND, 0, 0, 0, 0, 5);
	cr_expect_eq(c.comm, 3);
	cr_expect_eq(c.peer, SIG_PROC_NULL);
	cr_expect_eq(c.tag, -1);
	cr_expect_eq(c.datatype, 9);
	cr_expect_eq(c.count, 1ull << 40);
	cr_expect_not(c.partitioned);
	whole(SIG_RECV, SIG_SIZED, 0, 0, 1, 6);
	cr_expect_eq(c.received_bytes, 555);
	cr_expect(c.partitioned);
	whole(SIG_RECV, SIG_SIZED, 0, 2, 0, 8);
}

Test(sig, a_sendrecv_is_a_send_and_a_receive)
{
	w[2] = sig_pair(3, 1), w[3] = sig_pair(10, 20), w[4] = 100;
	w[5] = sig_pair(3, 2), w[6] = sig_pair(11, 21), w[7] = 200, w[8] = 150;
	whole(SIG_SENDRECV, 0, 0, 0, 0, 8);
	cr_expect(c.comm == 3 && c.peer == 1 && c.tag == 10 && c.datatype == 20 && c.count == 100);
	cr_expect(c.recv_peer == 2 && c.recv_tag == 11 && c.recv_datatype == 21 && c.recv_count == 200);
	cr_expect_eq(c.received_bytes, 0);
	whole(SIG_SENDRECV, SIG_SIZED, 0, 0, 0, 9);
	cr_expect_eq(c.received_bytes, 150);
	whole(SIG_SENDRECV, SIG_SIZED, 0, 3, 0, 12);
}

Test(sig, a_probe_says_how_large_what_it_found_is)
{
	w[2] = sig_pair(3, 1), w[3] = sig_pair(10, 0), w[4] = 4096;
	whole(SIG_PROBE, 0, 0, 0, 0, 5);
	cr_expect(c.comm == 3 && c.peer == 1 && c.tag == 10 && c.bytes == 4096);
}

Test(sig, a_completion_names_runs_and_statuses)
{
	struct sig_run run;
	struct sig_status status;
	uint32_t at = 0;
	w[2] = sig_pair(2, 5);
	w[3] = sig_run_word((1ull << 40) - 1, SIG_RUN_COUNT_MAX, SIG_RUN_DESCENDING);
	w[4] = sig_run_word(8, 1, SIG_RUN_ABSOLUTE | SIG_RUN_OTHER_THREAD);
	w[5] = 6;
	w[6] = sig_pair(1, 4), w[7] = sig_pair(9, 1), w[8] = 123;
	whole(SIG_COMPLETE, 0, 1, 0, 0, 9);
	cr_expect_eq(c.requests, 5);
	cr_expect_not(c.continues);
	cr_assert_eq(sig_next_run(&c, &at, &run), 1);
	cr_expect(run.value == (1ull << 40) - 1 && run.count == SIG_RUN_COUNT_MAX && run.descending);
	cr_expect(!run.absolute && !run.other_thread);
	cr_assert_eq(sig_next_run(&c, &at, &run), 1);
	cr_expect(run.value == 8 && run.count == 1 && run.absolute && run.other_thread && !run.descending);
	cr_expect_eq(run.thread, 6);
	cr_expect_eq(sig_next_run(&c, &at, &run), 0);
	sig_status_at(&c, 0, &status);
	cr_expect(status.index == 1 && status.source == 4 && status.tag == 9 && status.cancelled &&
		  status.bytes == 123);
	w[7] = sig_pair(9, 0);
	sig_status_at(&c, 0, &status);
	cr_expect_not(status.cancelled);
}

Test(sig, requests_that_are_only_named_have_no_parts)
{
	w[2] = sig_pair(0, 1);
	whole(SIG_START, 0, 0, 0, 0, 3);
	decode(SIG_START, 0, 0, 0, 1, 3);
	cr_expect(c.continues);
	decode(SIG_REQUEST, 0, 0, 0, 1, 3);
	cr_expect_not(c.continues);
	w[2] = sig_pair(UINT32_MAX, 1);
	decode(SIG_COMPLETE, 0, 0, 0, 0, 60);
	cr_expect(c.unknown, "more runs than words");
	w[2] = sig_pair(0, 1);
	decode(SIG_COMPLETE, 0, 0xffff, 0, 0, 60);
	cr_expect(c.unknown, "more statuses than words");
}

Test(sig, a_collective_has_its_sizes)
{
	w[2] = sig_pair(3, (uint32_t)SIG_ROOT), w[3] = 10, w[4] = 20, w[5] = 30 | 2ull << 48;
	whole(SIG_COLL, 0, 1, 0, COLL_GATHERV, 6);
	cr_expect(c.coll == COLL_GATHERV && c.comm == 3 && c.peer == SIG_ROOT);
	cr_expect(c.send_unit_bytes == 10 && c.recv_unit_bytes == 20);
	cr_expect_eq(c.list, w + 5);
	decode(SIG_COLL, 0, 0, 0, COLL_KINDS - 1, 5);
	cr_expect_not(c.unknown);
	decode(SIG_COLL, 0, 0, 0, COLL_KINDS, 5);
	cr_expect(c.unknown, "of a newer tracer");
}

Test(sig, a_communicator_has_its_parent)
{
	w[2] = sig_pair(3, 8);
	whole(SIG_COMM, 0, 0, 0, 0, 3);
	cr_expect(c.comm == 3 && c.new_comm == 8);
}

/* A split call is counted where it ends. */
Test(sig, a_call_on_a_file_says_how_and_how_much)
{
	w[2] = sig_pair(4, IO_EXPLICIT | IO_COLLECTIVE), w[3] = 100;
	whole(SIG_IO, 0, 0, 0, IO_WRITE, 4);
	cr_expect(c.io == IO_WRITE && c.object == 4 && c.io_how == (IO_EXPLICIT | IO_COLLECTIVE));
	cr_expect(c.bytes == 100 && c.moved_bytes == 100);
	w[2] = sig_pair(4, IO_BEGIN);
	decode(SIG_IO, 0, 0, 0, IO_WRITE, 4);
	cr_expect_eq(c.moved_bytes, 0);
	decode(SIG_IO, 0, 0, 0, IO_KINDS - 1, 4);
	cr_expect_not(c.unknown);
	decode(SIG_IO, 0, 0, 0, IO_KINDS, 4);
	cr_expect(c.unknown);
}

Test(sig, a_one_sided_call_moves_bytes_or_synchronises)
{
	w[2] = sig_pair(4, 2), w[3] = 100, w[4] = 30;
	whole(SIG_RMA, 0, 0, 0, RMA_FETCH, 5);
	cr_expect(c.object == 4 && c.peer == 2 && c.bytes == 100 && c.fetched_bytes == 30 && c.moved_bytes == 130);
	w[2] = sig_pair(4, (uint32_t)SIG_PROC_NULL);
	decode(SIG_RMA, 0, 0, 0, RMA_PUT, 5);
	cr_expect_eq(c.moved_bytes, 0);
	w[3] = sig_pair(16, 2);
	decode(SIG_RMA, 0, 0, 0, RMA_LOCK, 5);
	cr_expect(c.assertion == 16 && c.lock_type == 2 && c.bytes == 0 && c.moved_bytes == 0);
	decode(SIG_RMA, 0, 1, 0, RMA_POST, 5);
	cr_expect(c.unknown, "its group is not there");
	whole(SIG_RMA, 0, 1, 0, RMA_POST, 6);
	decode(SIG_RMA, 0, 0, 0, RMA_KINDS, 5);
	cr_expect(c.unknown);
}

Test(sig, a_coarse_one_says_that_its_words_follow)
{
	decode(SIG_TIME, 0, 1, 0, 0, 2);
	cr_expect(c.literal_follows);
	decode(SIG_TIME, 0, 0, 0, 0, 2);
	cr_expect_not(c.literal_follows);
	decode(SIG_TIME, 0, 0, 1, 0, 2);
	cr_expect(c.unknown, "a frame that is not there");
	decode(SIG_SHAPES, 0, 0, 0, 0, 9);
	cr_expect(c.unknown);
	cr_expect_eq(c.nwords, 9);
	cr_expect_lt(sig_decode(w, 1, &c), 0);
}
