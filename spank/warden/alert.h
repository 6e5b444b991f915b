/* alert.h - a step that hangs leaves an alert while it runs, where the site wants that (`alert` of the layout): on the
 * step's first node, as long as its agent says that somebody stands still (collect/standstill.h), `mpitrace live
 * --alert` looks at the step, as the job's user. Root starts it, and reads nothing of what either says. */
#pragma once

#include "spank/warden/teardown.h"

#define ALERT_LOOK_MS 5000	 /* between two looks whether the agent says so */
#define ALERT_STARTS_MAX 10000u	 /* of a step */
#define ALERT_DOUBLED_MAX 6u	 /* that time, with each look that fails: what cannot be read now may be later */
#define ALERT_BYTES (1ull << 30) /* of its memory */
#define ALERT_SPACE (4ull << 30) /* of its address space, with what it maps */

struct alert {
	pid_t pid;		   /* 0: nobody looks */
	unsigned starts, failures; /* failures: one after the other */
	bool over;		   /* there is one, and a step leaves no second one */
};

/* For how long to wait until alert_check() is due, -1: it is not. */
int alert_wait_ms(const struct alert *a, const struct teardown *t);
/* Start who looks, if the agent says that it is worth it. */
void alert_check(struct alert *a, const struct teardown *t);
/* A child has ended: this one? */
void alert_reap(struct alert *a);
/* The step is over. */
void alert_end(struct alert *a);
