/* cfi.c - see cfi.h. In: .eh_frame of the loaded objects (DWARF 5, 6.4; LSB 5.0, 10.6), found by libgcc. Of the
 * machine's state only the frame address, the frame pointer and the return address are followed. */
#include "pmpi/cfi.h"

#include "base/cursor.h"

#include <stdbool.h>

#ifdef __aarch64__ /* AADWARF64, 4.1 */
enum { REG_BP = 29, REG_SP = 31, REG_RA = 30 };
#else
enum { REG_BP = 6, REG_SP = 7, REG_RA = 16 };
#endif
enum { OP_BREG_BP = 0x70 + REG_BP, OP_DEREF = 0x06 };
#define SAVED_MAX 8

/* libgcc's, of every platform that unwinds by tables. */
struct dwarf_eh_bases {
	void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *ret_bases);

struct state {
	enum cfa_from cfa_from;
	enum bp_from bp_from;
	int64_t cfa_offset, bp_offset, ra_offset;
	bool returns; /* the return address is saved, at ra_offset from the frame address */
	bool ends;    /* there is none */
};

struct table {
	struct state now, initial, saved[SAVED_MAX];
	unsigned nsaved;
	uint64_t code_align, at, until;
	int64_t data_align;
	uint8_t pointer; /* encoding of addresses */
	bool augmented, signal;
};

static int rd_signed(struct cursor *c, int64_t *ret_value)
{
	uint64_t value = 0;
	uint8_t byte = 0x80;
	unsigned shift = 0;
	for (; byte & 0x80; shift += 7) {
		if (shift > 56 || rd_u8(c, &byte) < 0)
			return -EBADMSG;
		value |= (uint64_t)(byte & 0x7f) << shift;
	}
	*ret_value = (int64_t)(value << (64 - shift)) >> (64 - shift);
	return 0;
}

static int skip(struct cursor *c, uint64_t len_bytes)
{
	struct span s;
	return rd_bytes(c, len_bytes, &s);
}

static int rd_block(struct cursor *c, struct cursor *ret_block)
{
	uint64_t len;
	struct span s;
	if (rd_varint(c, &len) < 0 || rd_bytes(c, len, &s) < 0)
		return -EBADMSG;
	*ret_block = cursor_over(s.data, s.len_bytes);
	return 0;
}

/* Bytes of an address with that encoding; 0: not of a fixed length. */
static unsigned pointer_bytes(uint8_t encoding)
{
	static const uint8_t bytes[16] = {8, 0, 2, 4, 8, [0xa] = 2, [0xb] = 4, [0xc] = 8};
	return bytes[encoding & 0xf];
}

/* ---- instructions ---- */

/* The register is saved at that distance from the frame address. */
static void put_offset(struct state *s, uint64_t reg, int64_t offset)
{
	if (reg == REG_BP) {
		s->bp_from = BP_AT_CFA;
		s->bp_offset = offset;
	}
	if (reg == REG_RA) {
		s->returns = true;
		s->ra_offset = offset;
		s->ends = false;
	}
}

static void put_unknown(struct state *s, uint64_t reg)
{
	if (reg == REG_BP)
		s->bp_from = BP_UNKNOWN;
	if (reg == REG_RA)
		s->returns = false;
}

static void restore(struct table *t, uint64_t reg)
{
	if (reg == REG_BP) {
		t->now.bp_from = t->initial.bp_from;
		t->now.bp_offset = t->initial.bp_offset;
	}
	if (reg == REG_RA) {
		t->now.returns = t->initial.returns;
		t->now.ra_offset = t->initial.ra_offset;
		t->now.ends = t->initial.ends;
	}
}

static void put_cfa(struct state *s, uint64_t reg, int64_t offset)
{
	s->cfa_from = reg == REG_SP ? CFA_SP : reg == REG_BP ? CFA_BP : CFA_UNKNOWN;
	s->cfa_offset = offset;
}

/* A distance from the frame pointer; `deref`: of the place that holds the value. */
static bool is_at_bp(struct cursor c, bool deref, int64_t *ret_offset)
{
	uint8_t op;
	if (rd_u8(&c, &op) < 0 || op != OP_BREG_BP || rd_signed(&c, ret_offset) < 0)
		return false;
	return !deref ? cursor_left(&c) == 0 : rd_u8(&c, &op) == 0 && op == OP_DEREF && cursor_left(&c) == 0;
}

static int cfa_expression(struct table *t, struct cursor *c)
{
	struct cursor block;
	if (rd_block(c, &block) < 0)
		return -EBADMSG;
	t->now.cfa_from = is_at_bp(block, true, &t->now.cfa_offset) ? CFA_AT_BP : CFA_UNKNOWN;
	return 0;
}

