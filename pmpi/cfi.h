/* cfi.h - how the caller of a frame is found: what the compiler wrote of it, for one place in the code. */
#pragma once

#include <stdint.h>

/* The canonical frame address is the stack pointer before the call. */
enum cfa_from {
	CFA_UNKNOWN = 0,
	CFA_END, /* the last frame of its stack */
	CFA_SP,
	CFA_BP,
	CFA_AT_BP /* stored there: functions that align their stack */
};
enum bp_from { BP_SAME = 0, BP_AT_CFA, BP_AT_BP, BP_UNKNOWN };

#define CFA_OFFSET_MAX ((1 << 25) - 1)

struct frame_rule {
	int32_t cfa_offset : 26;
	unsigned cfa_from : 3; /* enum cfa_from */
	unsigned bp_from : 2;  /* enum bp_from */
	int16_t bp_offset;     /* from the frame address, where the caller's frame pointer is */
	int16_t ra_offset;     /* and the return address */
};

/* Of the frame that a call returns to at pc; CFA_UNKNOWN where it is not said, or takes more than the registers here.
 * Looks at no stack. */
struct frame_rule cfi_rule(uint64_t pc) __attribute__((visibility("hidden"), cold));
