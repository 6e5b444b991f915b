/* answer.h - the answer to a question, row by row, as text, CSV or JSON: alike whichever database was asked. Its texts
 * are names from records, which anybody may have written: control characters reach no terminal. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum query_form { QUERY_TEXT, QUERY_CSV, QUERY_JSON };

struct answer {
	FILE *out;
	enum query_form form;
	int columns;
	bool any; /* rows so far */
};

struct answer_cell {
	const char *name, *text; /* of its column; NULL: nothing */
	bool is_number;
	double number; /* its value, where it is one: text may have fewer digits */
};

/* Names of columns; only `name` of the cells counts. */
void answer_begin(struct answer *a, const struct answer_cell *cells);
void answer_row(struct answer *a, const struct answer_cell *cells);
/* 0, or -EIO: not all of it could be written. */
int answer_end(struct answer *a);
