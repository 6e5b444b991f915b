/* modules.h - which files the addresses of call sites belong to. */
#pragma once

#include "pmpi/front.h"
#include "pmpi/stream.h"

/* Make sure that the module of address is among this process's definitions; looks at the loader's list if it is new. */
void modules_note(uint64_t address) HIDDEN COLD;
/* Of the MPI library, one of its parts (plugins, layers of languages), or of the tracer? */
bool modules_is_mpi(uint64_t address) HIDDEN;
bool modules_is_part(uint64_t address) HIDDEN COLD;
bool modules_is_ours(uint64_t address) HIDDEN;
/* Is it code of some loaded module? (as of the last look) */
bool modules_have(uint64_t address) HIDDEN;
/* A library may be closed, or was opened where one was. */
__attribute__((visibility("default"))) mpitrace_closing_fn mpitrace_closing;
