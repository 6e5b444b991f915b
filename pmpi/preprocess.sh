#!/bin/sh
# preprocess.sh MPICC OUTPUT - mpi.h as this MPI's compiler sees it.
echo '#include <mpi.h>' | "$1" -E -x c - > "$2" || { echo "$1 cannot preprocess mpi.h, see above: is its development package whole?" >&2; exit 1; }
