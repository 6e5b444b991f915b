/* ended.c - how a job ended, in words, by what its launcher or Slurm said, its ranks' exit codes and its record. */
#include "reports/text/ended.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

struct ended_case {
	char json[256], record[32], want[ENDED_TEXT_MAX];
};

ParameterizedTestParameters(ended, words)
{
	static struct ended_case cases[] = {
		{"{\"job\":{\"outcome\":{\"state\":\"COMPLETED\",\"launcher_code\":0}}}", "", "completed"},
		{"{\"job\":{\"outcome\":{\"state\":\"FAILED\",\"launcher_code\":3}}}", "", "failed (exit code 3)"},
		{"{\"job\":{\"outcome\":{\"state\":\"FAILED\"}},\"per_rank\":[{\"exit_status\":0},{\"exit_status\":139}"
		 "]}",
		 "partial record", "failed (exit code 139), partial record"},
		{"{\"job\":{\"outcome\":{\"state\":\"UNKNOWN\"}},\"per_rank\":[{\"exit_status\":3}]}", "",
		 "failed (exit code 3)"},
		{"{\"job\":{\"outcome\":{\"state\":\"UNKNOWN\"}},\"per_rank\":[{\"exit_status\":null}]}", "",
		 "completed"},
		{"{\"job\":{\"outcome\":{\"state\":\"STOPPED\",\"signal\":15,\"launcher_code\":143}}}", "",
		 "stopped (signal 15)"},
		{"{\"job\":{\"outcome\":{\"state\":\"CANCELLED\",\"by_user\":0}}}", "partial record",
		 "cancelled (by user 0), partial record"},
		{"{\"job\":{\"outcome\":{\"state\":\"TIMEOUT\",\"launcher_code\":1}}}", "", "timeout"},
		{"{\"job\":{\"outcome\":{\"state\":\"OUT_OF_MEMORY\"}}}", "", "out of memory"},
		{"{\"job\":{\"outcome\":{\"state\":\"COMPLETED\"}}}", "events not analysed yet",
		 "completed, events not analysed yet"},
		{"{\"job\":{}}", "partial record", "partial record"}, /* an imported trace */
		{"{}", "", "completed"},
	};
	return cr_make_param_array(struct ended_case, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct ended_case *c, ended, words)
{
	char text[ENDED_TEXT_MAX];
	cJSON *analysis = cJSON_Parse(c->json);
	cr_expect_str_eq(ended_text(analysis, c->record, text), c->want, "%s: %s", c->json, text);
	cJSON_Delete(analysis);
}

Test(ended, record_is_partial_or_whole)
{
	cJSON *partial = cJSON_Parse("{\"job\":{\"state\":\"partial\"}}"),
	      *whole = cJSON_Parse("{\"job\":{\"state\":\"completed\"}}");
	cr_expect_str_eq(ended_record(partial), "partial record");
	cr_expect_str_eq(ended_record(whole), "");
	cJSON_Delete(partial);
	cJSON_Delete(whole);
}
