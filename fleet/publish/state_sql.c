/* state_sql.c - see state_sql.h. */
#include "fleet/publish/state_sql.h"

#include <errno.h>
#include <stdarg.h>

static sqlite3_stmt *with_numbers(struct state *s, const char *sql, int n, va_list numbers, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f, sql, e);
	for (int i = 1; q != NULL && i <= n; i++)
		sqlite3_bind_int64(q, i, va_arg(numbers, int64_t));
	return q;
}

int state_run(struct state *s, struct error *e, const char *sql, int n, ...)
{
	va_list numbers;
	va_start(numbers, n);
	sqlite3_stmt *q = with_numbers(s, sql, n, numbers, e);
	va_end(numbers);
	if (q == NULL)
		return -EIO;
	int rc = sqlite3_step(q);
	rc = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : fleet_fail(&s->f, e);
	sqlite3_finalize(q);
	return rc;
}

int state_finish(struct state *s, int rc, struct error *e)
{
	if (rc == 0 && (rc = fleet_run(&s->f, "COMMIT", e)) == 0)
		return 0;
	sqlite3_exec(s->f.db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

int state_run_text(struct state *s, const char *sql, const char *text, int64_t a, int64_t b, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f, sql, e);
	if (q == NULL)
		return -EIO;
	sqlite3_bind_text(q, 1, text, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 2, a);
	sqlite3_bind_int64(q, 3, b);
	int rc = sqlite3_step(q) == SQLITE_DONE ? 0 : fleet_fail(&s->f, e);
	sqlite3_finalize(q);
	return rc;
}

int state_number(struct state *s, const char *sql, int64_t *ret_number, struct error *e, int n, ...)
{
	va_list numbers;
	va_start(numbers, n);
	sqlite3_stmt *q = with_numbers(s, sql, n, numbers, e);
	va_end(numbers);
	if (q == NULL)
		return -EIO;
	int got = sqlite3_step(q);
	*ret_number = got == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
	sqlite3_finalize(q);
	return got == SQLITE_ROW || got == SQLITE_DONE ? 0 : fleet_fail(&s->f, e);
}
