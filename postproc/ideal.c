/* ideal.c - the ideal network: computing keeps its length, calls last only as long as they must
 * wait for others. */
#include "postproc/replay.h"

/* MPI_Init and MPI_Finalize are outside of the region. */
static double ideal_start(const struct process *p, uint32_t at, double before)
{
	const struct event *ev = &p->events.at[at];
	int64_t from = at > 0 ? p->events.at[at - 1].end_ns : p->init_exit_ns;
	return from != TIME_ABSENT && ev->start_ns > from ? before + (double)(ev->start_ns - from) : before;
}

static double ideal_end(const struct process *p, uint32_t at, double needed)
{
	(void)p, (void)at;
	return needed;
}

int replay_ideal(const struct analysis *a, double *ret_ns)
{
	struct replay_rule rule = {.start = ideal_start, .end = ideal_end, .rendezvous = true};
	return replay_run(a, &rule, ret_ns);
}
