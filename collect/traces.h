/* traces.h - the .mpic files in a step's output directory: how many, which are complete. For the
 * finisher. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define TRACES_NAME_MAX 256

struct trace {
	char name[TRACES_NAME_MAX];
	int64_t len_bytes;
	struct timespec changed;
	bool finished;
	bool unreadable;    /* when it was read whole: nothing in it is intact */
	uint64_t events;    /* of a finished one; of others so many as their bytes may hold */
	unsigned processes; /* of a finished one; of others only after traces_read_unfinished() */
};

/* A zeroed struct is empty. */
struct traces {
	struct trace *list;
	size_t cap;
	unsigned n, finished, processes, unreadable;
	uint64_t events;
};

/* Look again at the directory dir_fd, whose name is dir. Of files that have changed the first and last bytes are read,
 * and no more, however long they are. */
void traces_scan(int dir_fd, const char *dir, struct traces *t);
/* Nobody waits for these any more: read them whole, to know how many processes are in them. */
void traces_read_unfinished(const char *dir, struct traces *t);
/* Traces without an end to which something was added in the last seconds: somebody writes them, here or on another
 * node. */
unsigned traces_growing(const struct traces *t, double seconds);
/* Is there a report.html that is not older than any trace? It may be from totals. */
bool traces_have_page(int dir_fd, const struct traces *t);
/* Is the whole analysis there: a job.mpix that is not older than any trace, and a report.html not older than that? One
 * from totals is made before it. */
bool traces_have_report(int dir_fd, const struct traces *t);
/* Remove finished traces in which there is no process. */
void traces_remove_empty(int dir_fd, const struct traces *t);
void traces_done(struct traces *t);
