/* state_show.c - how it stands. */
#include "fleet/publish/dead.h"
#include "fleet/publish/state_sql.h"

#include <errno.h>
#include <string.h>

int state_counts(struct state *s, const struct destination *d, struct state_counts *ret_c, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(
		&s->f,
		"SELECT (SELECT count(*) FROM deliveries WHERE destination=?1 AND dead=0), done,"
		" (SELECT count(*) FROM deliveries WHERE destination=?1 AND dead=1), dropped, failures, next, said"
		" FROM destinations WHERE id=?1",
		e);
	int64_t *numbers[] = {&ret_c->waiting, &ret_c->done,	 &ret_c->dead,
			      &ret_c->dropped, &ret_c->failures, &ret_c->next};
	if (q == NULL)
		return -EIO;
	sqlite3_bind_int64(q, 1, d->id);
	int rc = sqlite3_step(q) == SQLITE_ROW ? 0 : fleet_fail(&s->f, e);
	for (int i = 0; i < 6 && rc == 0; i++)
		*numbers[i] = sqlite3_column_int64(q, i);
	if (rc == 0)
		snprintf(ret_c->said, sizeof(ret_c->said), "%s", (const char *)sqlite3_column_text(q, 6));
	sqlite3_finalize(q);
	return rc;
}

int state_file(struct state *s, const struct destination *d, char ret_which[64], int64_t *ret_bytes, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f, "SELECT which, bytes FROM destinations WHERE id=?", e);
	if (q == NULL)
		return -EIO;
	sqlite3_bind_int64(q, 1, d->id);
	int rc = sqlite3_step(q) == SQLITE_ROW ? 0 : fleet_fail(&s->f, e);
	if (rc == 0) {
		snprintf(ret_which, 64, "%s", (const char *)sqlite3_column_text(q, 0));
		*ret_bytes = sqlite3_column_int64(q, 1);
	}
	sqlite3_finalize(q);
	return rc;
}

int state_set_file(struct state *s, const struct destination *d, const char *which, int64_t bytes, struct error *e)
{
	return state_run_text(s, "UPDATE destinations SET which=?, bytes=?3 WHERE id=?2", which, d->id, bytes, e);
}

static int print_one(const char *name, const char *reason, const char *text, FILE *to)
{
	char *line = dead_text(name, reason, text);
	int rc = line != NULL && fprintf(to, "%s\n", line) > 0 ? 0 : -EIO;
	cJSON_free(line);
	return rc;
}

int state_print_dead(struct state *s, FILE *to, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f,
					"SELECT d.name, x.reason, r.text FROM deliveries x JOIN destinations d ON"
					" d.id=x.destination JOIN records r ON r.id=x.record WHERE x.dead=1 ORDER BY "
					"d.id, r.id",
					e);
	int rc = q != NULL ? 0 : -EIO, got = SQLITE_DONE;
	while (rc == 0 && (got = sqlite3_step(q)) == SQLITE_ROW)
		if (print_one((const char *)sqlite3_column_text(q, 0), (const char *)sqlite3_column_text(q, 1),
			      (const char *)sqlite3_column_text(q, 2), to) < 0)
			rc = fail(e, -EIO, "cannot write: %s", strerror(errno));
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(&s->f, e);
	sqlite3_finalize(q);
	return rc;
}
