/* html_job.c - the page of a job: what its steps cost together, which of them to open first. */
#include "reports/html/job.h"
#include "tests/unit/html_probe.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A step of two ranks: of their 20 s, 4 s in MPI. */
#define STEP(coverage, issues) \
	"{\"job\":{\"program\":\"/bin/halo\"},\"coverage\":{" coverage "},\"per_rank\":[" \
	"{\"rank\":0,\"useful_s\":9,\"mpi_s\":1,\"wait_s\":0.5},{\"rank\":1,\"useful_s\":7,\"mpi_s\":3,\"wait_s\":1." \
	"5}" \
	"],\"issues\":[" issues "]}"
#define ISSUE(name, severity, loss) \
	"{\"issue\":\"" name "\",\"severity\":\"" severity "\",\"what\":\"x\",\"loss_s\":" loss "}"

/* Of steps with these names and analyses, up to NULL; the caller frees. */
static char *job_page(const char *name, ...)
{
	struct job_steps all = {0};
	char *page = NULL;
	size_t len_bytes;
	va_list args;
	va_start(args, name);
	for (; name != NULL; name = va_arg(args, const char *)) {
		const char *analysis = va_arg(args, const char *);
		cr_assert_eq(job_add(&all, name, NULL, analysis), 0, "%s", name);
	}
	va_end(args);
	FILE *out = open_memstream(&page, &len_bytes);
	html_job(&all, "mpitrace-7", out);
	fclose(out);
	job_done(&all);
	cr_expect(page_is_sound(page));
	return page;
}

static void says(const char *page, const char *text)
{
	cr_expect_not_null(strstr(page, text), "no \"%s\"", text);
}

/* Rows have these texts, in this order. */
static void expect_rows(const char *page, const char *const *row)
{
	const char *at = strstr(page, "<tbody>");
	for (; *row != NULL; row++) {
		const char *next = at != NULL ? strstr(at, *row) : NULL;
		cr_expect_not_null(next, "%s is not behind what goes before it", *row);
		at = next != NULL ? next : at;
	}
}

Test(html_job, what_went_wrong_is_first_then_what_lost_most_then_the_dearest)
{
	char *page = job_page("step-0", STEP("", ISSUE("late_sender", "medium", "1")), "step-1",
			      STEP("\"complete\":false", ISSUE("late_sender", "high", "2")), "step-2",
			      STEP("", ISSUE("deadlock", "high", "0.5")), "step-3", NULL, "step-4", STEP("", ""),
			      "step-5", STEP("", ISSUE("delay", "low", "9")), "step-6",
			      "{\"per_rank\":[{\"rank\":0,\"useful_s\":90,\"mpi_s\":10}]}", NULL);
	expect_rows(page, (const char *const[]){">step-2<", "\xe2\x96\xa0 ranks in a deadlock", ">step-1<",
						"halo \xc2\xb7 partial<",
						"\xe2\x96\xa0 receivers waiting for late senders, 2.00", ">step-0<",
						"\xe2\x96\xb2 receivers waiting for late senders, 1.00", ">step-6<",
						">step-4<", ">step-5<", ">step-3<", "no trace that can be read", NULL});
	says(page, "MPI took 15\xc2\xa0% of the ranks\xe2\x80\x99 time in 6 steps. Main cause: receivers waiting for "
		   "late senders.");
	says(page, "In 2 steps it costs 3.00\xc2\xa0s of all ranks\xe2\x80\x99 time, 1.5\xc2\xa0% of it all.");
	says(page, "1 step did not go as it should: the first below.");
	says(page, "<dt>steps, 1 without a trace, 1 partial</dt><dd>7</dd>");
	free(page);
}

Test(html_job, of_steps_without_an_issue_there_is_nothing_to_fix)
{
	char *page = job_page("step-0", STEP("", ""), NULL);
	says(page, "<h1>MPI took 20\xc2\xa0% of the ranks\xe2\x80\x99 time in 1 step. Nothing to fix.</h1>");
	cr_expect_null(strstr(page, "class=\"cause\""));
	free(page);
	page = job_page("step-0", NULL, NULL);
	says(page, "<h1>No MPI time was recorded.</h1>");
	free(page);
}
