/* sampled.h - of which moment each sample of a node is. Nodes take theirs when their gap divides the time of day: those
 * of one moment are one sample of the step, while it runs (live/merge.c) and afterwards (export_samples.c). */
#pragma once

#include "format/mpic.h"
#include "format/mpic_sample.h"

struct sampled {
	struct mpic_block block;
	int64_t slot_ns;     /* the moment that it stands for, the same on all nodes */
	int64_t realtime_ns; /* when it was taken: somewhat later */
	int64_t gap_ns;	     /* to the next one; 0: it is the last */
};

/* b is a SAMPLE of f; before: the one before it, of which slot_ns and gap_ns count; zeroed: there is none. payload is
 * room. 0, -ENOMEM, or -errno of what cannot be read. */
int sampled_read(const struct mpic_file *f, const struct mpic_block *b, const struct sampled *before,
		 struct buf *payload, struct sampled *ret_sampled);
