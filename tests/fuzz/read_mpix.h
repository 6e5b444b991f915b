/* read_mpix.h - all that can be asked of an .mpix. */
#pragma once

#include "format/mpix.h"

void read_mpix(const char *path);
/* Of an open one, as columns (read_columns.c). */
void read_columns(struct mpix_file *f);
