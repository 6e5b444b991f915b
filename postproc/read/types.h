/* types.h - datatypes of all processes by what they are made of, so that what was sent and what was received can be
 * compared by a number (MPI 4.0, 3.3.1). */
#pragma once

#include "postproc/read/step.h"

/* Kind 0 fits everything: MPI_PACKED, types without elements and those of which nothing is recorded. */
#define TYPE_FITS_ALL 0u

/* Enter one datatype of p: 0 or -ENOMEM. */
int types_add(struct step *s, struct process *p, const struct mpic_def *d);
void types_done(struct step *s);
/* Of the datatype with this local id; TYPE_FITS_ALL when it is not known. */
uint32_t types_kind(const struct process *p, uint32_t datatype);
/* Bytes of count elements; of MPIC_NO_TYPE counts are bytes. */
uint64_t types_bytes(const struct process *p, uint64_t count, uint32_t datatype);
/* May so many elements of a be received as elements of b (of which there may be more)? Kinds are different. */
bool types_match(const struct process *pa, uint32_t a, uint64_t count, const struct process *pb, uint32_t b);
/* "MPI_INT", "a type of 3 elements". Returns text. */
const char *types_text(const struct process *p, uint32_t datatype, char *text, size_t size);
/* MPI_BYTE or made of it? */
bool types_is_byte(const struct process *p, uint32_t datatype);
