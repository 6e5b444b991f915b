/* show_text.c - see show_text.h. */
#include "cli/show_text.h"
#include "cli/print.h"
#include "reports/text/waits_bound.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define TEXT_BYTES_MAX 1200

void show_more(size_t n)
{
	if (n > SHOW_TOP)
		printf("  ... %zu more: --json lists all\n", n - SHOW_TOP);
}

struct fmt show_known(const cJSON *row, const char *key, struct fmt (*text)(double))
{
	return isnan(json_number(row, key)) ? (struct fmt){"not known"} : text(json_number(row, key));
}

struct show_name show_name(const char *text, unsigned max_bytes, bool words)
{
	struct show_name t;
	snprintf(t.s, sizeof(t.s), "%.*s", (int)max_bytes, text);
	for (char *c = t.s; *c != 0; c++)
		*c = *c == '_' && words ? ' ' : *c >= ' ' && *c <= '~' ? *c : '?';
	return t;
}

void show_words(const char *text, int column, int indent)
{
	int left = TEXT_BYTES_MAX;
	bool first = true;
	while (*text != 0 && left > 0) {
		char word[SHOW_COLUMNS + 1];
		size_t n = strcspn(text, " ");
		n = n < SHOW_COLUMNS - (size_t)indent ? n : SHOW_COLUMNS - (size_t)indent;
		memcpy(word, text, n);
		word[n] = 0;
		if (!first && column + 1 + (int)n > SHOW_COLUMNS) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (!first) {
			putchar(' ');
			column++;
		}
		if (strncmp(word, "\xc2\xb5s", 3) == 0 && (n == 3 || !isalpha((unsigned char)word[3]))) {
			word[1] = 'u'; /* of microseconds: tables say "us" */
			put_plain(stdout, word + 1, (int)n - 1);
			column--;
		} else {
			put_plain(stdout, word, (int)n);
		}
		first = false;
		column += (int)n;
		left -= (int)n + 1;
		text += n;
		text += strspn(text, " ");
	}
	putchar('\n');
}

bool show_has_events(const cJSON *analysis)
{
	return json_number_or(json_item(analysis, "coverage"), "events", 1) > 0;
}

bool show_knows_waits(const cJSON *analysis)
{
	double wait_s = 0;
	for (const cJSON *row = json_first(analysis, "per_rank"); row != NULL; row = row->next)
		wait_s += fmax(0, json_number_or(row, "wait_s", 0));
	return show_has_events(analysis) && (wait_s > 0 || !waits_are_at_least(analysis));
}

double show_ranks_s(const cJSON *a)
{
	double sum_s = 0;
	for (const cJSON *row = json_first(a, "per_rank"); row != NULL; row = row->next)
		sum_s += json_number_or(row, "useful_s", 0) + json_number_or(row, "mpi_s", 0);
	return sum_s;
}

double show_whole_s(const cJSON *analysis)
{
	double threads_s = json_number_or(json_item(analysis, "summary"), "threads_s", 0);
	double whole_s = threads_s > 0 ? threads_s : show_ranks_s(analysis);
	return whole_s > 0 ? whole_s : NAN;
}
