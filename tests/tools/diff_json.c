/* diff_json.c - everything that shows an object "mpitrace/diff/1", run on one: diff_json DIFF.json > PAGE.html, the
 * text on standard error. For watching which fields are read. */
#include "base/buf.h"
#include "cli/show.h"
#include "reports/html/html.h"

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
	FILE *in = argc == 2 ? fopen(argv[1], "re") : NULL;
	if (in == NULL) {
		fputs("usage: diff_json DIFF.json > PAGE.html\n", stderr);
		return 2;
	}
	_cleanup_buf_ struct buf text = {0};
	char piece[4096];
	for (size_t n; (n = fread(piece, 1, sizeof(piece), in)) > 0;)
		buf_bytes(&text, piece, n);
	fclose(in);
	buf_u8(&text, 0);
	cJSON *diff = buf_failed(&text) ? NULL : cJSON_Parse((const char *)text.data);
	int code = show(diff);
	cJSON_Delete(diff);
	return code;
}
