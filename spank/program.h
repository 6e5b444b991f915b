/* program.h - can the tracer come into the program of a task? */
#pragma once

#include "spank/notice.h"

/* Note what keeps it out: the program is static, or has rights of its own. As the task's user, in the job's mounts. */
void program_check(spank_t sp, struct notice *n);
