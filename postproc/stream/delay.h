/* delay.h - who makes others wait, and with what: the time that the causer of a wait spent more than the waiter since
 * both were last together, by call site (Boehme, Geimer, Arnold, Voigtlaender, Wolf: Identifying the root causes of
 * wait states in large-scale parallel applications, ACM TOPC 2016). Fed by the sweep, in causal order; one thread.
 *
 * Each rank's last calls are remembered in a ring. When a rank has waited for another, both rings are read back to
 * their last synchronisation; what the causer spent more there shares the wait: computing before a call and time in a
 * call directly, waiting indirectly, as a cost of what had made the causer wait. */
#pragma once

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct stream;
struct delays;

enum delay_kind { DELAY_COMPUTING, DELAY_IN_CALL, DELAY_KINDS };

/* What one call site's delays made others wait, in ns summed over waiters. */
struct delay_row {
	double direct_ns, indirect_ns;
	uint32_t rank; /* that caused most of it, by majority vote (Boyer, Moore), or NONE */
	double votes;
};

struct delay_result {
	struct delay_row *rows;		 /* [site * DELAY_KINDS + kind]; site sites.n: none known */
	double *direct_ns, *indirect_ns; /* by causing rank */
	double waits_ns;		 /* in all */
	double unexplained_ns;		 /* of it: the causer had not spent more on anything */
	uint64_t waits, cut;		 /* cut: of those, how many began longer ago than is remembered */
};

/* NULL without memory. */
struct delays *delays_create(const struct stream *st);
void delays_destroy(struct delays *d);
/* A call begins. site: NONE where not known. */
void delays_begin(struct delays *d, uint32_t rank, uint32_t site, int64_t start_ns);
/* In the call that was begun, what it needed of another rank was there. */
void delays_matched(struct delays *d, uint32_t rank, uint32_t other, int64_t end_ns);
/* It is over. It waited until began_ns (not later than its start: it did not) for causer (NONE: nobody is known), who
 * began its call then. all_inside_ns: when all ranks were in it, or INT64_MIN. 0 or -ENOMEM. */
int delays_end(struct delays *d, uint32_t rank, int64_t end_ns, int64_t began_ns, uint32_t causer,
	       int64_t last_sync_ns);
/* The caller owns *ret_result; d is empty then. */
void delays_result(struct delays *d, struct delay_result *ret_result);
void delay_result_done(struct delay_result *r);
