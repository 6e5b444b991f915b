/* report_json.c - the report of an analysis given as JSON: report_json ANALYSIS.json > PAGE.html.
 * For looking at pages of tests/corpus/analysis without a trace. */
#include "reports/html/html.h"
#include "tests/tools/json_file.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct buf text;
	struct error e;
	cJSON_Delete(json_file(argc, argv, &text));
	int code = html_report((const char *)text.data, stdout, &e);
	if (code < 0)
		fprintf(stderr, "report_json: %s\n", e.text);
	buf_done(&text);
	return code < 0 ? 3 : 0;
}
