/* traced.h - a program that calls the tracer's wrappers on the stub of MPI (tests/threads), and what its trace says of
 * the calls. One program a test: Criterion runs each in a process of its own. */
#pragma once

#include "format/mpic.h"
#include "format/segment.h"
#include "format/sig.h"
#include "tests/threads/stub_mpi.h"

#include <stdbool.h>

/* A call as the analysis reads it. */
struct traced_call {
	const char *op;
	struct sig_call sig;
	const uint64_t *extra; /* behind the words of a literal signature */
	uint32_t nextra;
	bool literal; /* its words stand in the event */
	uint32_t thread;
	uint64_t enter, exit;
};

struct traced {
	struct traced_call *calls; /* thread by thread, in order */
	size_t ncalls;
	struct mpic_def *defs; /* all but signatures */
	size_t ndefs;
	uint64_t lost, missing;	    /* events; definitions */
	uint64_t counted;	    /* calls in the totals */
	uint64_t spilled;	    /* segments */
	const struct segfile *file; /* what the process said of itself */
	const struct thread_area *areas[4];
};

/* MPI_Init_thread. */
void traced_begin(int thread_level);
/* The same with a directory that may not do. */
void traced_begin_in(const char *directory);
/* MPI_Finalize, and all that was recorded. */
const struct traced *traced_end(void);
/* The n-th call of that operation, from 0; the test fails where there are less. */
const struct traced_call *traced_call(const struct traced *t, const char *op, unsigned n);
unsigned traced_count(const struct traced *t, const char *op);
/* The n-th run of requests that a call names. */
struct sig_run traced_run(const struct traced_call *c, unsigned n);
struct sig_status traced_status(const struct traced_call *c, unsigned n);
/* The n-th definition of a kind. */
const struct mpic_def *traced_def(const struct traced *t, enum mpic_def_type type, unsigned n);
/* The definition of that communicator. */
const struct mpic_def *traced_comm(const struct traced *t, uint32_t id);

void *traced_wrapper(const char *name);
/* What the program would call after the preload. */
#define CALL(name, ...) ((__typeof__(&name))traced_wrapper(#name))(__VA_ARGS__)
