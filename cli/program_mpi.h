/* program_mpi.h - which MPI library a program will load. */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum mpi_kind {
	MPI_NOT_KNOWN, /* a script, or nothing that can be looked into */
	MPI_NONE,      /* it needs no MPI library; it may load one later */
	MPI_STATIC,    /* statically linked */
	MPI_OPEN,
	MPI_MPICH,
};

struct program_mpi {
	enum mpi_kind kind;
	char library[PATH_MAX]; /* MPI_OPEN, MPI_MPICH: where it lies */
};

/* path is that of the program. Python (path, or the script's first line) is asked for the library of its mpi4py.
 * Nothing of an ELF program is run: the loader only lists what it would load. */
struct program_mpi program_mpi(const char *path);

bool program_is_python(const char *path);
