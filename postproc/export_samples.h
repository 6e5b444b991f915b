/* export_samples.h - what a call that is open is, by what its thread said of it: operation and address. */
#pragma once

#include "postproc/read/step.h"

struct calls; /* of all processes, sorted when one is first asked for */

/* NULL without memory; to be given to calls_free(). */
struct calls *calls_of(const struct step *s);
void calls_free(struct calls *c);
/* A signature of p with this operation (its number in the file) and address; NULL: none, or no memory. */
const struct sig *calls_find(struct calls *c, const struct process *p, uint16_t op, uint64_t address);
