/* monday_put.c - Monday's sentences as the text of a mail, and as JSON (docs/FLEET.md has its fields). */
#include "fleet/monday.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS 78 /* of a mail */

static void day_of(int64_t seconds, char ret_text[16])
{
	time_t t = (time_t)seconds;
	struct tm tm;
	if (gmtime_r(&t, &tm) == NULL || strftime(ret_text, 16, "%Y-%m-%d", &tm) == 0)
		snprintf(ret_text, 16, "?");
}

/* Words of a text in lines, the first behind `first`, others behind `before`; its own line breaks stay. */
static void put_wrapped(FILE *out, const char *first, const char *before, const char *text)
{
	size_t at = 0;
	for (fputs(first, out); *text != '\0';) {
		size_t len = strcspn(text, " \n");
		if (at > 0 && at + 1 + len + strlen(before) > COLUMNS) {
			fprintf(out, "\n%s", before);
			at = 0;
		}
		at += (size_t)fprintf(out, "%s%.*s", at > 0 ? " " : "", (int)len, text);
		text += len;
		if (*text == '\n') {
			fprintf(out, "\n%s", before);
			at = 0;
		}
		text += *text != '\0';
	}
	fputc('\n', out);
}

static void put_letters(const struct monday *m, FILE *out)
{
	for (size_t i = 0; i < m->sentences.n; i++) {
		const struct monday_sentence *x = &m->sentences.at[i];
		for (size_t k = 0; k < x->letters.n; k++) {
			const char *to = x->letters.at[k].to;
			fprintf(out, "\n%zu. To %s:\n\n", i + 1, *to != '\0' ? to : "who runs the machine");
			put_wrapped(out, "    ", "    ", x->letters.at[k].text);
		}
	}
}

void monday_put_text(const struct monday *m, FILE *out)
{
	char from[16], until[16];
	day_of(m->from, from);
	day_of(m->until - 1, until);
	double sum = 0;
	for (size_t i = 0; i < m->sentences.n; i++)
		sum += m->sentences.at[i].core_hours;
	fprintf(out, "Subject: MPI from %s to %s: %.0f of %.0f core-hours could be saved\n\n", from, until, sum,
		m->core_hours);
	for (size_t i = 0; i < m->sentences.n; i++) {
		char before[24];
		snprintf(before, sizeof(before), "%zu. ", i + 1);
		put_wrapped(out, before, "    ", m->sentences.at[i].text);
	}
	if (m->sentences.n == 0)
		fputs("Nothing stands out.\n", out);
	if (m->old.n > 0)
		fputs("\nWhat was said before:\n\n", out);
	for (size_t i = 0; i < m->old.n; i++) {
		const struct monday_old *o = &m->old.at[i];
		char *text = NULL;
		if (asprintf(&text, "%s: %s (%.0f core-hours, now %.0f)", monday_became(o), o->text, o->then, o->now) >
		    0)
			put_wrapped(out, "- ", "  ", text);
		free(text);
	}
	if (m->sentences.n > 0)
		fputs("\nTexts to send:\n", out);
	put_letters(m, out);
}

void monday_put_json(const struct monday *m, FILE *out)
{
	char day[16];
	cJSON *top = cJSON_CreateObject();
	json_put_text(top, "schema", "mpitrace/monday/1");
	day_of(m->from, day);
	json_put_text(top, "from", day);
	day_of(m->until - 1, day);
	json_put_text(top, "to", day);
	json_put(top, "core_hours", m->core_hours);
	cJSON *list = json_array(top, "sentences"), *old = json_array(top, "before");
	for (size_t i = 0; i < m->sentences.n; i++) {
		const struct monday_sentence *x = &m->sentences.at[i];
		cJSON *row = json_row(list);
		json_put_text(row, "kind", x->kind);
		json_put_text(row, "key", x->key);
		json_put(row, "core_hours", x->core_hours);
		json_put_text(row, "text", x->text);
		cJSON *letters = json_array(row, "letters");
		for (size_t k = 0; k < x->letters.n; k++) {
			cJSON *letter = json_row(letters);
			json_put_text(letter, "to", *x->letters.at[k].to != '\0' ? x->letters.at[k].to : NULL);
			cJSON_AddStringToObject(letter, "text", x->letters.at[k].text); /* with its line breaks */
		}
	}
	for (size_t i = 0; i < m->old.n; i++) {
		cJSON *row = json_row(old);
		json_put_text(row, "text", m->old.at[i].text);
		json_put(row, "core_hours_then", m->old.at[i].then);
		json_put(row, "core_hours_now", m->old.at[i].now);
		json_put_text(row, "became", monday_became(&m->old.at[i]));
	}
	char *text = json_print(top);
	fprintf(out, "%s\n", text != NULL ? text : "null");
	free(text);
	cJSON_Delete(top);
}
