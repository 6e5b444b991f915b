/* query.h - a question to a trace in SQL, answered from the .mpix itself: its tables are those of `export --to sqlite`,
 * but nothing is written. One statement that reads; what would write, attach, load or set anything is refused.
 * In: an .mpix, SQL.  Out: rows, one at a time. Memory is bounded, sorting uses SQLite's temporary files. */
#pragma once

#include "base/error.h"

#include <sqlite3.h>

struct query;

/* What a sink sees; columns and values are read from the statement. A sink that returns other than 0 ends it. */
typedef int (*query_row)(void *context, sqlite3_stmt *row);

/* 0, or as mpix_open() fails; -EINVAL for a trace of version 1. */
int query_open(const char *path, struct query **ret_query, struct error *e);
/* -EINVAL: wrong SQL, or SQL that does more than read; -ETIME: over timeout_s (0: none); -EBADMSG: the trace is
 * damaged; -ENOMEM. columns is called once before the first row, also when there is none. */
int query_run(struct query *q, const char *sql, unsigned timeout_s, query_row columns, query_row row, void *context,
	      struct error *e);
void query_close(struct query *q);
