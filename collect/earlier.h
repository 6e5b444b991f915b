/* earlier.h - what an agent that died left behind: its successor goes on in the same .mpic where that one stopped. */
#pragma once

#include "collect/process.h"

struct earlier {
	struct mpic_file file; /* path is NULL when there was none */
	uint64_t end;	       /* of its last whole block */
	uint32_t nprocesses;   /* indices below are taken */
};

/* Write down in ranks/ which file the output will be, for a successor. A descriptor for earlier_made(), or -errno. */
int earlier_note(const char *ranks, const char *path);
/* It is made. Closes note_fd. */
void earlier_made(int note_fd);
/* The noted file is an agent's, whatever is in it. 0 or -errno. */
int earlier_claim(const char *ranks);
void earlier_forget(const char *ranks);
/* Find and read the file of a predecessor. 1, 0 when there was none, or -errno. */
int earlier_open(struct earlier *ret_earlier, const char *ranks);
void earlier_close(struct earlier *e);
/* The index that file has for this process, or MPIC_NODE. */
uint32_t earlier_index(const struct earlier *e, const struct segfile *f);
/* The first number that is free in a stream of blocks. */
uint64_t earlier_next_seq(const struct earlier *e, enum mpic_kind kind, uint32_t process, uint32_t thread);
bool earlier_has(const struct earlier *e, enum mpic_kind kind, uint32_t process, uint32_t thread, uint64_t seq);
/* Let p, whose regions are mapped, go on: numbers of blocks, definitions told, events written. */
void earlier_apply(const struct earlier *e, struct process *p);
