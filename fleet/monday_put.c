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

/* What stands below a letter: a line break and a link, or nothing. The caller frees it. */
static char *link_of(const struct monday_letter *l, const char *url)
{
	char *text;
	if (url == NULL || *l->link == '\0')
		return strdup("");
	bool slash = *url != '\0' && url[strlen(url) - 1] == '/';
	return asprintf(&text, "\n%s%s%s", url, slash ? "" : "/", l->link) >= 0 ? text : NULL;
}

/* A letter with its link. The caller frees it. */
static char *letter_text(const struct monday_letter *l, const char *url)
{
	char *text = NULL, *link = link_of(l, url);
	if (link == NULL || asprintf(&text, "%s%s", l->text, link) < 0)
		text = NULL;
	free(link);
	return text;
}

static void put_letters(const struct monday *m, const char *url, FILE *out)
{
	for (size_t i = 0; i < m->sentences.n; i++) {
		const struct monday_sentence *x = &m->sentences.at[i];
		for (size_t k = 0; k < x->letters.n; k++) {
			const char *to = x->letters.at[k].to;
			fprintf(out, "\n%zu. To %s:\n\n", i + 1, *to != '\0' ? to : "who runs the machine");
			char *text = letter_text(&x->letters.at[k], url);
			put_wrapped(out, "    ", "    ", text != NULL ? text : x->letters.at[k].text);
			free(text);
		}
	}
}

static void put_old(const struct monday_old *o, FILE *out)
{
	char *text = NULL, then[32], now[32];
	monday_hours(o->then, then);
	monday_hours(o->now, now);
	if (asprintf(&text, "%s: %s (%s core-hours, now %s)", monday_became(o), o->text, then, now) > 0)
		put_wrapped(out, "- ", "  ", text);
	free(text);
}

static void put_not_known(const struct monday *m, const char *all, FILE *out)
{
	char hours[32];
	monday_hours(m->not_known, hours);
	fprintf(out, "How %s of %s core-hours were spent is not known.\n\n", hours, all);
}

void monday_put_mail(const struct monday *m, const char *url, FILE *out)
{
	char from[16], until[16], saving[32], all[32];
	day_of(m->from, from);
	day_of(m->until - 1, until);
	monday_hours(m->saving, saving);
	monday_hours(m->core_hours, all);
	fprintf(out, "Subject: MPI from %s to %s: ", from, until);
	if (m->jobs > 0)
		fprintf(out, "up to %s of %s core-hours could be saved\n", saving, all);
	else
		fputs("no job of that week is known\n", out);
	fputs("MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n", out);
	if (m->not_known > 0)
		put_not_known(m, all, out);
	for (size_t i = 0; i < m->sentences.n; i++) {
		char before[24];
		snprintf(before, sizeof(before), "%zu. ", i + 1);
		put_wrapped(out, before, "    ", m->sentences.at[i].text);
	}
	if (m->sentences.n == 0)
		fputs(m->jobs > 0 ? "Nothing stands out.\n" : "No job of that week is known.\n", out);
	if (m->old.n > 0)
		fputs("\nWhat was said before:\n\n", out);
	for (size_t i = 0; i < m->old.n; i++)
		put_old(&m->old.at[i], out);
	if (m->sentences.n > 0)
		fputs("\nTexts to send:\n", out);
	put_letters(m, url, out);
}

void monday_put_json(const struct monday *m, const char *url, FILE *out)
{
	char day[16];
	cJSON *top = cJSON_CreateObject();
	json_put_text(top, "schema", "mpitrace/monday/1");
	day_of(m->from, day);
	json_put_text(top, "from", day);
	day_of(m->until - 1, day);
	json_put_text(top, "to", day);
	json_put(top, "core_hours", m->core_hours);
	json_put(top, "not_known_core_hours", m->not_known);
	json_put(top, "could_be_saved", m->saving);
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
			char *text = letter_text(&x->letters.at[k], url);
			cJSON_AddStringToObject(letter, "text", text != NULL ? text : ""); /* with its line breaks */
			json_put_text(letter, "page", x->letters.at[k].link);
			free(text);
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
