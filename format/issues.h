/* issues.h - the kinds of issues that an analysis can have: what all who look for them, order, show or count them know
 * of each. In: issues.tab, of which rows.py makes issue_rows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISSUES_MAX 64 /* kinds; bits of effects */

enum issue_order {
	ISSUE_FIRST,
	ISSUE_TIME,
	ISSUE_LAST
}; /* before all that costs time, by what it costs, behind that */

/* The numbers by rank that an issue is seen in (reports/text/evidence.c). */
enum issue_seen {
	SEEN_NOWHERE,
	SEEN_USEFUL,
	SEEN_WAIT,
	SEEN_CAUSED,
	SEEN_MPI,
	SEEN_SENT,
	SEEN_TRACING,
	SEEN_PROCESSOR,
	SEEN_POLLING,
	SEEN_BY_SIZE
};

/* What is otherwise in a replay of the run without it (postproc/replay/). */
enum issue_replay {
	REPLAY_NONE,	 /* no replay tells */
	REPLAY_BALANCE,	 /* ranks compute as long as each other */
	REPLAY_WAITS,	 /* who caused the waits that it is made of computes so much less */
	REPLAY_CAUSER,	 /* ranks compute less before its first call site, as far as others waited for that */
	REPLAY_BARRIERS, /* nobody waits at its call sites */
	REPLAY_RANKS,	 /* its ranks compute as quickly as the others: its value is how many times as long it takes */
	REPLAY_PROCESSORS, /* ranks compute without the time in which they were ready and had no processor */
};

struct issue_row {
	const char *name, *phrase; /* in plain words, in a sentence */
	enum issue_order order;
	bool wrong;		 /* the program is not in order, whatever time it took */
	bool of_totals;		 /* can be said without events */
	bool pairs_are_traffic;	 /* sender and receiver; else who was late and who waited */
	bool is_bound;		 /* its loss is what could be gained at most, and not all of it can */
	bool of_many;		 /* it follows from more than one cause at a time */
	enum issue_seen seen[2]; /* the first that is there; SEEN_NOWHERE: none */
	enum issue_replay replay;
	uint64_t effects; /* what follows from it, bits by index in issue_rows */
};

extern const struct issue_row issue_rows[];
extern const size_t issue_count;
/* Indices of those that explain others, each before what it explains. */
extern const unsigned char issue_causes[];
extern const size_t issue_cause_count;

/* NULL: no such kind. */
const struct issue_row *issue_row(const char *name);
/* In a sentence, plain words; NULL when the kind is not known. */
const char *issue_phrase(const char *name);
/* Is the program not in order, whatever time it took? */
bool issue_is_wrong(const char *name);
