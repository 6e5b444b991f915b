/* front.h - what passes between the preloaded front and the tracer for one MPI library. */
#pragma once

#include <stdint.h>

/* One wrapper: the name of the MPI function ("MPI_Send") and what the program shall call instead. */
struct wrapper {
	const char *name;
	void *function;
};

/* Where a call goes on; generate.py has its layout. Without a profiling library behind us `next` is `pmpi`. */
struct target {
	const char *name;
	void *pmpi;    /* PMPI_X of the MPI library; NULL when it has none */
	void *next;    /* what the wrapper of MPI_X calls */
	void *tool;    /* MPI_X of a profiling library behind us, or NULL */
	void *wrapper; /* where the slot leads then, in the end */
};

/* Exported by libmpitrace-<flavour>.so. Takes what its wrappers call from the targets, which are sorted by name, and
 * returns the wrappers, ended by a NULL name; NULL when tracing is not possible. */
typedef const struct wrapper *mpitrace_bind_fn(const struct target *targets, uint64_t count);
#define MPITRACE_BIND "mpitrace_bind_" /* and the flavour */

/* Exported by it as well: the program is about to close the library of that handle, or (NULL) asks for a function of
 * one. */
typedef void mpitrace_closing_fn(void *handle);
#define MPITRACE_CLOSING "mpitrace_closing"

/* And: the program is about to forbid itself system calls. */
typedef void mpitrace_confining_fn(void);
#define MPITRACE_CONFINING "mpitrace_confining"
