/* front.h - what passes between the preloaded front and the tracer for one MPI library. */
#pragma once

/* One wrapper: the name of the MPI function ("MPI_Send") and what the program shall call instead. */
struct wrapper {
	const char *name;
	void *function;
};

/* Exported by libmpitrace-<flavour>.so. Looks up PMPI_X of every function in libmpi (a dlopen handle that stays open)
 * and returns the wrappers, ended by a NULL name; NULL when the library lacks something or tracing is not possible. */
typedef const struct wrapper *mpitrace_bind_fn(void *libmpi);
#define MPITRACE_BIND "mpitrace_bind"
