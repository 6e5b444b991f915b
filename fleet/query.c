/* query.c - see query.h. */
#include "fleet/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(sqlite3_stmt *s, int i)
{
	int type = sqlite3_column_type(s, i);
	const char *text = type == SQLITE_BLOB ? "(bytes)" : (const char *)sqlite3_column_text(s, i);
	return text != NULL || type == SQLITE_NULL ? text : "";
}

static void take_row(sqlite3_stmt *s, struct answer_cell *cells, int n)
{
	for (int i = 0; i < n; i++) {
		int type = sqlite3_column_type(s, i);
		cells[i].is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
		cells[i].number = cells[i].is_number ? sqlite3_column_double(s, i) : 0;
		cells[i].text = text_of(s, i);
	}
}

/* Reading is all that is allowed, whatever the statement is: also ATTACH, which would make a file. */
static int authorize(void *context, int action, const char *a, const char *b, const char *c, const char *d)
{
	(void)context;
	(void)a;
	(void)c;
	(void)d;
	if (action == SQLITE_FUNCTION && b != NULL && (strcmp(b, "load_extension") == 0 || strcmp(b, "writefile") == 0))
		return SQLITE_DENY;
	return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
			       action == SQLITE_RECURSIVE
		       ? SQLITE_OK
		       : SQLITE_DENY;
}

static int run(struct fleet *f, sqlite3_stmt *s, enum query_form form, FILE *out, struct error *e)
{
	struct answer a = {.out = out, .form = form, .columns = sqlite3_column_count(s)};
	struct answer_cell *cells = calloc((size_t)a.columns + 1, sizeof(*cells));
	int got = SQLITE_DONE;
	if (cells == NULL)
		return fail(e, -ENOMEM, "out of memory");
	for (int i = 0; i < a.columns; i++)
		cells[i].name = sqlite3_column_name(s, i);
	answer_begin(&a, cells);
	while ((got = sqlite3_step(s)) == SQLITE_ROW) {
		take_row(s, cells, a.columns);
		answer_row(&a, cells);
	}
	free(cells);
	int rc = answer_end(&a);
	if (got != SQLITE_DONE)
		return fleet_fail(f, e);
	return rc == 0 ? 0 : fail(e, -EIO, "cannot write the answer: %s", strerror(errno));
}

int fleet_query_of(struct fleet *f, const char *sql, sqlite3_int64 id, enum query_form form, FILE *out, struct error *e)
{
	sqlite3_stmt *s = NULL;
	const char *rest = "";
	sqlite3_set_authorizer(f->db, authorize, NULL);
	int rc = sqlite3_prepare_v2(f->db, sql, -1, &s, &rest) == SQLITE_OK
			 ? 0
			 : fail(e, -EINVAL,
				"%s; only questions are answered: SELECT ... FROM job_list, node_list, change_list, "
				"days, causes",
				sqlite3_errmsg(f->db));
	if (rc == 0 && (s == NULL || rest[strspn(rest, " \t\n;")] != '\0'))
		rc = fail(e, -EINVAL, "give one statement");
	if (rc == 0 && sqlite3_bind_parameter_count(s) > 0)
		sqlite3_bind_int64(s, 1, id);
	if (rc == 0)
		rc = run(f, s, form, out, e);
	sqlite3_finalize(s);
	sqlite3_set_authorizer(f->db, NULL, NULL);
	return rc;
}

int fleet_query(struct fleet *f, const char *sql, enum query_form form, FILE *out, struct error *e)
{
	return fleet_query_of(f, sql, 0, form, out, e);
}
