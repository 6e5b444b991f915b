/* typesig.h - the signature of a datatype. */
#pragma once

#include "format/typesig.h"
#include "pmpi/library.h"

/* Asks MPI; for the first use of a type. */
struct typesig typesig_of(MPI_Datatype type) HIDDEN COLD;

/* Asks MPI: one that is there as long as MPI is. */
bool typesig_is_predefined(MPI_Datatype type) HIDDEN COLD;
