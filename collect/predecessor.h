/* predecessor.h - what an agent that died left behind: its successor goes on in the same .mpic where that one
 * stopped. */
#pragma once

#include "collect/process.h"

struct predecessor {
	struct mpic_file file; /* path is NULL when there was none */
	uint64_t end;	       /* of its last whole block */
	uint32_t nprocesses;   /* indices below are taken */
};

/* Write down in ranks/ which file the output will be, for a successor. A descriptor for predecessor_made(), to be kept
 * open: it holds the lock that says we live. Or -errno. */
int predecessor_note(const char *ranks, const char *path);
/* It is made. */
void predecessor_made(int note_fd);
/* Take that lock of one that died. A descriptor to keep, -EBUSY while it lives, or -errno. */
int predecessor_lock(const char *ranks);
/* The noted file is an agent's, whatever is in it. 0 or -errno. */
int predecessor_claim(const char *ranks);
void predecessor_forget(const char *ranks);
/* Find and read the file of a predecessor. 1, 0 when there was none, or -errno. */
int predecessor_open(struct predecessor *ret_earlier, const char *ranks);
void predecessor_close(struct predecessor *e);
/* The index that file has for this process, or MPIC_NODE. */
uint32_t predecessor_index(const struct predecessor *e, const struct segfile *f);
/* The first number that is free in a stream of blocks. */
uint64_t predecessor_next_seq(const struct predecessor *e, enum mpic_kind kind, uint32_t process, uint32_t thread);
bool predecessor_has(const struct predecessor *e, enum mpic_kind kind, uint32_t process, uint32_t thread, uint64_t seq);
/* Let p, whose regions are mapped, go on: numbers of blocks, definitions recorded, events written. */
void predecessor_apply(const struct predecessor *e, struct process *p);
