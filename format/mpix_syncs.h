/* mpix_syncs.h - locks and groups of one-sided synchronisations of a file that is being written (mpix_syncs.c). Private
 * to format/mpix_*.c. */
#pragma once

#include "format/mpix_chunks.h"
#include "format/mpix_head.h"

struct mpix_syncs {
	struct mpix_sync *at; /* runs of it: NULL, they stand in runs one after the other */
	size_t n, cap;
	struct mpix_sync_run *runs;
	size_t nruns, cap_runs;
};

/* 0, -EINVAL for what cannot be, -ENOMEM. */
int mpix_syncs_add(struct mpix_syncs *s, const struct mpix_head *h, const struct mpix_sync *sync);
/* SYNCS of all groups. */
int mpix_syncs_write(const struct mpix_syncs *s, const struct mpix_head *h, struct mpix_chunks *out, struct error *e);
void mpix_syncs_done(struct mpix_syncs *s);
