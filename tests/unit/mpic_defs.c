/* mpic_defs.c - definitions and signatures are read as they were written; of what is not known, only that is said. */
#include "format/mpic.h"
#include "format/sig.h"
#include "tests/tools/put_defs.h"

#include <criterion/criterion.h>
#include <string.h>

Test(mpic, definitions_survive_the_round_trip)
{
	_cleanup_buf_ struct buf out = {0};
	struct mpic_rank_run runs[2] = {{0, 2, 3}, {9, 1, 1}};
	uint64_t words[4] = {sig_head(7, SIG_COMM, 0, 0, 1, 0), 0x1234, sig_pair(0, 5), 0x999};
	struct mpic_def comm = {.id = 5,
				.parent = 0,
				.global_id = 77,
				.size = 4,
				.my_rank = 1,
				.runs = {(const uint8_t *)runs, sizeof(runs)}};
	struct mpic_def d;
	struct sig_call call;
	int32_t ranks[8];

	mpic_put_def_name(&out, MPIC_DEF_OP, 7, "MPI_Comm_dup");
	mpic_put_def_sig(&out, 0, words, 4);
	mpic_put_def_comm(&out, &comm);
	struct cursor c = cursor_over(out.data, out.len_bytes);
	cr_assert_eq(mpic_next_def(&c, &d), 1);
	cr_assert(d.type == MPIC_DEF_OP && d.id == 7 && d.name.len_bytes == 12);
	cr_assert_eq(mpic_next_def(&c, &d), 1);
	cr_assert_eq(sig_decode(d.words, d.nwords, &call), 0);
	cr_assert(call.op == 7 && call.comm == 0 && call.new_comm == 5 && call.nframes == 1 &&
		  call.frames[0] == 0x999 && call.address == 0x1234);
	cr_assert_eq(mpic_next_def(&c, &d), 1);
	cr_assert_eq(mpic_expand_runs(d.runs, ranks, 8), 4);
	cr_assert(ranks[0] == 0 && ranks[1] == 2 && ranks[2] == 4 && ranks[3] == 9);
	cr_assert_eq(mpic_next_def(&c, &d), 0);
}

/* Told by its head alone. */
static bool is_unknown(const uint64_t *words, uint32_t n)
{
	struct sig_call c;
	return sig_decode(words, n, &c) == 0 && c.unknown && c.shape == SIG_TIME && c.op == (uint16_t)words[0] &&
	       c.address == words[1] && c.comm == SIG_NO_COMM && c.nlist == 0 && c.nruns == 0 && c.nframes == 0 &&
	       !c.literal_follows && c.nwords == n;
}

Test(sig, what_is_not_known_is_told_by_its_head)
{
	uint64_t words[9] = {0, 0x1234};
	struct sig_call c;
	for (unsigned shape = 0; shape < 256; shape++) {
		words[0] = sig_head(77, (enum sig_shape)shape, SIG_STARTS_REQUEST, 9, 3, 250);
		cr_expect(is_unknown(words, 2), "shape %u without words", shape);
		words[0] = sig_head(77, (enum sig_shape)shape, SIG_STARTS_REQUEST, 0, 0, 250);
		cr_assert_eq(sig_decode(words, 9, &c), 0);
		cr_expect(c.op == 77 && c.address == 0x1234 && c.flags == SIG_STARTS_REQUEST);
		cr_expect_eq(c.unknown,
			     shape >= SIG_SHAPES || shape == SIG_COLL || shape == SIG_IO || shape == SIG_RMA);
	}
	cr_expect_eq(sig_decode(words, 1, &c), -EBADMSG);
}

Test(sig, a_count_over_the_words_is_not_followed)
{
	uint64_t words[6] = {sig_head(1, SIG_COMPLETE, 0, 1, 0, 0), 0, sig_pair(1, 1), sig_run_word(1, 1, 0), 0, 0};
	struct sig_call call;
	cr_assert(is_unknown(words, 6)); /* one status needs three words */
	words[0] = sig_head(1, SIG_COMPLETE, 0, 0, 0, 0);
	cr_assert_eq(sig_decode(words, 6, &call), 0);
	words[2] = sig_pair(1000, 1);
	cr_assert(is_unknown(words, 6));
	words[0] = sig_head(1, 200, 0, 0, 0, 0);
	cr_assert(is_unknown(words, 6));
}

Test(sig, a_window_s_group_and_kind_are_checked)
{
	uint64_t words[7] = {
		sig_head(1, SIG_RMA, 0, 2, 0, RMA_POST), 0, sig_pair(3, (uint32_t)SIG_ANY), sig_pair(9, 2), 0, 1, 2};
	struct sig_call call;
	cr_assert_eq(sig_decode(words, 7, &call), 0);
	cr_assert(call.object == 3 && call.peer == SIG_ANY && call.assertion == 9 && call.lock_type == 2 &&
		  call.bytes == 0 && call.nlist == 2 && call.list[1] == 2 && call.nwords == 7);
	cr_assert(is_unknown(words, 6));
	words[0] = sig_head(1, SIG_RMA, 0, 0, 0, RMA_KINDS);
	cr_assert(is_unknown(words, 7));
	words[0] = sig_head(1, SIG_RMA, 0, 0, 0, RMA_FETCH);
	words[3] = 8;
	words[4] = 16;
	cr_assert_eq(sig_decode(words, 5, &call), 0);
	cr_assert(call.bytes == 8 && call.fetched_bytes == 16 && call.assertion == 0);
}

