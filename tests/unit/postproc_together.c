/* postproc_together.c - an analysis by several processes: who sends how much to whom when they are many, and what comes
 * of it when one fails. That the bytes are the same, each test of the analysis looks at (step_analysis.c). */
#include "postproc/postproc.h"
#include "program.h"
#include "step_analysis.h"
#include "together.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RANKS 64u

/* Each sends to its right neighbour, ten times; all meet in between. */
static char *ring(void)
{
	struct program *p = program_create(RANKS, 4);
	for (unsigned i = 0; i < 10; i++)
		for (unsigned r = 0; r < RANKS; r++) {
			double at = 100 * i + 1;
			program_send(p, r,
				     (struct call){.op = "MPI_Send",
						   .from_us = at,
						   .to_us = at + 2,
						   .peer = (int)((r + 1) % RANKS),
						   .bytes = 8});
			program_recv(p, r,
				     (struct call){.op = "MPI_Recv",
						   .from_us = at + 3,
						   .to_us = at + 9,
						   .peer = (int)((r + RANKS - 1) % RANKS),
						   .bytes = 8});
		}
	char *dir = make_directory();
	program_write(p, dir, 2000, -1);
	program_destroy(p);
	return dir;
}

static struct peer_counts counted(const char *dir, uint32_t processes)
{
	char *out = make_directory(), mpix[300];
	struct peer_counts counts;
	snprintf(mpix, sizeof(mpix), "%s/job.mpix", out);
	free(analyse_together(dir, mpix, processes, &counts));
	remove_directory(out);
	return counts;
}

/* A process has neighbours, the owners of communicators and process 0; one without ranks hears of clocks, and says that
 * it knows nothing of them. */
Test(together, no_process_sends_to_all, .timeout = 200)
{
	char *dir = ring();
	struct peer_counts few = counted(dir, 8), many = counted(dir, 32), most = counted(dir, 1024);
	cr_expect_eq(few.exchanges, many.exchanges, "%lu, %lu", few.exchanges, many.exchanges);
	cr_expect_eq(few.exchanges, most.exchanges);
	cr_expect_leq(many.messages, 5 * few.messages, "%lu, %lu", few.messages, many.messages);
	cr_expect_leq(most.messages, many.messages + 2 * 1024, "%lu, %lu", many.messages, most.messages);
	cr_expect_leq(most.bytes, many.bytes + many.bytes / 10 + 1024 * 64, "%lu, %lu", many.bytes, most.bytes);
	remove_directory(dir);
}

Test(together, when_one_cannot_write_all_fail_and_the_first_says_why)
{
	char *dir = ring(), *out = make_directory(), mpix[300];
	int others[2];
	struct error e;
	snprintf(mpix, sizeof(mpix), "%s/not there/job.mpix", out);
	cr_expect_lt(fail_together(dir, mpix, 3, others, &e), 0);
	cr_expect_lt(others[0], 0);
	cr_expect_lt(others[1], 0);
	cr_expect_not_null(strstr(e.text, "not there"), "%s", e.text);
	remove_directory(out);
	remove_directory(dir);
}
