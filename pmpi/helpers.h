/* helpers.h - threads that the MPI library starts for itself: nobody need take them for the program's. */
#pragma once

#include "pmpi/stream.h"

/* Before MPI_Init, and behind it: who came in between. */
void helpers_begin(void) HIDDEN COLD;
void helpers_note(void) HIDDEN COLD;
