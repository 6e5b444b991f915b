#!/bin/sh
# preprocess.sh MPICC OUTPUT - mpi.h as this MPI's compiler sees it.
set -e
echo '#include <mpi.h>' | "$1" -E -x c - > "$2"
