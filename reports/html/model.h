/* model.h - the analysis object as the sections need it: totals, ranks and lists, read once and
 * sorted. */
#pragma once

#include "base/json.h"
#include "reports/text/processor.h"

#include <stdbool.h>
#include <stddef.h>

/* POP regards this as acceptable: https://pop-coe.eu/node/69 */
#define EFFICIENCY_MARK 0.80

enum rank_end {
	RANK_ENDED,   /* or nothing is known to the contrary */
	RANK_EARLY,   /* gone, or still running, without MPI_Finalize */
	RANK_MISSING, /* not in the trace */
};

struct rank_row {
	long rank;
	const char *node;		/* "" when unknown */
	double useful_s, mpi_s, wait_s; /* wait is a part of mpi; never NAN, never negative */
	double tracing_s;		/* beside them; NAN when not known */
	double processor_wait_s;	/* ready to run, while others had the processors; NAN when not known */
	double bytes_out;		/* NAN when unknown */
	enum rank_end end;
	double exit_status; /* as a shell tells it; NAN when unknown */
	const char *cpus;   /* list such as "0-3,8"; "" when unknown */
};

struct model {
	const cJSON *root;	       /* owned */
	const cJSON *diff;	       /* what changed since other runs; NULL: nothing to compare with; not owned */
	const char *trace;	       /* name of its file, as the user would write it; not owned */
	const struct carried *carried; /* the viewer and the trace, in this page; NULL: they are not; not owned */
	bool is_too_large;	       /* that would be, with them in it */
	size_t carrying_bytes_max;     /* of the page then; 0: the site wants them in none */
	const cJSON *job, *coverage, *summary, *efficiency;
	struct rank_row *rank; /* ascending rank */
	size_t nranks;
	const cJSON **operation; /* most time first */
	size_t noperations;
	const cJSON **callsite; /* most time first */
	size_t ncallsites;
	const cJSON **issue; /* in the order of the analysis */
	size_t nissues;
	bool totals; /* the events are not analysed yet: waits and messages are not known */
	bool partial;
	bool waits_known;			 /* single calls are there, in which waiting is found */
	bool waits_at_least;			 /* of many calls they are missing */
	bool threaded;				 /* some rank called MPI from several threads */
	double runtime_s;			 /* of the traced region; NAN when unknown */
	double useful_s, mpi_s, wait_s, total_s; /* summed over ranks */
	double unreturned_s;			 /* of mpi_s: in calls that never came back */
	double max_useful_s;
	struct processor_wait processor_wait;
	double threads_s; /* time of all threads that called MPI, of which calls and waits take shares; total_s where
			     each rank has one */
};

/* 0 and *ret_model (owns root from then on), -EBADMSG when json is no object, -ENOMEM. */
int model_create(const char *json, struct model *ret_model);
void model_done(struct model *m);

/* The call site with this id, or NULL. */
const cJSON *model_callsite(const struct model *m, const cJSON *id);
/* Of what operations and waits are shares, as the head of a column. */
const char *share_title(const struct model *m);
/* 0 = for information, 1 = worth a look, 2 = serious: from the issue's "severity". */
int issue_severity(const cJSON *issue);
/* How many ranks there were: expected, seen or listed, whichever is known. */
size_t model_nranks(const struct model *m);
