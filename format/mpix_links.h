/* mpix_links.h - columns and flags of MESSAGES and WAITS (SPEC.md), for writer and reader; private to
 * format/mpix_*.c. */
#pragma once

#include "format/wait_names.h"

#include <stdbool.h>
#include <stdint.h>

#define MPIX_LINK_COLUMNS 7
#define MPIX_WAIT_COLUMNS 11

enum link_flag {
	LINK_RECV_ELSEWHERE = 1, /* its start, in another window or lane than its completion */
	LINK_OPEN = 2,		 /* no completion of the receive */
	LINK_SEND_ELSEWHERE = 4, /* in another window than the completion of the receive */
	LINK_SENT_ELSEWHERE = 8, /* completion of the send, in another window or lane than its start */
	LINK_UNSENT = 16,	 /* no completion of the send */
	LINK_SIGNATURE = 32,	 /* not that of the start of the send */
	LINK_EARLIER = 64,	 /* completion of the receive in an earlier window than the chunk's */
	LINK_FLAGS = 127,
};

#define LINK_ELSEWHERE_MAX 9 /* varints that flags may ask for */

/* States of collectives: all members wait for the same, whose lane is told as it is and not from theirs; so the lists
 * of a group's lanes are alike. */
static inline bool wait_is_collective(uint8_t state)
{
	return state <= WAIT_KINDS && (WAIT_COLLECTIVES >> state & 1) != 0;
}

/* The first of the three columns that say who caused it. */
static inline unsigned wait_causer_columns(uint8_t state)
{
	return wait_is_collective(state) ? 8 : 5;
}

/* Of struct mpix_memory: collectives and messages are each compared with their own kind. */
static inline uint32_t wait_memory_key(uint8_t state, uint32_t lane)
{
	return lane << 1 | wait_is_collective(state);
}
