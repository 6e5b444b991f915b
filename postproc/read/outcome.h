/* outcome.h - why a step ended, as far as somebody knows who is not one of its ranks: Slurm, or who ran the
 * launcher. */
#pragma once

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct step;

/* The names are Slurm's; STOPPED: whoever ran the launcher was told to end it. */
#define OUTCOMES(ROW) \
	ROW(UNKNOWN, "") \
	ROW(COMPLETED, "") \
	ROW(FAILED, "") \
	ROW(STOPPED, "") \
	ROW(CANCELLED, "cancelled") \
	ROW(TIMEOUT, "time limit") \
	ROW(OUT_OF_MEMORY, "out of memory") \
	ROW(NODE_FAIL, "a node failed") \
	ROW(PREEMPTED, "preempted") \
	ROW(REQUEUED, "requeued") /* adding one: what it is in a sentence */

enum outcome_state {
#define ROW(name, words) OUTCOME_##name,
	OUTCOMES(ROW)
#undef ROW
		OUTCOME_STATES
};

struct outcome {
	enum outcome_state state;
	int signal;	    /* that was sent to the launcher; 0: none that is known of */
	int64_t by;	    /* number of the user who cancelled; -1: not known */
	bool have_launcher; /* its wait status is known: */
	int launcher_status;
};

/* What the nodes' METAs say, and a file `mpitrace-outcome` in the directory of the first trace: lines of a word and a
 * value, as docs/STEPDIR.md has them. */
void outcome_read(struct step *s);
/* Did somebody from outside end it? */
bool outcome_is_stop(const struct outcome *o);
/* Has nobody stopped it, as far as is known, and its launcher failed? */
bool outcome_is_failure(const struct outcome *o);
/* "TIMEOUT". */
const char *outcome_name(const struct outcome *o);
/* " (time limit)", or "" where nobody knows more. Returns text. */
const char *outcome_text(const struct outcome *o, char ret_text[64]);
