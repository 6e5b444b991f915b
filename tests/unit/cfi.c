/* cfi.c - how a caller's frame is found, of instructions that stand here: _Unwind_Find_FDE() is ours, and gives an
 * entry for a function at FUNCTION. Numbers as in DWARF 5, 6.4.2, registers of x86-64. */
#include "pmpi/cfi.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <string.h>

#define FUNCTION 0x1000u
#define RSP 7
#define RBP 6

static uint8_t entries[256];
static uint8_t *fde;

struct dwarf_eh_bases {
	void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *ret_bases);

const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *ret_bases)
{
	if ((uintptr_t)pc < FUNCTION || (uintptr_t)pc >= FUNCTION + 0x10000)
		return NULL;
	ret_bases->function = (void *)FUNCTION;
	return fde;
}

static void put_length(uint8_t *at, const uint8_t *end)
{
	uint32_t n = (uint32_t)(end - at - 4);
	memcpy(at, &n, 4);
}

/* The common entry with this augmentation and register of the return address: frame address rsp + 8, the return address
 * below it. Then the function's own instructions. */
static void describe_with(const char *letters, const uint8_t *data, uint8_t ndata, uint8_t return_register,
			  const uint8_t *own, size_t n)
{
	static const uint8_t begin[] = {0x0c, RSP, 8, 0x90, 1};
	uint8_t *p = entries + 4;
	memset(entries, 0, sizeof(entries));
	memset(p, 0, 4);
	p += 4;
	*p++ = 1;
	memcpy(p, letters, strlen(letters) + 1);
	p += strlen(letters) + 1;
	*p++ = 1;    /* code alignment */
	*p++ = 0x78; /* data alignment: -8 */
	*p++ = return_register;
	*p++ = ndata;
	memcpy(p, data, ndata);
	p += ndata;
	memcpy(p, begin, sizeof(begin));
	p += sizeof(begin);
	put_length(entries, p);
	fde = p;
	uint32_t back = (uint32_t)(p + 4 - entries);
	memcpy(p + 4, &back, 4);
	p += 16;
	*p++ = 0;
	memcpy(p, own, n);
	put_length(fde, p + n);
}

#define FOUR_BYTES 0x1b /* of an address */

static void describe(const char *letters, uint8_t return_register, const uint8_t *own, size_t n)
{
	describe_with(letters, (const uint8_t[]){FOUR_BYTES}, 1, return_register, own, n);
}

static struct frame_rule at(unsigned offset, const uint8_t *own, size_t n)
{
	describe("zR", 16, own, n);
	return cfi_rule(FUNCTION + offset);
}

#define RULE(offset, ...) at(offset, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void is(struct frame_rule r, enum cfa_from from, int32_t offset, enum bp_from bp, int bp_offset)
{
	cr_expect_eq(r.cfa_from, from, "frame address from %d", r.cfa_from);
	cr_expect_eq(r.cfa_offset, offset, "at %d", r.cfa_offset);
	cr_expect_eq(r.bp_from, bp, "frame pointer from %d", r.bp_from);
	cr_expect_eq(r.bp_offset, bp_offset, "at %d", r.bp_offset);
}

/* push rbp; mov rbp, rsp; ...; leave */
#define ORDINARY 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, RBP, 0x60, 0x0c, RSP, 8, 0xc6

Test(cfi, an_ordinary_frame_is_followed_from_instruction_to_instruction)
{
	is(RULE(1, ORDINARY), CFA_SP, 8, BP_SAME, 0);
	is(RULE(2, ORDINARY), CFA_SP, 16, BP_AT_CFA, -16);
	is(RULE(4, ORDINARY), CFA_SP, 16, BP_AT_CFA, -16);
	is(RULE(5, ORDINARY), CFA_BP, 16, BP_AT_CFA, -16);
	is(RULE(0x24, ORDINARY), CFA_BP, 16, BP_AT_CFA, -16);
	is(RULE(0x25, ORDINARY), CFA_SP, 8, BP_SAME, 0);
}

Test(cfi, places_are_one_two_or_four_bytes_ahead)
{
	is(RULE(0x80, 0x02, 0x80, 0x0e, 24), CFA_SP, 8, BP_SAME, 0);
	is(RULE(0x81, 0x02, 0x80, 0x0e, 24), CFA_SP, 24, BP_SAME, 0);
	is(RULE(0x200, 0x03, 0x00, 0x02, 0x0e, 24), CFA_SP, 8, BP_SAME, 0);
	is(RULE(0x201, 0x03, 0x00, 0x02, 0x0e, 24), CFA_SP, 24, BP_SAME, 0);
	is(RULE(0x301, 0x04, 0x00, 0x03, 0x00, 0x00, 0x0e, 24), CFA_SP, 24, BP_SAME, 0);
}

