/* cursor.h - the tables of a trace as SQLite's virtual tables: rows come from the cells that a statement's conditions
 * on rank, time and id leave.
 * In: cells.h.  Out: a module for each table. */
#pragma once

#include "reports/query/cells.h"

struct virtual_tables {
	struct mpix_file *f;
	struct cells *cells;
	struct error *e; /* of what the reader failed with, and its code */
	int code;
};

/* Make all tables in db, an SQLite code; v stays. */
int virtual_tables_define(sqlite3 *db, struct virtual_tables *v);
