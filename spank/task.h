/* task.h - a task's environment, as the user, in the forked child that will become the task. */
#pragma once

#include "spank/config.h"
#include "spank/request.h"
#include "spank/step.h"

#define TASK_TRACER "libmpitrace.so"

/* Append the tracer to LD_PRELOAD and name the step's directory; nothing if the tracer cannot be
 * read here (another root file system). With an inactive step: take out what an outer, traced batch
 * step left in the environment. The first task of the step says what is noted. */
void task_environment(spank_t sp, const struct config *c, const struct request *r, const struct step *s,
		      struct notice *n);
