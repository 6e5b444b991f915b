/* mpix_writer.h - what the parts of the .mpix writer share; private to format/mpix_*.c.
 * Events arrive rank by rank and wait, packed as columns, until their rank group is complete
 * (mpix_events.c). Each rank's shares of time are kept for the pyramid (mpix_summary.c). Messages
 * go out as they come; when all are written they are read back once for the level of detail
 * (mpix_messages.c). */
#pragma once

#include "base/atomic_file.h"
#include "format/mpix_layout.h"

/* A run of events of one rank that start in one interval of the grid, inside that rank's columns.
 */
struct mpix_segment {
	uint32_t row; /* rank - first rank of the group */
	uint32_t bin; /* interval of the grid */
	uint32_t order, count;
	size_t begin[MPIX_COLUMNS], end[MPIX_COLUMNS];
};

/* One rank of the group that is being collected. */
struct mpix_row {
	struct mpix_columns columns;
	struct mpix_event *crossing; /* events that reach over a grid line, ascending start */
	size_t ncrossing, cap_crossing;
};

struct mpix_group {
	uint32_t index;
	struct mpix_row *rows; /* shape.group_ranks of them */
	struct mpix_segment *segments;
	size_t nsegments, cap_segments;
	int64_t start_ns, end_ns; /* of all events in it */
	uint32_t seq;		  /* of the next chunk */
	uint64_t events;
};

struct mpix_summary {
	uint16_t *share; /* [rank][class - 1][bin], 65535 = the whole bin */
	float *busy_ns;	 /* one rank, [class - 1][bin] */
	uint32_t bins;	 /* of the finest level kept */
};

struct mpix_pending {
	struct mpix_columns columns;
	uint32_t count, seq;
	int64_t clock, start_ns, end_ns;
};

struct mpix_writer {
	struct atomic_file file;
	struct mpix_info info;
	char **ops;
	struct mpix_shape shape;
	uint64_t offset; /* where the next chunk goes */
	struct mpix_entry *entries;
	size_t nentries, cap_entries;
	struct buf raw, packed; /* of the chunk being built */
	struct mpix_group group;
	struct mpix_summary summary;
	struct mpix_pending pending;
	uint32_t next_rank;
	int code; /* the first failure; everything after it is refused */
};

/* Pack w->raw and append it as one chunk; *entry says what it is, place and sizes are filled in.
 * Clears w->raw. */
int mpix_write_chunk(struct mpix_writer *w, struct mpix_entry entry, struct error *e);

int mpix_group_init(struct mpix_writer *w);
void mpix_group_done(struct mpix_writer *w);
int mpix_group_add(struct mpix_writer *w, uint32_t rank, const struct mpix_event *events, uint64_t count);
/* Write the chunks of the group collected so far and begin group `next`. */
int mpix_group_flush(struct mpix_writer *w, uint32_t next, struct error *e);

int mpix_summary_init(struct mpix_writer *w);
void mpix_summary_done(struct mpix_writer *w);
void mpix_summary_add(struct mpix_writer *w, uint32_t rank, const struct mpix_event *events, uint64_t count);
/* Write all tiles of all levels. */
int mpix_summary_write(struct mpix_writer *w, struct error *e);

/* Write what is pending, then TOP and FLOW of every level. */
int mpix_messages_finish(struct mpix_writer *w, struct error *e);
