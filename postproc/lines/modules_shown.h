/* modules_shown.h - the name of a module for people. */
#pragma once

/* "mpi4py/MPI" for a module that was compiled for Python,
 * ".../dist-packages/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so". Allocated; NULL: another module, or no memory. */
char *module_short(const char *path);
