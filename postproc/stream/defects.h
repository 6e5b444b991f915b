/* defects.h - what a program does wrong with MPI, one row for each kind and place in the program, with its first
 * cases. All are counted; the rows of a table, and the ranks and cases of a row, are bounded. */
#pragma once

#include "postproc/read/step.h"

enum defect_kind {
	DEFECT_TRUNCATION,
	DEFECT_DATATYPE,
	DEFECT_BYTE_TYPE, /* one side says MPI_BYTE */
	DEFECT_COLLECTIVE_ORDER,
	DEFECT_COLLECTIVE_ROOT,
	DEFECT_COLLECTIVE_SIZE,
	DEFECT_UNRECEIVED,
	DEFECT_UNSERVED,
	DEFECT_SEND_CYCLE,
	DEFECT_DEADLOCK,
	/* from totals, at the end: sections/leaks.c */
	DEFECT_REQUEST_LEAK,
	DEFECT_COMMUNICATOR_LEAK,
	DEFECT_WINDOW_LEAK,
	DEFECT_FILE_LEAK,
	DEFECT_DATATYPE_LEAK,
	DEFECT_ERROR,
	DEFECT_KINDS
};

#define DEFECTS_MAX 256u       /* rows of a table */
#define DEFECT_RANKS_MAX 64u   /* of a row: the lowest */
#define DEFECT_CASES_MAX 3u    /* of a row: the first ones */
#define DEFECT_MEMBERS_MAX 16u /* of a cycle */

struct defect_case {
	int64_t at_ns;
	uint32_t rank, sig;	 /* who sends, or differs: rank and what it called (of its process) */
	uint32_t peer, peer_sig; /* the other side; NONE: there is none */
	uint32_t comm;		 /* or NONE */
	int32_t tag;
	uint64_t k;	       /* which collective of the communicator, from 0 */
	uint64_t bytes, other; /* sent and room, or what two members mean */
	uint32_t members[DEFECT_MEMBERS_MAX];
	uint32_t needs[DEFECT_MEMBERS_MAX]; /* DEADLOCK: each one's; NONE: anybody of several, or it has ended */
	uint32_t nmembers;		    /* of a cycle, all: more than MAX may be */
	uint32_t waiting;		    /* DEADLOCK: ranks that wait for these */
	bool possible;			    /* DEADLOCK: unless threads go on that have not called MPI yet */
	char until[96];			    /* DEADLOCK: what would let the first go on; empty: not known */
};

struct defect {
	enum defect_kind kind;
	uint32_t site, other_site;
	uint64_t count;
	uint32_t ranks[DEFECT_RANKS_MAX]; /* ascending */
	uint32_t nranks;
	bool more_ranks;
	struct defect_case cases[DEFECT_CASES_MAX]; /* the earliest first */
	uint32_t ncases;
};

struct defects {
	VEC(struct defect) rows;
	struct index index;
	uint64_t left_out; /* cases of rows that found no room */
};

/* Count a case: 0 or -ENOMEM. */
int defects_note(struct defects *f, enum defect_kind kind, uint32_t site, uint32_t other_site,
		 const struct defect_case *x);
/* The last case noted concerns this rank too. */
void defect_add_rank(struct defect *row, uint32_t rank);
/* Its row; NULL: it found no room. */
struct defect *defects_row(struct defects *f, enum defect_kind kind, uint32_t site, uint32_t other_site);
/* Add another table. */
int defects_merge(struct defects *into, const struct defects *from);
void defects_done(struct defects *f);
