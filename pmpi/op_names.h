/* op_names.h - names of the operations of this build's mpi.h, by number (generated list). */
#pragma once

#include "pmpi/ops.h"

#define OP_NAME_COUNT OP_COUNT
extern const char *const op_names[OP_COUNT] __attribute__((visibility("hidden")));