static int register_expression(struct table *t, struct cursor *c, bool value)
{
	struct cursor block;
	uint64_t reg;
	if (rd_varint(c, &reg) < 0 || rd_block(c, &block) < 0)
		return -EBADMSG;
	put_unknown(&t->now, reg);
	if (reg == REG_BP && !value && is_at_bp(block, false, &t->now.bp_offset))
		t->now.bp_from = BP_AT_BP;
	return 0;
}

static int remember(struct table *t)
{
	if (t->nsaved == SAVED_MAX)
		return -EBADMSG;
	t->saved[t->nsaved++] = t->now;
	return 0;
}

static int recall(struct table *t)
{
	if (t->nsaved == 0)
		return -EBADMSG;
	t->now = t->saved[--t->nsaved];
	return 0;
}

static int advance(struct table *t, struct cursor *c, unsigned bytes)
{
	uint32_t by = 0;
	if (rd_copy(c, &by, bytes) < 0) /* little-endian */
		return -EBADMSG;
	t->at += by * t->code_align;
	return 0;
}

/* Instructions that name a register, and most of them an offset, which is `factored` or not. */
static int of_register(struct table *t, struct cursor *c, uint8_t op)
{
	uint64_t reg, n = 0;
	int64_t z = 0;
	bool is_signed = op == 0x11 || op == 0x12, has_offset = op == 0x05 || op == 0x09 || op == 0x0c || op == 0x14;
	if (rd_varint(c, &reg) < 0 || (has_offset && rd_varint(c, &n) < 0) ||
	    ((is_signed || op == 0x15) && rd_signed(c, &z) < 0))
		return -EBADMSG;
	int64_t offset = is_signed ? z : (int64_t)n;
	switch (op) {
	case 0x05: /* offset_extended */
	case 0x11: /* offset_extended_sf */
		put_offset(&t->now, reg, offset * t->data_align);
		break;
	case 0x06: /* restore_extended */
		restore(t, reg);
		break;
	case 0x08: /* same_value */
		put_unknown(&t->now, reg);
		if (reg == REG_BP)
			t->now.bp_from = BP_SAME;
		break;
	case 0x0c: /* def_cfa */
		put_cfa(&t->now, reg, offset);
		break;
	case 0x12: /* def_cfa_sf */
		put_cfa(&t->now, reg, offset * t->data_align);
		break;
	case 0x0d: /* def_cfa_register */
		put_cfa(&t->now, reg, t->now.cfa_offset);
		break;
	default: /* undefined, register, val_offset, val_offset_sf */
		put_unknown(&t->now, reg);
		t->now.ends |= reg == REG_RA && op == 0x07;
	}
	return 0;
}

static int cfa_offset(struct table *t, struct cursor *c, bool factored)
{
	uint64_t n;
	if (factored ? rd_signed(c, &t->now.cfa_offset) < 0 : rd_varint(c, &n) < 0)
		return -EBADMSG;
	t->now.cfa_offset = factored ? t->now.cfa_offset * t->data_align : (int64_t)n;
	return 0;
}

static int run_instruction(struct table *t, struct cursor *c)
{
	uint8_t op;
	uint64_t n;
	if (rd_u8(c, &op) < 0)
		return -EBADMSG;
	switch (op & 0xc0) {
	case 0x40: /* advance_loc */
		t->at += (op & 0x3f) * t->code_align;
		return 0;
	case 0x80: /* offset */
		if (rd_varint(c, &n) < 0)
			return -EBADMSG;
		put_offset(&t->now, op & 0x3f, (int64_t)n * t->data_align);
		return 0;
	case 0xc0: /* restore */
		restore(t, op & 0x3f);
		return 0;
	default:
		break;
	}
	switch (op) {
	case 0x00: /* nop */
		return 0;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		return advance(t, c, 1u << (op - 2));
	case 0x0a:
		return remember(t);
	case 0x0b:
		return recall(t);
	case 0x0e: /* def_cfa_offset */
	case 0x13: /* def_cfa_offset_sf */
		return cfa_offset(t, c, op == 0x13);
	case 0x0f:
		return cfa_expression(t, c);
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		return register_expression(t, c, op == 0x16);
#ifdef __aarch64__
	case 0x2d: /* AARCH64_negate_ra_state: callsite.c takes the signature away wherever there is one */
		return 0;
#endif
	case 0x2e: /* GNU_args_size */
		return rd_varint(c, &n);
	default:
		return (op >= 0x05 && op <= 0x0d) || op == 0x11 || op == 0x12 || op == 0x14 || op == 0x15
			       ? of_register(t, c, op)
			       : -EBADMSG;
	}
}

