/* answer.c - see answer.h. */
#include "fleet/answer.h"

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

static void put_cell(const struct answer *a, int i, const char *text, bool is_number)
{
	if (i > 0)
		fputc(a->form == QUERY_CSV ? ',' : '\t', a->out);
	(a->form == QUERY_CSV && !is_number ? put_csv : put_plain)(a->out, text != NULL ? text : "");
}

static void end_line(const struct answer *a)
{
	fputs(a->form == QUERY_CSV ? "\r\n" : "\n", a->out);
}

static void put_object(const struct answer *a, const struct answer_cell *cells)
{
	cJSON *row = cJSON_CreateObject();
	for (int i = 0; i < a->columns; i++)
		if (cells[i].is_number && cells[i].text != NULL)
			json_put(row, cells[i].name, cells[i].number);
		else
			json_put_text(row, cells[i].name, cells[i].text);
	char *text = json_print(row);
	fprintf(a->out, "%s%s", a->any ? ",\n" : "\n", text != NULL ? text : "null");
	free(text);
	cJSON_Delete(row);
}

void answer_begin(struct answer *a, const struct answer_cell *cells)
{
	if (a->form == QUERY_JSON) {
		fputc('[', a->out);
		return;
	}
	for (int i = 0; i < a->columns; i++)
		put_cell(a, i, cells[i].name, false);
	end_line(a);
}

void answer_row(struct answer *a, const struct answer_cell *cells)
{
	for (int i = 0; i < a->columns && a->form != QUERY_JSON; i++)
		put_cell(a, i, cells[i].text, cells[i].is_number);
	if (a->form == QUERY_JSON)
		put_object(a, cells);
	else
		end_line(a);
	a->any = true;
}

int answer_end(struct answer *a)
{
	if (a->form == QUERY_JSON)
		fputs(a->any ? "\n]\n" : "]\n", a->out);
	return fflush(a->out) == 0 && !ferror(a->out) ? 0 : -EIO;
}
