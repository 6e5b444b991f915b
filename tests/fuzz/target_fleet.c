/* target_fleet.c - any text as a job record, of whom nobody vouches: refused and said, or a job whose sums add up, with
 * pages in which no name opened a tag. */
#include "tests/fuzz/fuzz.h"

#include "fleet/estimate.h"
#include "fleet/ingest.h"
#include "fleet/report.h"

#include <stdlib.h>
#include <string.h>

static void count(void *context, const char *text)
{
	fuzz_check(text[0] != '\0');
	++*(unsigned *)context;
}

static void look_at(const char *page)
{
	const char *ours = strstr(page, "<script>"); /* the only one */
	fuzz_check(ours != NULL && strstr(ours + 1, "<script") == NULL);
	fuzz_check(strstr(page, "<img") == NULL && strstr(page, "<iframe") == NULL);
}

static void put_pages(struct fleet *f)
{
	static const char *const names[] = {"",		 "programs.html", "users.html", "nodes.html",
					    "jobs.html", "job-1.html",	  "jobs.csv",	"programs.json"};
	struct fleet_report r = {.days = 9, .jobs = 9};
	struct error e = {""};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *page = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&page, &len);
		fuzz_check(out != NULL && fleet_page(f, &r, names[i], out, &e) == 0);
		fclose(out);
		if (strstr(names[i], ".csv") == NULL && strstr(names[i], ".json") == NULL)
			look_at(page);
		free(page);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fleet f = {0};
	struct error e = {""};
	unsigned said = 0;
	fuzz_check(fleet_open_memory(&f, &e) == 0);
	struct ingest *g = ingest_begin(&f, count, &said, &e);
	fuzz_check(g != NULL);
	fuzz_check(ingest_record(g, (const char *)data, len_bytes, "fuzz", NULL, &e) == 0);
	fuzz_check(ingest_commit(g, &e) == 0);
	struct ingest_counts c = ingest_counts(g);
	ingest_end(g);
	fuzz_check(c.added + c.refused == 1 && said == c.refused);
	fuzz_check(fleet_check(&f, &e) == 0);
	if (c.added > 0) {
		fuzz_check(fleet_estimate(&f, &e) == 0);
		put_pages(&f);
	}
	fleet_close(&f);
	return 0;
}
