/* mpix_plain.h - write a whole trace that is in memory as an .mpix: what make_mpix, the unit tests and the benchmark
 * share. */
#pragma once

#include "format/mpix.h"

#define PLAIN_NONE 0xffffffffu

struct plain_event {
	uint64_t enter, leave; /* ticks */
	uint32_t sig;
	uint64_t calls; /* 0: none of its own */
	uint64_t bytes; /* PLAIN_SIG_BYTES: the signature's */
};
#define PLAIN_SIG_BYTES UINT64_MAX

struct plain_lane {
	struct plain_event *events;
	uint32_t n;
};

struct plain_place {
	uint32_t lane, event; /* event PLAIN_NONE: nowhere */
};

struct plain_link {
	struct plain_place recv, completion, send, sent;
	uint32_t signature; /* or MPIX_OF_START */
};

struct plain_wait {
	struct plain_place at, causer;
	uint8_t state, how;
	int64_t ns;
};

struct plain_trace {
	struct mpix_info info;
	const struct plain_lane *lanes;
	const struct mpix_signature *const *sigs; /* of each rank */
	const uint32_t *nsigs;
	const struct plain_link *links;
	const struct plain_wait *waits;
	uint32_t nlinks, nwaits;
	const struct mpix_sample *samples; /* ascending number */
	uint32_t nsamples;
	uint32_t windows; /* of equal length, at least 1 */
	unsigned threads; /* that pack, at least 1 */
	/* what follows from the rest, if it is known already: of each lane; and between which times events are */
	const uint32_t *rank_of_lane;
	int64_t first_ns, last_ns;
};

/* 0, or -errno with text. Collectives are numbered from 0 in the order of each lane. */
int plain_write(const char *path, const struct plain_trace *t, const char *json, struct error *e);
/* Where an event is in that file. */
struct mpix_position plain_position(const struct plain_trace *t, struct plain_place place);
/* When; ret_end_ns may be NULL. */
int64_t plain_ns(const struct plain_trace *t, struct plain_place place, int64_t *ret_end_ns);
/* What the file says of a link. */
struct mpix_message plain_message(const struct plain_trace *t, const struct plain_link *link);
uint32_t plain_rank(const struct plain_trace *t, uint32_t lane);
