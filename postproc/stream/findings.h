/* findings.h - what a program does wrong with MPI, one row for each kind and place in the program, with its first
 * cases. All are counted; the rows of a table, and the ranks and cases of a row, are bounded. */
#pragma once

#include "postproc/read/step.h"

enum finding_kind {
	FINDING_TRUNCATION,
	FINDING_DATATYPE,
	FINDING_BYTE_TYPE, /* one side says MPI_BYTE */
	FINDING_COLLECTIVE_ORDER,
	FINDING_COLLECTIVE_ROOT,
	FINDING_COLLECTIVE_SIZE,
	FINDING_UNRECEIVED,
	FINDING_UNSERVED,
	FINDING_SEND_CYCLE,
	FINDING_DEADLOCK,
	/* from totals, at the end: parts/leaks.c */
	FINDING_REQUEST_LEAK,
	FINDING_COMMUNICATOR_LEAK,
	FINDING_WINDOW_LEAK,
	FINDING_FILE_LEAK,
	FINDING_DATATYPE_LEAK,
	FINDING_ERROR,
	FINDING_KINDS
};

#define FINDINGS_MAX 256u	/* rows of a table */
#define FINDING_RANKS_MAX 64u	/* of a row: the lowest */
#define FINDING_CASES_MAX 3u	/* of a row: the first ones */
#define FINDING_MEMBERS_MAX 16u /* of a cycle */

struct finding_case {
	int64_t at_ns;
	uint32_t rank, sig;	 /* who sends, or differs: rank and what it called (of its process) */
	uint32_t peer, peer_sig; /* the other side; NONE: there is none */
	uint32_t comm;		 /* or NONE */
	int32_t tag;
	uint64_t k;	       /* which collective of the communicator, from 0 */
	uint64_t bytes, other; /* sent and room, or what two members mean */
	uint32_t members[FINDING_MEMBERS_MAX];
	uint32_t nmembers; /* of a cycle, all: more than MAX may be */
};

struct finding {
	enum finding_kind kind;
	uint32_t site, other_site;
	uint64_t count;
	uint32_t ranks[FINDING_RANKS_MAX]; /* ascending */
	uint32_t nranks;
	bool more_ranks;
	struct finding_case cases[FINDING_CASES_MAX]; /* the earliest first */
	uint32_t ncases;
};

struct findings {
	VEC(struct finding) rows;
	struct index index;
	uint64_t left_out; /* cases of rows that found no room */
};

/* Count a case: 0 or -ENOMEM. */
int findings_note(struct findings *f, enum finding_kind kind, uint32_t site, uint32_t other_site,
		  const struct finding_case *x);
/* The last case noted concerns this rank too. */
void finding_add_rank(struct finding *row, uint32_t rank);
/* Its row; NULL: it found no room. */
struct finding *findings_row(struct findings *f, enum finding_kind kind, uint32_t site, uint32_t other_site);
/* Add another table. */
int findings_merge(struct findings *into, const struct findings *from);
void findings_done(struct findings *f);
