/* query.h - a question in SQL, answered as text, CSV or JSON. */
#pragma once

#include "fleet/answer.h"
#include "fleet/db.h"

/* One statement that only reads. 0; -EINVAL with SQLite's words, or for one that would write; -EIO. */
int fleet_query(struct fleet *f, const char *sql, enum query_form form, FILE *out, struct error *e);
/* The same with a number for ?1. */
int fleet_query_of(struct fleet *f, const char *sql, sqlite3_int64 id, enum query_form form, FILE *out,
		   struct error *e);
