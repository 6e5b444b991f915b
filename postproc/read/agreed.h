/* agreed.h - what MPI demands to be equal on all members of a collective operation, as far as calls record it. */
#pragma once

#include "postproc/read/step.h"

/* Equal on all members if their sizes fit; 0 where nothing must, or nothing can be said. */
uint64_t agreed_of(const struct step *s, const struct process *p, const struct sig *sig);
/* Bytes that it stands for, for people; 0 when it is a list. */
uint64_t agreed_bytes(const struct process *p, const struct sig *sig);
