/* reader.h - what the parts of the reader in the browser share: how a function is given to the worker, the columns that
 * it takes away, and the memory (memory.c). */
#pragma once

#include "format/mpix_columns.h"

#define EXPORTED(name) __attribute__((export_name(name)))

/* Of whatever was asked last. */
extern struct mpix_table table;
extern struct error error; /* its text is what was wrong last */

/* What is allocated after memory_keep() goes at memory_reset(), all at once. */
void memory_keep(void);
void memory_reset(void);

/* As "%.*f" or "%.*g" do it, ended by a zero; to has room for the largest. */
void print_double(double value, int digits, bool is_fixed, char *to);
