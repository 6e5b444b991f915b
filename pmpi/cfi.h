/* cfi.h - how the caller of a frame is found: what the compiler wrote of it, for one place in the code. */
#pragma once

#include <stdint.h>

/* The canonical frame address is the stack pointer before the call: the return address lies below it. */
enum cfa_from {
	CFA_UNKNOWN = 0,
	CFA_END, /* the last frame of its stack */
	CFA_SP,
	CFA_BP,
	CFA_AT_BP /* stored there: functions that align their stack */
};
enum bp_from { BP_SAME = 0, BP_AT_CFA, BP_AT_BP, BP_UNKNOWN };

struct frame_rule {
	int32_t cfa_offset;
	int16_t bp_offset;
	uint8_t cfa_from; /* enum cfa_from */
	uint8_t bp_from;  /* enum bp_from */
};

/* Of the frame that a call returns to at pc; CFA_UNKNOWN where it is not said, or takes more than the registers here.
 * Looks at no stack. */
struct frame_rule cfi_rule(uint64_t pc) __attribute__((visibility("hidden"), cold));
