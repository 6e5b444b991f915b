/* diff_json.c - everything that shows an object "mpitrace/diff/1", run on one: diff_json DIFF.json > PAGE.html, the
 * text on standard error. For watching which fields are read. */
#include "cli/show.h"
#include "reports/html/html.h"
#include "tests/tools/json_file.h"

#include <stdio.h>
#include <unistd.h>

static int show(const cJSON *diff)
{
	struct error e;
	FILE *page = fdopen(dup(STDOUT_FILENO), "w");
	if (page == NULL || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || html_report_compared("{}", diff, page, &e) < 0)
		return 3;
	fclose(page);
	show_diff(diff);
	return 0;
}

int main(int argc, char **argv)
{
	cJSON *diff = json_file(argc, argv, NULL);
	int code = show(diff);
	cJSON_Delete(diff);
	return code;
}