static int run(struct table *t, struct cursor *c)
{
	int rc = 0;
	while (rc == 0 && cursor_left(c) > 0) {
		struct state before = t->now;
		rc = run_instruction(t, c);
		if (t->at > t->until) { /* what follows holds behind the place */
			t->now = before;
			return 0;
		}
	}
	return rc;
}

/* ---- entries ---- */

/* From its length on; false for the 64-bit form. */
static bool entry(const uint8_t *at, struct cursor *ret_entry)
{
	uint32_t len;
	memcpy(&len, at, sizeof(len));
	*ret_entry = cursor_over(at + sizeof(len), len);
	return len != UINT32_MAX;
}

static int augmentation(struct table *t, const char *letters, struct cursor data)
{
	for (; *letters != '\0'; letters++) {
		uint8_t encoding;
		switch (*letters) {
		case 'S':
			t->signal = true;
			break;
		case 'B': /* of aarch64: the key that return addresses are signed with, */
		case 'G': /* and tagged stacks */
			break;
		case 'R':
			if (rd_u8(&data, &t->pointer) < 0)
				return -EBADMSG;
			break;
		case 'L':
			if (rd_u8(&data, &encoding) < 0)
				return -EBADMSG;
			break;
		case 'P':
			if (rd_u8(&data, &encoding) < 0 || pointer_bytes(encoding) == 0 ||
			    skip(&data, pointer_bytes(encoding)) < 0)
				return -EBADMSG;
			break;
		default:
			return -EBADMSG;
		}
	}
	return 0;
}

/* What all functions of one object file have in common. */
static int common(struct table *t, struct cursor *c)
{
	uint32_t id;
	uint8_t version;
	uint64_t return_register;
	if (rd_u32(c, &id) < 0 || rd_u8(c, &version) < 0 || (version != 1 && version != 3))
		return -EBADMSG;
	const char *letters = (const char *)c->pos;
	size_t n = strnlen(letters, cursor_left(c));
	struct cursor data = {0};
	if (skip(c, n + 1) < 0 || rd_varint(c, &t->code_align) < 0 || rd_signed(c, &t->data_align) < 0 ||
	    rd_varint(c, &return_register) < 0 || return_register != REG_RA)
		return -EBADMSG;
	t->augmented = letters[0] == 'z';
	if ((t->augmented && rd_block(c, &data) < 0) || augmentation(t, letters + t->augmented, data) < 0)
		return -EBADMSG;
	int rc = run(t, c);
	t->initial = t->now;
	return rc;
}

static int function(struct table *t, struct cursor *c)
{
	struct cursor data;
	unsigned bytes = pointer_bytes(t->pointer);
	if (bytes == 0 || skip(c, 2 * bytes) < 0 || (t->augmented && rd_block(c, &data) < 0))
		return -EBADMSG;
	return run(t, c);
}

static bool fits(int64_t offset, int64_t max)
{
	return offset <= max && offset >= -max;
}

static struct frame_rule rule_of_state(const struct state *s)
{
	struct frame_rule none = {.cfa_from = s->ends ? CFA_END : CFA_UNKNOWN};
	if (!s->returns || !fits(s->cfa_offset, CFA_OFFSET_MAX) || !fits(s->ra_offset, INT16_MAX))
		return none;
	bool near = fits(s->bp_offset, INT16_MAX);
	return (struct frame_rule){.cfa_offset = (int32_t)s->cfa_offset,
				   .bp_offset = (int16_t)(near ? s->bp_offset : 0),
				   .ra_offset = (int16_t)s->ra_offset,
				   .cfa_from = s->cfa_from,
				   .bp_from = near ? s->bp_from : BP_UNKNOWN};
}

struct frame_rule cfi_rule(uint64_t pc)
{
	struct frame_rule none = {.cfa_from = CFA_UNKNOWN};
	struct dwarf_eh_bases bases = {0};
	struct cursor c;
	int32_t to_common;
	/* A call may be the last instruction of its function: the place is that of the call. */
	const uint8_t *fde = _Unwind_Find_FDE((void *)(uintptr_t)(pc - 1), &bases);
	if (fde == NULL && _Unwind_Find_FDE((void *)(uintptr_t)pc, &bases) != NULL && (uintptr_t)bases.function == pc)
		return (struct frame_rule){.cfa_from = CFA_END}; /* a function's begin: put there by makecontext(3) */
	if (fde == NULL || !entry(fde, &c) || rd_copy(&c, &to_common, sizeof(to_common)) < 0)
		return none;
	struct table t = {.until = pc - 1};
	struct cursor shared;
	t.at = (uintptr_t)bases.function;
	if (!entry(fde + sizeof(uint32_t) - to_common, &shared) || common(&t, &shared) < 0 || t.signal ||
	    function(&t, &c) < 0)
		return none;
	return rule_of_state(&t.now);
}