Test(sig, words_of_an_event_stand_behind_those_of_its_signature)
{
	uint64_t words[6] = {sig_head(1, SIG_IO, SIG_SIZED, 0, 1, IO_WRITE),
			     0,
			     sig_pair(2, IO_EXPLICIT | IO_COLLECTIVE),
			     64,
			     0x999,
			     4096};
	struct sig_call call;
	cr_assert_eq(sig_decode(words, 6, &call), 0);
	cr_assert(call.io == IO_WRITE && call.object == 2 && call.io_how == (IO_EXPLICIT | IO_COLLECTIVE) &&
		  call.bytes == 64 && call.frames[0] == 0x999 && call.nwords == 5 && words[call.nwords] == 4096);
	cr_assert(is_unknown(words, 4));
	words[0] = sig_head(1, SIG_IO, 0, 0, 0, IO_KINDS);
	cr_assert(is_unknown(words, 6));
}

Test(mpic, a_definition_of_an_unknown_type_is_skipped)
{
	_cleanup_buf_ struct buf out = {0};
	struct mpic_def d;
	mpic_put_def_name(&out, MPIC_DEF_OP, 7, "MPI_Comm_dup");
	mpic_put_def_name(&out, (enum mpic_def_type)99, 8, "x");
	buf_u32(&out, 0); /* type 0, nothing in it */
	buf_u32(&out, 0);
	mpic_put_def_name(&out, MPIC_DEF_OP, 9, "MPI_Comm_free");
	struct cursor c = cursor_over(out.data, out.len_bytes);
	cr_assert(mpic_next_def(&c, &d) == 1 && d.type == MPIC_DEF_OP && d.id == 7);
	cr_assert(mpic_next_def(&c, &d) == 1 && d.type == MPIC_DEF_TYPES);
	cr_assert(mpic_next_def(&c, &d) == 1 && d.type == 0);
	cr_assert(mpic_next_def(&c, &d) == 1 && d.type == MPIC_DEF_OP && d.id == 9);
	cr_assert_eq(mpic_next_def(&c, &d), 0);
}

static int read_cut(const struct buf *out, size_t len, uint32_t claim, struct mpic_def *ret_def)
{
	_Alignas(8) uint8_t bytes[256];
	memcpy(bytes, out->data, out->len_bytes);
	memcpy(bytes + 4, &claim, 4);
	struct cursor c = cursor_over(bytes, len);
	return mpic_next_def(&c, ret_def);
}

Test(mpic, objects_and_types_survive_the_round_trip_and_no_cut)
{
	const struct mpic_def window = {
		.type = MPIC_DEF_WINDOW, .id = 4, .comm = 2, .global_id = 55, .created_by = 9, .size_bytes = 512};
	const struct mpic_def file = {.type = MPIC_DEF_FILE,
				      .id = 5,
				      .comm = 3,
				      .global_id = 66,
				      .created_by = 8,
				      .mode = MPIC_MODE_READ,
				      .name = {(const uint8_t *)"a/b", 3}};
	_cleanup_buf_ struct buf w = {0}, f = {0}, t = {0};
	struct mpic_def d;
	mpic_put_def_object(&w, &window);
	mpic_put_def_object(&f, &file);
	mpic_put_def_datatype(&t, 6, 24, typesig_repeat(typesig_basic("MPI_INT", 7), 6), "six");
	cr_assert_eq(read_cut(&w, w.len_bytes, 32, &d), 1);
	cr_assert(d.id == 4 && d.comm == 2 && d.global_id == 55 && d.created_by == 9 && d.size_bytes == 512);
	cr_assert_eq(read_cut(&w, w.len_bytes, 31, &d), -EBADMSG);
	cr_assert_eq(read_cut(&f, f.len_bytes, 27, &d), 1);
	cr_assert(d.id == 5 && d.mode == MPIC_MODE_READ && d.name.len_bytes == 3);
	cr_assert_eq(read_cut(&f, f.len_bytes, 23, &d), -EBADMSG);
	cr_assert_eq(read_cut(&t, t.len_bytes, 35, &d), 1);
	cr_assert(d.id == 6 && d.size_bytes == 24 && d.type_elements == 6 && d.name.len_bytes == 3);
	cr_assert_eq(read_cut(&t, t.len_bytes, 31, &d), -EBADMSG);
}

Test(mpic, neighbours_are_counted_before_they_are_believed)
{
	_Alignas(8) uint32_t words[2 + 4 + 4] = {MPIC_DEF_TOPOLOGY, 28, 7, 1, 2, 0, 3, 4, 5};
	struct mpic_def d;
	struct cursor c = cursor_over(words, sizeof(words));
	cr_assert_eq(mpic_next_def(&c, &d), 1);
	cr_assert(d.id == 7 && d.in_neighbors.len_bytes == 4 && d.out_neighbors.len_bytes == 8 &&
		  d.out_neighbors.data[4] == 5);
	words[4] = 3;
	c = cursor_over(words, sizeof(words));
	cr_assert_eq(mpic_next_def(&c, &d), -EBADMSG);
	words[3] = 0xffffffff;
	c = cursor_over(words, sizeof(words));
	cr_assert_eq(mpic_next_def(&c, &d), -EBADMSG);
}
