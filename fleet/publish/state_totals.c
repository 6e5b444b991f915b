/* state_totals.c - sums of destinations that hold no records. They change in the transaction that lets the batch go
 * which they count, so that a batch that comes again is added to the same sums. */
#include "fleet/publish/state_sql.h"
#include "fleet/publish/totals.h"

#include <errno.h>

static int read_one(sqlite3_stmt *q, struct totals *t)
{
	struct total *x =
		totals_at(t, (const char *)sqlite3_column_text(q, 0), (const char *)sqlite3_column_text(q, 1));
	if (x == NULL)
		return -ENOMEM;
	x->value = x->was = sqlite3_column_double(q, 2);
	return 0;
}

int state_totals_read(struct state *s, const struct destination *d, struct totals *ret_totals, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f, "SELECT metric, labels, value FROM totals WHERE destination=?", e);
	int rc = q != NULL ? 0 : -EIO, got = SQLITE_DONE;
	struct totals t = {0};
	sqlite3_bind_int64(q, 1, d->id);
	while (rc == 0 && (got = sqlite3_step(q)) == SQLITE_ROW)
		if (read_one(q, &t) < 0)
			rc = fail(e, -ENOMEM, "out of memory");
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(&s->f, e);
	sqlite3_finalize(q);
	if (rc < 0)
		totals_done(&t);
	else
		*ret_totals = t;
	return rc;
}

int state_totals_write(struct state *s, const struct destination *d, const struct totals *totals, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f, "INSERT OR REPLACE INTO totals VALUES(?,?,?,?)", e);
	int rc = q != NULL ? 0 : -EIO;
	for (size_t i = 0; i < totals->all.n && rc == 0; i++) {
		const struct total *x = &totals->all.at[i];
		if (x->value == x->was)
			continue;
		sqlite3_bind_int64(q, 1, d->id);
		sqlite3_bind_text(q, 2, x->metric, -1, SQLITE_STATIC);
		sqlite3_bind_text(q, 3, x->labels, -1, SQLITE_STATIC);
		sqlite3_bind_double(q, 4, x->value);
		rc = sqlite3_step(q) == SQLITE_DONE ? 0 : fleet_fail(&s->f, e);
		sqlite3_reset(q);
	}
	sqlite3_finalize(q);
	return rc;
}
