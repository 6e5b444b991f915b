/* objects.h - windows and files of the step. */
#pragma once

#include "postproc/read/step.h"

/* The windows and files that p defined; operations and communicators of p are joined already. 0 or -ENOMEM. */
int objects_join(struct step *s, struct process *p);
/* Index of the object that sig names, NONE if it names none. */
uint32_t objects_of(const struct process *p, const struct sig_call *call);
void objects_done(struct step *s);
