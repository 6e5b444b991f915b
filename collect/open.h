/* open.h - the MPI calls in which a process died, for META, or is now, for samples. */
#pragma once

#include "collect/process.h"

#include <cjson/cJSON.h>

#define OPEN_WORDS_MAX (3 + 2 * OPEN_REQUESTS_MAX)

/* A call that has not returned. */
struct open_now {
	uint64_t enter_tick;
	uint32_t sig;	 /* its signature, where there are no words */
	uint32_t nwords; /* as in sig.h, with counts and datatypes unknown; at least 2, or none */
	uint64_t words[OPEN_WORDS_MAX];
};

/* False: the thread is in none. */
bool open_call_now(const struct process *p, uint32_t thread, struct open_now *ret_now);
/* By which signatures the thread started its last requests, the newest first; how many, at most THREAD_STARTED. */
uint32_t started_now(const struct process *p, uint32_t thread, uint64_t *ret_next_serial, uint32_t *ret_sigs);
/* Of each thread that was in one: {"thread", "sig"} or {"thread", "words": hexadecimal}, the words of a signature.
 * NULL when there is none. */
cJSON *open_calls(const struct process *p);
