/* issues.h - what costs time, where, why, what to try. No advice without a number that
 * triggered it. An issue is a row of format/issues.tab and a function `void issue_<name>(const
 * struct analysis *a, struct issue *f)` that sets f->found. Thresholds are shares of all ranks' time: what
 * costs little is no issue. */
#pragma once

#include "format/issues.h"
#include "format/issue_names.h"
#include "postproc/analysis.h"

#define ISSUE_RANKS_MAX 16
#define ISSUE_RANKS_ALL_MAX 16384 /* where all of them are named */
#define ISSUE_PAIRS_MAX 8
#define ISSUE_SITES_MAX 5
#define ISSUE_TEXT_MAX 800

#define WAIT_SHARE_MIN 0.05 /* of all ranks' time: waits below it are left alone */
#define PROCESSOR_SHARE_SAID \
	0.01 /* of what an issue is about: from there on it is said how long there was no processor */

struct issue {
	bool found;
	const char *issue;
	double loss_s;	 /* summed over ranks; 0 when it is not about time */
	double of_s;	 /* what the loss is a share of, if not of issue_total_s() */
	double severity; /* 0..1; 0: from its gain if that is known, else from the loss's share */
	/* What the run would gain without it, by replay: share of its length. Set by sections/issues.c. */
	bool replayed; /* it is known */
	double gain, gain_low, gain_high, gain_s;
	double gain_parts[3]; /* where a quarter of it, half, three quarters are repaired; NAN: not told */
	const char
		*explained_by; /* the first issue before it that explains it and that none explains; NULL: none does */
	uint32_t ranks[ISSUE_RANKS_ALL_MAX];
	unsigned nranks;
	bool more_ranks; /* than there was room for */
	uint32_t pairs[ISSUE_PAIRS_MAX][2];
	unsigned npairs;
	uint32_t sites[ISSUE_SITES_MAX];
	unsigned nsites;
	unsigned states;	/* that its loss is made of, bits by enum wait_state; 0: none alone */
	int64_t from_ns, to_ns; /* to < from: the whole run */
	char what[ISSUE_TEXT_MAX], why[ISSUE_TEXT_MAX], next[ISSUE_TEXT_MAX];
	const char *metric;
	double value, threshold;
};

/* issue_NAME() of each row of format/issues.tab, in its order. */
#define DECLARE_ISSUE(name) void issue_##name(const struct analysis *a, struct issue *f);
ISSUES(DECLARE_ISSUE)
#undef DECLARE_ISSUE

/* What the loss is a share of, s. */
double issue_loss_of_s(const struct analysis *a, const struct issue *f);
/* Share of the time lost, or how bad it is: 0 to 1. */
double issue_score(const struct analysis *a, const struct issue *f);
/* All ranks' time in the traced region, s; where ranks call MPI from several threads, that of all these threads, as
 * times of calls and waits are. Never 0. */
double issue_total_s(const struct analysis *a);
/* The metric that is a share of issue_total_s(). */
#define SHARE_NAME(a, rest) ((a)->threaded ? "share of all threads' time" rest : "share of all ranks' time" rest)
/* All ranks' time in the traced region, s, each rank once; never 0. */
double issue_ranks_s(const struct analysis *a);
/* As long as the run, for each rank in the record: also what one that ended early did not use. Never 0. */
double issue_run_s(const struct analysis *a);
/* What moving so much can cost at most, s: more than that is something else, and a cause must explain its seconds.
 * steps: how many messages one after the other a call needs. */
double issue_moving_max_s(double calls, double bytes, double steps);
/* Once each, as long as there is room. */
/* "rank 1", "ranks 3, 1 and 2", or "the ranks named" where these are more. */
#define ISSUE_RANKS_TEXT 64
const char *issue_ranks_text(const struct issue *f, char ret_text[ISSUE_RANKS_TEXT]);
void issue_add_rank(struct issue *f, uint32_t rank);
/* One that is not there yet, behind all others. */
void issue_add_another_rank(struct issue *f, uint32_t rank);
void issue_add_pair(struct issue *f, uint32_t a, uint32_t b);
void issue_add_site(struct issue *f, uint32_t site);
/* unfinished.c: what its ranks spent in their last calls when nobody advanced any more is lost as well, of all that the
 * step took. */
void issue_charge_hung(const struct analysis *a, struct issue *f);
/* unfinished.c: " The step ran 27.0 s; the last 24.1 s nobody advanced.", or "". Returns text. */
const char *hung_text(const struct step *s, char ret_text[128]);
/* waits.c: some states together, bits by enum wait_state. */
struct wait_issue {
	unsigned states;
	const char *waiters; /* "receivers" */
	const char *event;   /* "the message was sent" */
	const char *why, *next;
};
void issue_of_waits(const struct analysis *a, struct issue *f, const struct wait_issue *w);
/* "3.10 µs"; text holds 32 bytes. Returns text. */
const char *duration_text(double seconds, char *text);
const char *bytes_text(double bytes, char *text);
/* "exchange (halo.c:41)", "MPI_Recv in libfoo.so", or "". Returns text. */
const char *site_text(const struct step *s, uint32_t site, char *text, size_t size);
/* The same behind ", mostly" or such words; "" where it is not known. */
const char *share_of_site(const struct step *s, uint32_t site, const char *words, char *text, size_t size);
