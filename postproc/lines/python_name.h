/* python_name.h - what Python calls a function of a compiled module whose symbols are stripped: mpi4py's. */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_NAME_MAX 512 /* a module and three names */

/* "mpi4py.MPI.Comm.Send" for the function that starts at this address of the file; one that Python cannot call
 * itself has the name of those that do: "mpi4py.MPI.Comm.recv or Comm.sendrecv"; without any,
 * "mpi4py.MPI+0xd0210". False: not a compiled module of Python's. elf may be NULL. */
bool python_function(Elf *elf, const char *path, uint64_t start, char *to, size_t size);
