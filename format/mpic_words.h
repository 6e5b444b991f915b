/* mpic_words.h - the extra words of an event block as its columns (format/SPEC.md, EVENTS); for mpic_events.c only. */
#pragma once

#include "format/mpic_times.h"

/* Append those of n events of one signature; at[i] is where in words event i has its number of words, and then they.
 * Tables go to out->tables. -ENOMEM. */
int mpic_words_put(struct mpic_time_coder **coder, const uint64_t *words, const uint32_t *at, uint32_t n,
		   struct mpic_time_columns *out);

/* Words that were read: of each event their number, and then they. A zeroed struct is empty, who has it frees at. */
struct mpic_words {
	uint64_t *at;
	size_t n, cap;
};

/* Append those of n events of one signature. -EBADMSG: damaged, or more than MPIC_BLOCK_WORDS_MAX in all; -ENOMEM. */
int mpic_words_read(struct mpic_time_cursors *in, uint32_t n, struct mpic_words *words);
