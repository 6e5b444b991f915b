/* ended.c - see ended.h. In: job.outcome, job.state, per_rank.exit_status (docs/analysis.schema.json). */
#include "reports/text/ended.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *state, *words;
} ends[] = {
	{"COMPLETED", "completed"},	{"FAILED", "failed"},	    {"STOPPED", "stopped"},
	{"CANCELLED", "cancelled"},	{"TIMEOUT", "time limit"},  {"OUT_OF_MEMORY", "out of memory"},
	{"NODE_FAIL", "a node failed"}, {"PREEMPTED", "preempted"}, {"REQUEUED", "requeued"},
};

static const char *words_of(const char *state)
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(ends[i].state, state) == 0)
			return ends[i].words;
	return NULL;
}

/* As a shell has it; 0: none failed, as far as is known. */
static double first_bad_code(const cJSON *analysis)
{
	for (const cJSON *row = json_first(analysis, "per_rank"); row != NULL; row = row->next)
		if (json_number_or(row, "exit_status", 0) > 0)
			return json_number(row, "exit_status");
	return 0;
}

/* "": nobody tells. */
static const char *end_of(const cJSON *outcome, double code)
{
	const char *words = words_of(json_text(outcome, "state", ""));
	if (words == NULL)
		words = code > 0 && outcome != NULL ? words_of("FAILED") : "";
	return words;
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
	const char *words = end_of(outcome, code);
	char why[32] = "";
	if (signal > 0)
		snprintf(why, sizeof(why), " (signal %.0f)", signal);
	else if (by >= 0)
		snprintf(why, sizeof(why), " (by user %.0f)", by);
	else if (strcmp(words, "failed") == 0 && code > 0)
		snprintf(why, sizeof(why), " (exit code %.0f)", code);
	if (words[0] == '\0' && record[0] == '\0')
		words = "completed";
	snprintf(ret_text, ENDED_TEXT_MAX, "%s%s%s%s", words, why, words[0] != '\0' && record[0] != '\0' ? ", " : "",
		 record);
	return ret_text;
}
