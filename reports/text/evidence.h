/* evidence.h - what an issue was seen in: a small series of numbers, and a sentence about it. For the page, which draws
 * it, and for the terminal. In: an analysis and one of its issues, not trusted. */
#pragma once

#include "base/json.h"
#include "base/units.h"

#define EVIDENCE_COLUMNS 64
#define EVIDENCE_TEXT 320

struct evidence {
	const char *title;		/* "waiting by rank" */
	double value[EVIDENCE_COLUMNS]; /* means, where a column is several ranks */
	bool marked[EVIDENCE_COLUMNS];	/* ranks of the issue; where it is waiting, who was waited for */
	size_t n, group;		/* ranks a column; 0: columns are sizes, each twice that of the one before */
	double mean, most, most_rank;	/* of ranks */
	bool bytes, any_marked, waiting;
	double first_size;				    /* of the first column */
	double apart_s, apart_max_s, operations, last_rank; /* members of its collectives; operations 0: none */
};

/* False: there is nothing to show. */
bool evidence_find(const cJSON *analysis, const cJSON *issue, struct evidence *ret_evidence);
/* In a sentence or two; plain: for a terminal, else markup. */
void evidence_text(const struct evidence *e, bool plain, char ret_text[EVIDENCE_TEXT]);
/* The number of the first of the issues before this one that has the same longest wait, from 1; 0: none. */
size_t evidence_worst_before(const cJSON *const *issues, size_t n, const cJSON *issue);
