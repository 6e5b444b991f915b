/* transport.h - what messages travel by. */
#pragma once

#include "pmpi/record.h"

/* Note which parts of the MPI library and of the network's libraries are loaded, into the segment file. library: what
 * MPI_Get_library_version() says. When MPI_Init is over: what it did not choose is unloaded by then. */
void transport_note(const char *library) HIDDEN COLD;
