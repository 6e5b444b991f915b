/* load.h - the steps of reading a job step, in order; private to load.c, process.c, thread.c,
 * join.c. */
#pragma once

#include "postproc/read/step.h"

#define LEFT_OUT_NAMED_MAX 10 /* files, each with its reason; of more only how many */

/* belong.c: files of two steps are an error, and two of one node where somebody named them; in a directory one of these
 * is left out, with a reason. 0 or -EINVAL. */
int step_belong(struct step *s, bool named, struct error *e);

/* thread.c: decode definitions, totals and events of blocks[0 .. n), one thread of p. Damage is
 * counted in p, not an error; -ENOMEM is. */
int thread_load(struct process *p, struct budget *kept, uint32_t thread, const struct mpic_file *f,
		const struct mpic_block *blocks, size_t n, struct error *e);

/* A signature of that thread, of which nothing else is known. */
struct sig sig_of_thread(uint32_t thread);
/* What its own words say it is; p keeps them. -EBADMSG or -ENOMEM. */
int sig_read(struct process *p, const uint64_t *words, uint32_t n, struct sig *sig);

/* process.c: read everything of one process. Thread-safe for different processes. */
int process_load(struct process *p, struct budget *kept, const struct mpic_file *f, const struct mpic_block *blocks,
		 size_t n, struct error *e);
/* open.c: after the threads. 0 or -ENOMEM. */
int open_load(struct process *p);
/* What samples know of open calls (of a file that was cut, which they are) and of threads. 0 or -ENOMEM. */
int open_by_samples(struct step *s);
/* An event of that thread ended then: what a sample saw before has returned. */
void open_forget(struct process *p, uint32_t thread, int64_t at_ns);
void process_done(struct process *p);
void node_done(struct node *n); /* step.c */

/* join.c: give process-local names the step's numbers. */
int step_join(struct step *s, struct error *e);

/* worlds.c: which process is which rank. */
int step_place_ranks(struct step *s, struct error *e);
