/* cluster.h - the processes of the MPI job that this one is of, for `mpitrace analyze --mpi`. */
#pragma once

#include "base/peers.h"

#include <stdbool.h>

/* By the library of postproc/cluster/ that fits the launcher. NULL with text: no launcher, no library, or its MPI is
 * not the launcher's. */
struct peers *cluster_open(struct error *e);
/* Is there a library for that MPI, "openmpi" or "mpich"? */
bool cluster_has(const char *mpi);
/* As the launcher says, before there is one: is this the process that speaks for all? */
bool cluster_is_first(void);
