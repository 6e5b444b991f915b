/* cmd_query.c - `mpitrace query FILE.mpix "SELECT ..."`: a question to a trace in SQL.
 * In: an .mpix, one statement.  Out: a table, CSV, or one JSON object a row and line. */
#include "base/csv.h"
#include "base/json_quote.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/losses.h"
#include "cli/print.h"
#include "reports/query/query.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define TIMEOUT_S 600
#define TIMEOUT_S_MAX 1000000l
#define MEASURED_ROWS 200 /* whose widths a table of text follows */
#define WIDTH_MAX 48
#define TEXT_BYTES_MAX (1 << 20)

enum form { FORM_TEXT, FORM_CSV, FORM_JSON };

struct options {
	const char *path, *sql;
	enum form form;
	unsigned timeout_s;
};

struct output {
	enum form form;
	VEC(char *) held; /* values of rows that wait for their widths, NULL for null */
	VEC(int) widths;
	int ncolumns;
	bool measured;
	uint64_t rows;
};

/* ---- a table of text: columns as wide as the first rows need ---- */

static void put_cell(const char *text, int width, bool last)
{
	int shown = 0;
	for (const char *c = text; *c != '\0'; c++)
		shown += (*c & 0xc0) != 0x80;
	put_plain(stdout, text, TEXT_BYTES_MAX);
	if (!last)
		printf("%*s", shown < width ? width - shown + 2 : 2, "");
}

static void put_texts(struct output *o, char **values)
{
	for (int i = 0; i < o->ncolumns; i++)
		put_cell(values[i] != NULL ? values[i] : "-", o->widths.at[i], i + 1 == o->ncolumns);
	putchar('\n');
}

static void put_held(struct output *o)
{
	size_t n = (size_t)o->ncolumns;
	for (size_t i = 0; n > 0 && i + n <= o->held.n; i += n)
		put_texts(o, o->held.at + i);
	for (size_t i = 0; i < o->held.n; i++)
		free(o->held.at[i]);
	o->held.n = 0;
	o->measured = true;
}

/* The head is the first row. */
static int hold(struct output *o, int column, const char *text)
{
	char *copy = text != NULL ? strdup(text) : NULL;
	int width = text != NULL ? (int)strnlen(text, WIDTH_MAX) : 1;
	if ((text != NULL && copy == NULL) || vec_push(&o->held, copy) < 0) {
		free(copy);
		return -ENOMEM;
	}
	if (o->widths.at[column] < width)
		o->widths.at[column] = width;
	return 0;
}

/* ---- values ---- */

static void put_csv(const char *text)
{
	char *cell = csv_cell(text);
	fputs(cell != NULL ? cell : "?", stdout);
	free(cell);
}

/* As short as it may be and still the same when it is read. */
static void put_real(double value)
{
	char text[32];
	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	fputs(text, stdout);
}

static void put_json(sqlite3_stmt *row, int i)
{
	int type = sqlite3_column_type(row, i);
	const char *text = type != SQLITE_FLOAT ? (const char *)sqlite3_column_text(row, i) : "";
	if (type == SQLITE_NULL || text == NULL || (type == SQLITE_FLOAT && !isfinite(sqlite3_column_double(row, i))))
		fputs("null", stdout);
	else if (type == SQLITE_FLOAT)
		put_real(sqlite3_column_double(row, i));
	else if (type == SQLITE_INTEGER)
		fputs(text, stdout);
	else
		json_quote_to(stdout, text);
}

static void put_csv_value(sqlite3_stmt *row, int i)
{
	int type = sqlite3_column_type(row, i);
	const char *text = type != SQLITE_FLOAT ? (const char *)sqlite3_column_text(row, i) : NULL;
	if (type == SQLITE_FLOAT)
		put_real(sqlite3_column_double(row, i));
	else if (type == SQLITE_INTEGER && text != NULL)
		fputs(text, stdout);
	else if (text != NULL)
		put_csv(text);
}

static int put_columns(void *context, sqlite3_stmt *row)
{
	struct output *o = context;
	int rc = 0;
	o->ncolumns = sqlite3_column_count(row);
	for (int i = 0; i < o->ncolumns && rc == 0; i++) {
		const char *name = sqlite3_column_name(row, i);
		rc = vec_push(&o->widths, 0);
		if (rc == 0 && o->form == FORM_TEXT)
			rc = hold(o, i, name);
		if (rc == 0 && o->form == FORM_CSV) {
			fputs(i > 0 ? "," : "", stdout);
			put_csv(name != NULL ? name : "");
		}
	}
	if (o->form == FORM_CSV)
		putchar('\n');
	return rc;
}

