/* bound.h - the tracer's wrappers, which go on to the stub of MPI. */
#pragma once

#include "pmpi/front.h"
#include "pmpi/op_names.h"

#include <dlfcn.h>
#include <stdio.h>

mpitrace_bind_fn mpitrace_bind_mpich;

static const struct wrapper *bound(void)
{
	static struct target targets[OP_COUNT];
	char name[128];
	for (int i = 0; i < OP_COUNT; i++) {
		snprintf(name, sizeof(name), "P%s", op_names[i]);
		void *pmpi = dlsym(RTLD_DEFAULT, name);
		targets[i] = (struct target){.name = op_names[i], .pmpi = pmpi, .next = pmpi};
	}
	return mpitrace_bind_mpich(targets, OP_COUNT);
}
