/* rma.c - the issue of waiting in one-sided communication: its wait states together, with the advice of the worst. */
#include "postproc/issues/issues.h"

static const struct {
	enum wait_state state;
	const char *event, *why, *next;
} advices[] = {
	{WAIT_AT_CREATE, "above all for the last rank to come to the making of a window",
	 "Making a window ends when all members have come.", "Make windows once, before the loop, and keep them."},
	{WAIT_AT_FENCE, "above all for the last rank to come to a fence",
	 "A fence holds all members of the window until the last has come, whoever they communicate with.",
	 "Even out the work before it. Who speaks with few partners needs no fence: MPI_Win_post, start, complete and "
	 "wait, or locks, hold only those."},
	{WAIT_AT_FREE, "above all for the last rank to come to the freeing of a window",
	 "Freeing a window ends when all members have come.", "Keep windows, or free them where ranks meet anyway."},
	{LATE_POST, "above all because targets had not posted",
	 "MPI_Win_start, or MPI_Win_complete, goes on when all targets have called MPI_Win_post.",
	 "Post earlier: as soon as the memory may be reached. The causers listed compute longer, or post late."},
	{EARLY_WAIT, "above all in MPI_Win_wait, for origins that had not completed",
	 "MPI_Win_wait returns when the last origin has called MPI_Win_complete.",
	 "Complete as soon as the last access is made, or compute between MPI_Win_post and MPI_Win_wait."},
	{EARLY_TRANSFER, "above all in accesses, because targets had not posted",
	 "An access is not let through before its target has called MPI_Win_post.",
	 "Post earlier, or access later: compute between MPI_Win_start and the first access."},
	{LOCK_CONTENTION, "above all for others to give back a lock",
	 "Of an exclusive lock there is one holder at a time; the others stand in line.",
	 "Hold locks shorter, lock shared where accesses do not conflict (MPI_Accumulate never does), or spread what "
	 "is "
	 "locked over more ranks."},
	{WAIT_FOR_PROGRESS, "above all because the target computed and did not answer",
	 "This MPI library answers an access to a passive target when the target calls it the next time.",
	 "Switch on the library's progress thread, let the target call MPI now and then (MPI_Iprobe), or use a window "
	 "of "
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
