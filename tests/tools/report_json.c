/* report_json.c - the report of an analysis given as JSON: report_json ANALYSIS.json > PAGE.html.
 * For looking at pages of tests/corpus/analysis without a trace. */
#include "base/buf.h"
#include "reports/html/html.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *in = argc == 2 ? fopen(argv[1], "re") : NULL;
	if (in == NULL) {
		fputs("usage: report_json ANALYSIS.json > PAGE.html\n", stderr);
		return 2;
	}
	_cleanup_buf_ struct buf text = {0};
	char piece[4096];
	for (size_t n; (n = fread(piece, 1, sizeof(piece), in)) > 0;)
		buf_bytes(&text, piece, n);
	fclose(in);
	buf_u8(&text, 0);
	struct error e;
	if (buf_failed(&text) || html_report((const char *)text.data, stdout, &e) < 0) {
		fprintf(stderr, "report_json: %s\n", e.text);
		return 3;
	}
	return 0;
}
