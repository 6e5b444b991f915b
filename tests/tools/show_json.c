/* show_json.c - `mpitrace show` of an analysis given as JSON: show_json ANALYSIS.json. */
#include "base/buf.h"
#include "cli/show.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *in = argc == 2 ? fopen(argv[1], "re") : NULL;
	if (in == NULL) {
		fputs("usage: show_json ANALYSIS.json\n", stderr);
		return 2;
	}
	_cleanup_buf_ struct buf text = {0};
	char piece[4096];
	for (size_t n; (n = fread(piece, 1, sizeof(piece), in)) > 0;)
		buf_bytes(&text, piece, n);
	fclose(in);
	buf_u8(&text, 0);
	cJSON *analysis = buf_failed(&text) ? NULL : cJSON_Parse((const char *)text.data);
	if (analysis == NULL) {
		fputs("show_json: no JSON\n", stderr);
		return 3;
	}
	const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(analysis, "per_rank");
	struct mpix_info info = {.ranks = (uint32_t)cJSON_GetArraySize(ranks)};
	show_summary(analysis, &info);
	cJSON_Delete(analysis);
	return 0;
}
