/* synth_defs.c - definitions of simulated ranks and their dictionary of signatures, as in pmpi/stream.c. */
#include "synth_parts.h"

#include "base/vec.h"
#include "pmpi/stream.h"
#include "tests/tools/put_defs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 64u

const char *const synth_op_names[SYNTH_OP_COUNT] = {
#define OP(name) "MPI_" #name,
	SYNTH_OPS(OP)
#undef OP
};

/* ---- definitions ---- */

static void define_op(struct synth_record *r, uint32_t op)
{
	if ((r->ops_defined >> op & 1) != 0)
		return;
	r->ops_defined |= 1ull << op;
	mpic_put_def_name(&r->defs, MPIC_DEF_OP, op, synth_op_names[op]);
}
_Static_assert(SYNTH_OP_COUNT <= 64, "ops_defined");

static struct span text_span(const char *text)
{
	return (struct span){(const uint8_t *)text, strlen(text)};
}

static void define_module(struct synth_record *r, const char *path, uint64_t begin, uint64_t bytes)
{
	struct mpic_def d = {.type = MPIC_DEF_MODULE,
			     .begin = begin,
			     .end = begin + bytes,
			     .bias = begin >= 1ull << 32 ? begin : 0,
			     .build_id = text_span("0123456789abcdefghij"),
			     .name = text_span(path)};
	mpic_put_def_module(&r->defs, &d);
}

void synth_define_modules(struct synth_record *r, const char *program)
{
	static const char *const libraries[] = {
		"libmpi.so.40",	  "libopen-rte.so.40", "libopen-pal.so.40", "libc.so.6",     "libm.so.6",
		"libhwloc.so.15", "libz.so.1",	       "libpmix.so.2",	    "libgcc_s.so.1", "libmpitrace.so"};
	char path[256];
	snprintf(path, sizeof(path), "/home/user/bin/%s", program);
	define_module(r, path, CODE_BEGIN, CODE_BYTES);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/%s", libraries[i]);
		define_module(r, path, 0x7f0000000000ull + (i << 24), 0x120000);
	}
}

void synth_define_types(struct synth_record *r)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} types[SYNTH_TYPES] = {
		[TYPE_DOUBLE] = {"MPI_DOUBLE", 8}, [TYPE_INT] = {"MPI_INT", 4}, [TYPE_BYTE] = {"MPI_BYTE", 1}};
	for (uint32_t i = 0; i < SYNTH_TYPES; i++)
		mpic_put_def_datatype(&r->defs, i, types[i].bytes, typesig_basic(types[i].name, strlen(types[i].name)),
				      types[i].name);
}

uint32_t synth_comm(struct synth *s, uint32_t rank, enum synth_op made_by, uint64_t global_id,
		    struct mpic_rank_run members)
{
	struct synth_record *r = s->ranks[rank].record;
	struct mpic_def d = {.type = MPIC_DEF_COMM,
			     .id = r->ncomms,
			     .parent = r->ncomms < 2 ? MPIC_NO_COMM : 0,
			     .global_id = global_id,
			     .created_by = made_by,
			     .size = members.count,
			     .my_rank = ((int32_t)rank - members.first) / members.stride,
			     .runs = {(const uint8_t *)&members, sizeof(members)}};
	mpic_put_def_comm(&r->defs, &d);
	return r->ncomms++;
}

/* ---- the dictionary, as in pmpi/stream.c ---- */

/* A signature's home comes from the upper bits of its hash, which its slot holds. */
static uint64_t *find_slot(const struct synth_record *r, uint64_t hash)
{
	uint32_t at = (uint32_t)(hash >> 40) & r->slots_mask;
	while (r->slots[at] != 0 && (r->slots[at] ^ hash) > SLOT_SIG)
		at = (at + 1) & r->slots_mask;
	return &r->slots[at];
}

static void double_slots(struct synth_record *r)
{
	uint64_t *old = r->slots;
	uint32_t n = old != NULL ? r->slots_mask + 1 : 0;
	r->slots_mask = n > 0 ? 2 * n - 1 : SLOTS_FIRST - 1;
	r->slots = synth_allocate((size_t)r->slots_mask + 1, sizeof(*r->slots));
	for (uint32_t i = 0; i < n; i++)
		if (old[i] != 0)
			*find_slot(r, old[i]) = old[i];
	free(old);
}

static uint32_t new_sig(struct synth_record *r, const uint64_t *words, uint32_t n, uint64_t hash)
{
	if (2 * (r->nsigs + 1) > r->slots_mask)
		double_slots(r);
	synth_grow(&r->totals, &r->totals_cap, r->nsigs + 1, sizeof(*r->totals));
	r->totals[r->nsigs] = (struct segment_total){0, 0};
	define_op(r, (uint32_t)words[0] & 0xffff);
	mpic_put_def_sig(&r->defs, r->nsigs, words, n);
	if (r->nsigs > 0) /* nothing looks for the first one */
		*find_slot(r, hash) = (hash & ~SLOT_SIG) | r->nsigs;
	r->slow_calls++;
	r->slow_ticks += SLOW_TICKS;
	return r->nsigs++;
}

void synth_begin_dictionary(struct synth_record *r)
{
	static const uint64_t anything[2] = {(uint64_t)SIG_TIME << 16 | 1ull << 32, 0};
	double_slots(r);
	new_sig(r, anything, 2, 0);
}

/* Its number; *ret_literal = there is no room for it, its words go with the event. */
uint32_t synth_sig_of(struct synth_record *r, const uint64_t *words, uint32_t n, bool *ret_literal)
{
	uint64_t hash = sig_hash(words, n), slot = *find_slot(r, hash);
	if (slot != 0)
		return (uint32_t)(slot & SLOT_SIG);
	if (r->nexact < STREAM_SIGS_MAX) {
		r->nexact++;
		return new_sig(r, words, n, hash);
	}
	const uint64_t coarse[2] = {sig_head((uint16_t)words[0], SIG_TIME, 0, 1, 0, 0), words[1]};
	*ret_literal = true;
	hash = sig_hash(coarse, 2);
	slot = *find_slot(r, hash);
	return slot != 0 ? (uint32_t)(slot & SLOT_SIG) : new_sig(r, coarse, 2, hash);
}
