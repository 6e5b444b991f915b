/* tables.h - the tables of a trace as a data base, the same for `export --to sqlite`, which fills them, and `query`,
 * which computes them: their columns, and what stands in a row. docs/EXPORT.md says what they mean.
 * In: the reader's events, messages, waits, samples.  Out: rows; small tables filled, views made. */
#pragma once

#include "reports/export/definitions.h"
#include "reports/export/opens.h"

#include <sqlite3.h>

#define ROW_COLUMNS_MAX 17

enum table_id {
	TABLE_EVENTS,
	TABLE_MESSAGES,
	TABLE_WAITS,
	TABLE_SAMPLES,	    /* a thread of a sample */
	TABLE_SAMPLE_CALLS, /* a place of its calls */
	TABLES
};

struct table {
	const char *name, *columns; /* as between the parentheses of CREATE TABLE */
	int ncolumns;
};
extern const struct table tables[TABLES];

struct row {
	int64_t at[ROW_COLUMNS_MAX];
	uint32_t nulls; /* bit i: column i is null */
};

/* id: number of an event from 1, group of ranks by group, whatever is chosen, with gaps; of a message, window by
 * window, of those that are chosen. */
void row_of_event(struct row *ret_row, uint64_t id, uint32_t rank, const struct mpix_event *call);
void row_of_message(struct row *ret_row, const struct mpix_file *f, uint64_t id, const struct mpix_link *link);
/* causer: a lane, or DEFINITION_NONE. */
void row_of_wait(struct row *ret_row, const struct mpix_file *f, uint64_t event, uint8_t state, int64_t ns,
		 uint32_t causer);
void row_of_sample(struct row *ret_row, const struct mpix_file *f, const struct mpix_sample *s,
		   const struct mpix_sample_thread *t);
/* 0, or what mpix_tick_ns() failed with. */
int row_of_sample_call(struct row *ret_row, struct mpix_file *f, const struct mpix_sample *s,
		       const struct mpix_sample_thread *t, const struct mpix_sample_cell *c, struct error *e);

/* Make and fill the tables of what rows name; an SQLite code. info: with the names of all functions. */
int tables_define(sqlite3 *db, struct mpix_file *f, const struct mpix_info *info, const struct definitions *d);
/* Views over all tables, to be made when those are there. */
extern const char tables_views[];
