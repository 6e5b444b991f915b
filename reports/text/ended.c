/* ended.c - see ended.h. In: job.outcome, job.state, per_rank.exit_status (docs/analysis.schema.json). */
#include "reports/text/ended.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

/* As a shell has it; 0: none failed, as far as is known. */
static double first_bad_code(const cJSON *analysis)
{
	for (const cJSON *row = json_first(analysis, "per_rank"); row != NULL; row = row->next)
		if (json_number_or(row, "exit_status", 0) > 0)
			return json_number(row, "exit_status");
	return 0;
}

/* Slurm's name as words; "": nobody tells. */
static void put_end(const cJSON *outcome, double code, char ret_words[ENDED_TEXT_MAX])
{
	const char *state = json_text(outcome, "state", "");
	if (strcmp(state, "UNKNOWN") == 0)
		state = code > 0 ? "FAILED" : "";
	snprintf(ret_words, ENDED_TEXT_MAX, "%.31s", state);
	for (char *c = ret_words; *c != '\0'; c++)
		*c = *c == '_' ? ' ' : *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
}

const char *ended_record(const cJSON *analysis)
{
	const cJSON *job = cJSON_GetObjectItemCaseSensitive(analysis, "job");
	return strcmp(json_text(job, "state", ""), "partial") == 0 ? "partial record" : "";
}

const char *ended_text(const cJSON *analysis, const char *record, char ret_text[ENDED_TEXT_MAX])
{
	const cJSON *job = cJSON_GetObjectItemCaseSensitive(analysis, "job");
	const cJSON *outcome = cJSON_GetObjectItemCaseSensitive(job, "outcome");
	double launcher = json_number_or(outcome, "launcher_code", 0), signal = json_number(outcome, "signal");
	double code = launcher > 0 ? launcher : first_bad_code(analysis), by = json_number(outcome, "by_user");
	char words[ENDED_TEXT_MAX], why[32] = "";
	put_end(outcome, code, words);
	if (signal > 0)
		snprintf(why, sizeof(why), " (signal %.0f)", signal);
	else if (by >= 0)
		snprintf(why, sizeof(why), " (by user %.0f)", by);
	else if (strcmp(words, "failed") == 0 && code > 0)
		snprintf(why, sizeof(why), " (exit code %.0f)", code);
	if (words[0] == '\0' && record[0] == '\0')
		snprintf(words, sizeof(words), "completed");
	snprintf(ret_text, ENDED_TEXT_MAX, "%.31s%s%s%s", words, why, words[0] != '\0' && record[0] != '\0' ? ", " : "",
		 record);
	return ret_text;
}