/* One value, in its form; text waits until widths are known. */
static int put_value(struct output *o, sqlite3_stmt *row, int i)
{
	const char *text;
	switch (o->form) {
	case FORM_JSON:
		fputs(i > 0 ? "," : "{", stdout);
		json_quote_to(stdout, sqlite3_column_name(row, i));
		putchar(':');
		put_json(row, i);
		return 0;
	case FORM_CSV:
		fputs(i > 0 ? "," : "", stdout);
		put_csv_value(row, i);
		return 0;
	default:
		text = (const char *)sqlite3_column_text(row, i);
		if (!o->measured)
			return hold(o, i, text);
		put_cell(text != NULL ? text : "-", o->widths.at[i], i + 1 == o->ncolumns);
		return 0;
	}
}

static int put_row(void *context, sqlite3_stmt *row)
{
	struct output *o = context;
	int rc = 0;
	for (int i = 0; i < o->ncolumns && rc == 0; i++)
		rc = put_value(o, row, i);
	if (o->form == FORM_JSON)
		putchar('}');
	o->rows++;
	if (o->form != FORM_TEXT || o->measured)
		putchar('\n');
	else if (o->rows == MEASURED_ROWS)
		put_held(o);
	return rc == 0 && ferror(stdout) ? -EIO : rc;
}

/* ---- the command ---- */

static int parse_option(struct options *o, int key)
{
	char *end;
	if (key == 'j' || key == 'c') {
		o->form = key == 'j' ? FORM_JSON : FORM_CSV;
		return EXIT_DONE;
	}
	if (key != 't')
		return usage_error("query", "unknown option, or its value is missing");
	long seconds = strtol(optarg, &end, 10);
	if (*optarg == '\0' || *end != '\0' || seconds < 0 || seconds > TIMEOUT_S_MAX)
		return usage_error("query", "--timeout %.64s: not a number of seconds", optarg);
	o->timeout_s = (unsigned)seconds;
	return EXIT_DONE;
}

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {{"json", no_argument, NULL, 'j'},
					      {"csv", no_argument, NULL, 'c'},
					      {"timeout", required_argument, NULL, 't'},
					      {NULL, 0, NULL, 0}};
	int key, rc = EXIT_DONE;
	opterr = 0;
	*o = (struct options){.timeout_s = TIMEOUT_S};
	while (rc == EXIT_DONE && (key = getopt_long(argc, argv, "", names, NULL)) != -1)
		rc = parse_option(o, key);
	if (rc == EXIT_DONE && optind + 2 != argc)
		return usage_error("query", "give one FILE.mpix and one statement, in quotes");
	o->path = argv[optind];
	o->sql = rc == EXIT_DONE ? argv[optind + 1] : NULL;
	return rc;
}

static int exit_code(int rc)
{
	if (rc == -EINVAL)
		return EXIT_USAGE;
	return rc == -ETIME || rc == -ENOMEM || rc == -EIO ? EXIT_PARTIAL : EXIT_BAD_INPUT;
}

static int ask(const struct options *o, struct error *e)
{
	struct query *q;
	struct output out = {.form = o->form};
	int rc = query_open(o->path, &q, e);
	if (rc < 0)
		return rc;
	rc = query_run(q, o->sql, o->timeout_s, put_columns, put_row, &out, e);
	if (rc < 0 && out.rows == 0) /* columns of no answer */
		out.ncolumns = 0;
	put_held(&out);
	vec_done(&out.held);
	vec_done(&out.widths);
	query_close(q);
	return rc;
}

static int query(int argc, char **argv)
{
	struct options o;
	struct error e = {{0}};
	int rc = parse(&o, argc, argv);
	if (rc != EXIT_DONE)
		return rc;
	rc = ask(&o, &e);
	fflush(stdout);
	if (rc == 0)
		losses_say("query", o.path);
	if (rc == 0 || ferror(stdout)) /* main() says that one */
		return EXIT_DONE;
	fprintf(stderr, "mpitrace query: %s\n", e.text[0] != '\0' ? e.text : strerror(-rc));
	return exit_code(rc);
}

const struct command cmd_query = {"query", query, "ask a trace in SQL",
				  "query FILE.mpix \"SELECT ...\" [--csv] [--json] [--timeout S]"};