Test(cfi, what_was_remembered_comes_back)
{
	is(RULE(3, 0x0a, 0x0e, 16, 0x86, 2, 0x41, 0x0b, 0x41, 0x0e, 32), CFA_SP, 32, BP_SAME, 0);
	is(RULE(2, 0x0a, 0x0e, 16, 0x86, 2, 0x41, 0x0b, 0x41, 0x0e, 32), CFA_SP, 8, BP_SAME, 0);
	is(RULE(1, 0x0b), CFA_UNKNOWN, 0, BP_SAME, 0);
	is(RULE(1, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a), CFA_SP, 8, BP_SAME, 0);
	is(RULE(1, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a), CFA_UNKNOWN, 0, BP_SAME, 0);
}

/* The long forms, with and without an offset, factored or not; what other registers do is of no matter. */
Test(cfi, instructions_that_name_a_register)
{
	is(RULE(1, 0x05, RBP, 3), CFA_SP, 8, BP_AT_CFA, -24);
	is(RULE(1, 0x05, RBP, 3, 0x06, RBP), CFA_SP, 8, BP_SAME, 0);
	is(RULE(1, 0x11, RBP, 0x7d), CFA_SP, 8, BP_AT_CFA, 24);
	is(RULE(1, 0x07, RBP, 0x0e, 16), CFA_SP, 16, BP_UNKNOWN, 0);
	is(RULE(1, 0x86, 2, 0x08, RBP, 0x0e, 16), CFA_SP, 16, BP_SAME, -16);
	is(RULE(1, 0x09, RBP, 3, 0x0e, 16), CFA_SP, 16, BP_UNKNOWN, 0);
	is(RULE(1, 0x0d, RBP), CFA_BP, 8, BP_SAME, 0);
	is(RULE(1, 0x12, RBP, 0x7e), CFA_BP, 16, BP_SAME, 0);
	is(RULE(1, 0x13, 0x7d), CFA_SP, 24, BP_SAME, 0);
	is(RULE(1, 0x14, RBP, 3, 0x0e, 16), CFA_SP, 16, BP_UNKNOWN, 0);
	is(RULE(1, 0x15, RBP, 0x7d, 0x0e, 16), CFA_SP, 16, BP_UNKNOWN, 0);
	is(RULE(1, 0x05, 3, 5, 0x07, 12, 0x0e, 16), CFA_SP, 16, BP_SAME, 0);
	is(RULE(1, 0x0c, 10, 0), CFA_UNKNOWN, 0, BP_SAME, 0);
	is(RULE(1, 0x2e, 0x40, 0x00, 0x0e, 16), CFA_SP, 16, BP_SAME, 0);
}

/* Of functions that align their stack: the frame address is stored at a distance from the frame pointer. */
Test(cfi, expressions_of_the_frame_pointer)
{
	is(RULE(1, 0x0f, 3, 0x76, 0x78, 0x06), CFA_AT_BP, -8, BP_SAME, 0);
	is(RULE(1, 0x0f, 2, 0x76, 0x78), CFA_UNKNOWN, -8, BP_SAME, 0);
	is(RULE(1, 0x0f, 3, 0x77, 0x78, 0x06), CFA_UNKNOWN, 8, BP_SAME, 0);
	is(RULE(1, 0x10, RBP, 2, 0x76, 0x70), CFA_SP, 8, BP_AT_BP, -16);
	is(RULE(1, 0x10, RBP, 3, 0x76, 0x70, 0x06), CFA_SP, 8, BP_UNKNOWN, -16);
	is(RULE(1, 0x16, RBP, 2, 0x76, 0x70), CFA_SP, 8, BP_UNKNOWN, 0);
}

Test(cfi, the_last_frame_of_a_stack_has_no_return_address)
{
	cr_expect_eq(RULE(1, 0x07, 16).cfa_from, CFA_END);
	cr_expect_eq(RULE(1, 0x08, 16).cfa_from, CFA_UNKNOWN, "it is somewhere else");
	cr_expect_eq(RULE(1, 0x07, 16, 0xd0).cfa_from, CFA_SP, "restored");
	cr_expect_eq(RULE(1, 0x90, 2, 0xd0).ra_offset, -8, "restored");
	cr_expect_eq(RULE(1, 0x07, 16, 0x90, 1, 0x08, 16).cfa_from, CFA_UNKNOWN, "there was one again");
}

