/* concurrent.h - which programs ran beside a job: on a switch of its own, and for how long. */
#pragma once

#include "fleet/scan.h"

#include "base/vec.h"

#define BESIDE_SWITCHES 32 /* of a job; one on more tells nothing of any */

/* A job all of whose switches are known. */
struct concurrent_job {
	uint32_t job;  /* index into scan.jobs */
	uint32_t size; /* power of two of its ranks */
	uint32_t switches[BESIDE_SWITCHES], nswitches;
	size_t first; /* of its overlaps */
	size_t overlaps;
	bool crowded; /* beside so many that they are not kept */
};

/* For so long another program was on a switch of the job's. */
struct concurrent_program {
	uint32_t member, program; /* member: index of the job */
	float seconds;
};

struct concurrent {
	const struct scan *s;
	VEC(struct concurrent_job) jobs; /* by start */
	VEC(struct concurrent_program) overlaps;
	uint32_t switches;
};

/* Of jobs that began on from_day or later. switch_of: of each of s->names, from 1 on, 0 where it is not known; with one
 * switch there are no jobs. concurrent_done() frees. 0 or -ENOMEM. */
int concurrent_find(const struct scan *s, const uint32_t *switch_of, uint32_t from_day, struct concurrent *ret_b);
void concurrent_done(struct concurrent *b);
/* For how long that program ran beside it; 0 if never. */
double concurrent_seconds(const struct concurrent *b, const struct concurrent_job *job, uint32_t program);
