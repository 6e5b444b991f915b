/* moves.h - what a message needs by itself: the least that MPI libraries can do. */
#pragma once

#include <stdint.h>

/* A blocking call's own messages up to that size need nobody: MPI libraries send them without asking. */
#define EAGER_BYTES 4096

/* A send takes no longer by itself: what is longer waits for something. As costs of moving data are bounded elsewhere
 * (issues/issues.h). */
#define SEND_FIRST_NS 50000
#define SEND_BYTE_NS 10

static inline int64_t send_moves_ns(uint64_t bytes)
{
	return SEND_FIRST_NS + (int64_t)(bytes < INT64_MAX / 16 ? bytes : INT64_MAX / 16) * SEND_BYTE_NS;
}
