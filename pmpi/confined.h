/* confined.h - a program that is about to forbid itself system calls (pmpi/prctl.c): from then on the tracer makes none
 * that a program with MPI need not make. It goes on with what it has, and what that has no room for is a number. */
#pragma once

#include "pmpi/stream.h"

#include <stdatomic.h>

extern atomic_bool confined HIDDEN;
