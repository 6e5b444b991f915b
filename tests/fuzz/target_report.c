/* target_report.c - any text as an analysis object: refused, or a page in which no name opened a tag of its own. */
#include "tests/fuzz/fuzz.h"

#include "reports/html/html.h"
#include "tests/fuzz/text.h"

#include <string.h>

/* A page of ours has the analysis, which nobody runs, and no other: an input that got through unescaped does. */
static bool has_script(const char *page, size_t len_bytes)
{
	const char *data = memmem(page, len_bytes, HTML_DATA, strlen(HTML_DATA));
	size_t before = data != NULL ? (size_t)(data - page) : len_bytes;
	size_t after = data != NULL ? before + strlen(HTML_DATA) : len_bytes;
	return memmem(page, before, "<script", 7) != NULL ||
	       memmem(page + after, len_bytes - after, "<script", 7) != NULL ||
	       memmem(page, len_bytes, "<iframe", 7) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct cursor c = cursor_over(data, len_bytes);
	struct error e = {""};
	char *json = text_next(&c), *page = NULL;
	size_t page_bytes = 0;
	FILE *out = open_memstream(&page, &page_bytes);
	fuzz_check(out != NULL);
	int rc = html_report(json, out, &e);
	fclose(out);
	fuzz_check(rc == 0 || e.text[0] != '\0');
	fuzz_check(page_bytes <= HTML_BYTES_MAX && !has_script(page, page_bytes));
	free(page);
	free(json);
	return 0;
}
