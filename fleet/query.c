/* query.c - see query.h. Values come from records, which anybody may have written: control characters reach no
 * terminal. */
#include "fleet/query.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void put_plain(FILE *out, const char *text)
{
	char *clean = utf8_clean(text, strlen(text));
	fputs(clean != NULL ? clean : "?", out);
	free(clean);
}

static void put_csv(FILE *out, const char *text)
{
	char *cell = csv_cell(text);
	fputs(cell != NULL ? cell : "?", out);
	free(cell);
}

static const char *text_of(sqlite3_stmt *s, int i)
{
	const char *text =
		sqlite3_column_type(s, i) == SQLITE_BLOB ? "(bytes)" : (const char *)sqlite3_column_text(s, i);
	return text != NULL ? text : "";
}

static void put_row(sqlite3_stmt *s, enum query_form form, FILE *out)
{
	for (int i = 0; i < sqlite3_column_count(s); i++) {
		if (i > 0)
			fputc(form == QUERY_CSV ? ',' : '\t', out);
		int type = sqlite3_column_type(s, i);
		if (form == QUERY_CSV && type != SQLITE_INTEGER && type != SQLITE_FLOAT)
			put_csv(out, text_of(s, i));
		else
			put_plain(out, text_of(s, i));
	}
	fputs(form == QUERY_CSV ? "\r\n" : "\n", out);
}

static void put_object(sqlite3_stmt *s, FILE *out, bool first)
{
	cJSON *row = cJSON_CreateObject();
	for (int i = 0; i < sqlite3_column_count(s); i++) {
		const char *name = sqlite3_column_name(s, i);
		int type = sqlite3_column_type(s, i);
		if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
			json_put(row, name, sqlite3_column_double(s, i));
		else
			json_put_text(row, name, type == SQLITE_NULL ? NULL : text_of(s, i));
	}
	char *text = json_print(row);
	fprintf(out, "%s%s", first ? "\n" : ",\n", text != NULL ? text : "null");
	free(text);
	cJSON_Delete(row);
}

static void put_head(sqlite3_stmt *s, enum query_form form, FILE *out)
{
	if (form == QUERY_JSON) {
		fputc('[', out);
		return;
	}
	for (int i = 0; i < sqlite3_column_count(s); i++) {
		fputs(i == 0 ? "" : form == QUERY_CSV ? "," : "\t", out);
		if (form == QUERY_CSV)
			put_csv(out, sqlite3_column_name(s, i));
		else
			put_plain(out, sqlite3_column_name(s, i));
	}
	fputs(form == QUERY_CSV ? "\r\n" : "\n", out);
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
	int got;
	bool first = true;
	put_head(s, form, out);
	for (; (got = sqlite3_step(s)) == SQLITE_ROW; first = false) {
		if (form == QUERY_JSON)
			put_object(s, out, first);
		else
			put_row(s, form, out);
	}
	if (form == QUERY_JSON)
		fputs(first ? "]\n" : "\n]\n", out);
	if (got != SQLITE_DONE)
		return fleet_fail(f, e);
	return fflush(out) == 0 && !ferror(out) ? 0 : fail(e, -EIO, "cannot write the answer: %s", strerror(errno));
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
