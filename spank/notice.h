/* notice.h - one line for who asked for a trace and does not get it, or gets it elsewhere, later or in part: why,
 * where, and what to do. On a node the first task of the first node says it, on the step's standard error; what is
 * known when all is over, srun. Who did not ask hears nothing, nor who asked with `quiet`. */
#pragma once

#include "spank/request.h"
#include "spank/slurm.h"

/* The worst first: of several it is the one that is said. */
enum notice_cause {
	NOTICE_POLICY_BROKEN,
	NOTICE_POLICY,
	NOTICE_REFUSED,
	NOTICE_ROOT,
	NOTICE_SETUP,
	NOTICE_TRACER,
	NOTICE_STATIC,
	NOTICE_RIGHTS,
	NOTICE_PLACE,
	NOTICE_SITE_PLACE,
	NOTICE_FLAVOUR,
	NOTICE_TOTALS,
	NOTICE_UNTRACED,
	NOTICE_NO_PROGRAM,
	NOTICE_FAILED,
	NOTICE_ELSEWHERE,
	NOTICE_TOTALS_ONLY,
	NOTICE_LATER,
	NOTICE_QUEUED,
	NOTICE_PARTIAL,
	NOTICE_NONE,
};

struct notice {
	bool wanted;
	enum notice_cause cause;
	char why[PATH_MAX + ERROR_TEXT_MAX];
};

/* Before the policy changes the request. */
void notice_begin(struct notice *n, const struct request *r, bool asked);
/* Note a cause, unless a worse one is noted. */
void notice_set(struct notice *n, enum notice_cause cause, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Say what is noted on standard error, as far as it is wanted, and forget it. node: "" when it is not of one. */
void notice_say(struct notice *n, const char *node);
/* The same in a task. What a batch script was told before its steps are not told again: NOTICE_TOLD in its environment
 * remembers what, and is taken out of all others. */
void notice_say_in_task(spank_t sp, struct notice *n, const char *node, uint32_t job_id, bool is_batch, bool speaks);
#define NOTICE_TOLD "MPITRACE_TOLD"
