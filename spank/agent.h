/* agent.h - the node agent that slurmstepd started for a step: who it is, does it live, let it hurry. Root only. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Write down in the step's directory who the agent is. */
void agent_note(int step_fd, pid_t pid);
/* Does the noted agent still run, as the user uid? */
bool agent_lives(int step_fd, uid_t uid);
/* The step is over: back to a normal share of the processor, which an ordinary user cannot take for itself once it
 * was idle (sched(7)). Without it a last round could take minutes on a node that is busy with other jobs. */
void agent_hurry(int step_fd, uid_t uid);
