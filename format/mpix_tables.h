/* mpix_tables.h - what an .mpix has of each group of ranks and each clock (mpix_tables.c). Private to
 * format/mpix_*.c. */
#pragma once

#include "format/mpix_chunks.h"
#include "format/mpix_head.h"

/* SIGNATURES, OBJECTS and STACKS of all groups. */
int mpix_tables_write(const struct mpix_head *h, struct mpix_chunks *out, struct error *e);
int mpix_clocks_write(const struct mpix_head *h, struct mpix_chunks *out, struct error *e);
