/* rma.c - the issue of waiting in one-sided communication: its wait states together, with the advice of the worst. */
#include "postproc/issues/issues.h"

static const struct {
	enum wait_state state;
	const char *event, *why, *next;
} advices[] = {
	{WAIT_AT_CREATE, "mainly for the last rank to create a window",
	 "Window creation completes when all members have called it.",
	 "Create windows once, before the loop, and reuse them."},
	{WAIT_AT_FENCE, "mainly for the last rank to reach a fence",
	 "A fence holds all members of the window until the last one arrives, whichever ranks they communicate with.",
	 "Balance the work before it. A rank with few partners needs no fence: MPI_Win_post, start, complete and wait, "
	 "or locks, synchronise only those."},
	{WAIT_AT_FREE, "mainly for the last rank to free a window",
	 "Freeing a window completes when all members have called it.",
	 "Reuse windows, or free them where ranks synchronise anyway."},
	{LATE_POST, "mainly because targets had not posted",
	 "MPI_Win_start, or MPI_Win_complete, continues when all targets have called MPI_Win_post.",
	 "Post earlier: as soon as the memory may be reached. The causers listed compute longer, or post late."},
	{EARLY_WAIT, "mainly in MPI_Win_wait, for origins that had not completed",
	 "MPI_Win_wait returns when the last origin has called MPI_Win_complete.",
	 "Complete as soon as the last access is made, or compute between MPI_Win_post and MPI_Win_wait."},
	{EARLY_TRANSFER, "mainly in accesses, because targets had not posted",
	 "An access does not start before its target has called MPI_Win_post.",
	 "Post earlier, or access later: compute between MPI_Win_start and the first access."},
	{LOCK_CONTENTION, "mainly for others to release a lock",
	 "An exclusive lock has one holder at a time; the others queue for it.",
	 "Hold locks for less time, use shared locks where accesses do not conflict (MPI_Accumulate never does), or "
	 "spread the locked data over more ranks."},
	{WAIT_FOR_PROGRESS, "mainly because the target computed and made no MPI progress",
	 "This MPI library completes an access to a passive target at the target's next MPI call.",
	 "Enable the library's progress thread, let the target call MPI now and then (MPI_Iprobe), or use a window of "
	 "shared memory or hardware that needs no answer."},
};

void issue_rma_wait(const struct analysis *a, struct issue *f)
{
	struct wait_issue w = {.waiters = "Ranks"};
	size_t worst = 0;
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		w.states |= 1u << advices[i].state;
		if (a->tally.waits.total_ns[advices[i].state] > a->tally.waits.total_ns[advices[worst].state])
			worst = i;
	}
	w.event = advices[worst].event;
	w.why = advices[worst].why;
	w.next = advices[worst].next;
	issue_of_waits(a, f, &w);
}
