/* target_report.c - any text as an analysis object: refused, or a page in which no name opened a tag of its own. */
#include "tests/fuzz/fuzz.h"

#include "reports/html/html.h"
#include "tests/fuzz/text.h"

/* No page of ours has it: an input that got through unescaped does. */
static bool has_script(const char *page, size_t len_bytes)
{
	return memmem(page, len_bytes, "<script", 7) != NULL || memmem(page, len_bytes, "<iframe", 7) != NULL;
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
