/* lateness.h - how much later calls end than others do at the same logical step, by call site.
 *
 * The logical step of a call is one more than that of the call before it on its thread, more than that of the call
 * which sent what it received, and as high as that of the last member of a collective operation that it had to wait for
 * (Lamport: Time, clocks, and the ordering of events in a distributed system, CACM 21, 1978). Of calls of one site at
 * one step the earliest end is when all could have been there; what others end later is their lateness (Isaacs et al.:
 * Combing the communication hairball: visualizing parallel execution traces using logical time, IEEE TVCG 20, 2014). */
#pragma once

#include <stdint.h>

struct late_site {
	uint64_t calls; /* that could be compared: another rank was there at the same step */
	int64_t total_ns, max_ns;
	uint32_t max_rank; /* of max_ns */
};

struct lateness;

/* For so many call sites; NULL without memory. */
struct lateness *lateness_create(uint32_t nsites);
/* A call ended. 1 when lateness_close() is due, or 0. */
int lateness_add(struct lateness *l, uint32_t step, uint32_t site, uint32_t rank, int64_t end_ns);
/* No call of a step before this one is still to come, as far as is known; what makes room if that is not enough is
 * counted. */
void lateness_close(struct lateness *l, uint32_t step);
/* All there is, by site; the caller frees. *ret_left_out = calls that came when their step was closed. */
struct late_site *lateness_result(struct lateness *l, uint64_t *ret_left_out);
void lateness_destroy(struct lateness *l);