Test(cfi, the_return_address_is_where_it_was_saved_last)
{
	cr_expect_eq(RULE(1, 0x00).ra_offset, -8);
	cr_expect_eq(RULE(1, 0x90, 2).ra_offset, -16);
	cr_expect_eq(RULE(1, 0x90, 0xff, 0x1f).ra_offset, -32760);
	cr_expect_eq(RULE(1, 0x90, 0x80, 0x20).cfa_from, CFA_UNKNOWN, "too far");
}

Test(cfi, what_is_not_said_or_cannot_be_read_is_not_known)
{
	static const uint8_t nothing[] = {0};
	cr_expect_eq(RULE(1, 0x0e).cfa_from, CFA_UNKNOWN, "cut");
	cr_expect_eq(RULE(1, 0x05, RBP).cfa_from, CFA_UNKNOWN);
	cr_expect_eq(RULE(1, 0x11, RBP).cfa_from, CFA_UNKNOWN);
	cr_expect_eq(RULE(1, 0x0f, 9, 0x76).cfa_from, CFA_UNKNOWN);
	cr_expect_eq(RULE(1, 0x04, 0, 0).cfa_from, CFA_UNKNOWN);
	cr_expect_eq(RULE(1, 0x3f).cfa_from, CFA_UNKNOWN, "no such instruction");
	cr_expect_eq(RULE(1, 0x01).cfa_from, CFA_UNKNOWN);
	cr_expect_eq(cfi_rule(FUNCTION - 100).cfa_from, CFA_UNKNOWN, "nobody describes it");
	cr_expect_eq(cfi_rule(FUNCTION).cfa_from, CFA_END, "a function's begin is no place behind a call");
	describe("zR", 17, nothing, 1);
	cr_expect_eq(cfi_rule(FUNCTION + 1).cfa_from, CFA_UNKNOWN, "another register returns");
	describe("zS", 16, nothing, 1);
	cr_expect_eq(cfi_rule(FUNCTION + 1).cfa_from, CFA_UNKNOWN, "a frame of a signal");
	describe("zQ", 16, nothing, 1);
	cr_expect_eq(cfi_rule(FUNCTION + 1).cfa_from, CFA_UNKNOWN, "an augmentation that is not known");
}

/* Where exceptions are handled, and by whom, stands between. */
Test(cfi, what_else_is_said_of_a_function_is_passed_over)
{
	static const uint8_t own[] = {0x41, 0x0e, 24}, data[] = {FOUR_BYTES, 1, 2, 3, 4, FOUR_BYTES, FOUR_BYTES};
	describe_with("zPLR", data, 7, 16, own, sizeof(own));
	is(cfi_rule(FUNCTION + 1), CFA_SP, 8, BP_SAME, 0);
	is(cfi_rule(FUNCTION + 2), CFA_SP, 24, BP_SAME, 0);
	describe_with("zPLR", data, 6, 16, own, sizeof(own));
	cr_expect_eq(cfi_rule(FUNCTION + 1).cfa_from, CFA_UNKNOWN, "cut before the last");
	describe_with("zPLR", data, 5, 16, own, sizeof(own));
	cr_expect_eq(cfi_rule(FUNCTION + 1).cfa_from, CFA_UNKNOWN);
	describe_with("zPLR", data, 4, 16, own, sizeof(own));
	cr_expect_eq(cfi_rule(FUNCTION + 1).cfa_from, CFA_UNKNOWN);
}

/* More than the rule has room for. */
Test(cfi, distances_that_are_too_far)
{
	is(RULE(1, 0x0e, 0xff, 0xff, 0xff, 0x0f), CFA_SP, CFA_OFFSET_MAX, BP_SAME, 0);
	cr_expect_eq(RULE(1, 0x0e, 0x80, 0x80, 0x80, 0x10).cfa_from, CFA_UNKNOWN);
	is(RULE(1, 0x86, 0xff, 0x1f), CFA_SP, 8, BP_AT_CFA, -32760);
	is(RULE(1, 0x86, 0x80, 0x20), CFA_SP, 8, BP_UNKNOWN, 0);
}
