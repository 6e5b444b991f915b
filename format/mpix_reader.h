/* mpix_reader.h - what the parts of the .mpix reader share; private to format/mpix_*.c. mpix_reader.c finds and reads
 * chunks; mpix_open.c opens; mpix_read_part.c decodes what one group has of one window; mpix_read_events.c,
 * mpix_read_links.c, mpix_read_waits.c and mpix_read_windows.c answer questions with it; mpix_v1.c does all of it for
 * version 1. */
#pragma once

#include "format/mpic.h"
#include "format/mpix_layout.h"

/* What only version 1 says of itself. */
struct mpix_v1_shape {
	uint32_t group_ranks, flow_ranks, threads;
	uint64_t segment_ns;
};

/* Signatures of one group, decoded. */
struct mpix_group_sigs {
	struct mpix_signature *sigs;
	uint32_t *first; /* of each rank of the group, and one more; NULL: not read yet */
	uint32_t group;
};

/* Knots of one clock; ticks count from its base. */
struct mpix_knots {
	struct mpix_clock_knot *knots;
	uint32_t n;
};

struct mpix_part_cache;

struct mpix_file {
	char *path;
	int fd;
	uint64_t len_bytes;
	struct mpix_super super;
	struct mpix_entry *entries;
	struct mpix_info info;
	struct mpix_shape shape;
	struct mpix_v1_shape v1;
	struct mpix_lanes lanes;
	struct mpix_knots *clocks; /* by number, n = 0: not read yet */
	struct mpix_part_cache *cache;
	char *analysis;
};

/* Bytes of the file as they are: 0 or -errno. */
int mpix_read_at(const struct mpix_file *f, uint64_t offset, void *to, size_t len_bytes);
/* *ret_raw is malloc'ed, one byte longer than the chunk, NUL there. */
int mpix_read_chunk(const struct mpix_file *f, const struct mpix_entry *x, uint8_t **ret_raw, struct error *e);
/* -EBADMSG, with where and what. */
int mpix_damaged(const struct mpix_file *f, const struct mpix_entry *x, struct error *e);
/* The same of a chunk of a rank group, if there is such a group. */
int mpix_read_group_chunk(const struct mpix_file *f, const struct mpix_entry *x, uint8_t **ret_raw, struct error *e);
/* rc, what came of decoding it; where that is an error, with inner's text, or where and what. */
int mpix_decoded(const struct mpix_file *f, const struct mpix_entry *x, int rc, const struct error *inner,
		 struct error *e);
/* The chunk of that name; NULL: there is none. */
const struct mpix_entry *mpix_find(const struct mpix_file *f, enum mpix_kind kind, uint32_t group, uint32_t seq);
/* The first chunk of a kind and group, and how many follow it; NULL: none. */
const struct mpix_entry *mpix_find_group(const struct mpix_file *f, enum mpix_kind kind, uint32_t group,
					 uint32_t *ret_count);
/* The same of all groups. */
const struct mpix_entry *mpix_find_kind(const struct mpix_file *f, enum mpix_kind kind, uint32_t *ret_count);

/* ---- one group in one window (mpix_read_part.c) ---- */

struct mpix_part_event {
	int64_t start_ns, end_ns;
	uint64_t number; /* of a part of a collective, or MPIX_NO_NUMBER */
	uint32_t sig;	 /* within the signatures of the group */
	uint32_t extra;	 /* index of its words plus 1; 0: none */
};

struct mpix_part_run {
	uint32_t lane, first, n; /* events */
};

struct mpix_part_carried {
	struct mpix_position at;
	struct mpix_part_event event;
};

/* From event on, parts of collectives on comm have this and the next numbers. */
struct mpix_part_number {
	uint32_t event, comm;
	uint64_t number;
};

struct mpix_part_data {
	const struct mpix_entry *entry;
	struct mpix_part_event *events;
	struct mpix_part_run *runs;
	struct mpix_part_carried *carried;
	uint64_t *extras;		  /* of each event: how many, then words */
	struct mpix_part_number *numbers; /* with numbers_apart: then those that runs have are in no event */
	uint32_t nevents, nruns, ncarried, nextras, nnumbers;
	size_t cap_events, cap_runs, cap_carried, cap_extras, cap_numbers;
	bool numbers_apart;
	const struct mpix_group_sigs *sigs;
	uint64_t used;
	struct mpix_part_data *next; /* of spare ones */
};

/* Signatures of s->group, from the bytes of their chunk; s->first has room for group_ranks + 1. -EBADMSG, -ENOMEM. */
int mpix_sigs_decode(const struct mpix_file *f, struct cursor c, struct mpix_group_sigs *s);
/* The calls of part->entry, from the bytes of their chunk, after mpix_cache_begin(). Of part->sigs, what the signatures
 * are is not asked with numbers_apart. -EBADMSG, -ENOMEM; mpix_part_done() frees, also after a failure. */
int mpix_part_decode(struct mpix_file *f, struct mpix_part_data *part, struct cursor c, struct error *e);
void mpix_part_done(struct mpix_part_data *part);
/* Knots of a CLOCK chunk. -EBADMSG, -ENOMEM; what to->knots points to is to be freed, also after a failure. */
int mpix_knots_decode(struct cursor c, struct mpix_knots *to);
/* Over all of the run. */
double mpix_knots_tick_ns(const struct mpix_knots *k);

/* Before anything below: 0 or -ENOMEM with text. */
int mpix_cache_begin(struct mpix_file *f, struct error *e);
/* Signatures of a group; those of its row are sigs[first[row]] to sigs[first[row + 1]], without the last. */
int mpix_sigs_get(struct mpix_file *f, uint32_t group, const struct mpix_group_sigs **ret_sigs, struct error *e);
/* The clock of a lane; the file's. */
int mpix_clock_get(struct mpix_file *f, uint32_t lane, const struct mpix_knots **ret_clock, struct error *e);
/* Set the objects of a group's signatures, which name none yet (mpix_read_objects.c). */
int mpix_read_objects(const struct mpix_file *f, struct mpix_group_sigs *s, struct error *e);
/* The same with their callers. */
int mpix_read_stacks(const struct mpix_file *f, struct mpix_group_sigs *s, struct error *e);
/* Decode it, or find it decoded. *ret_part = NULL: the group has nothing there. It stays until the next
 * mpix_cache_trim(). */
int mpix_part_get(struct mpix_file *f, uint32_t group, uint32_t window, const struct mpix_part_data **ret_part,
		  struct error *e);
/* Forget what has not been used for long, so that memory stays bounded. */
void mpix_cache_trim(struct mpix_file *f);
/* Working memory, which the next chunk takes anew. */
void mpix_scratch_done(struct mpix_file *f);
void mpix_cache_done(struct mpix_file *f);
/* The event at a position; NULL: there is none. Errors as mpix_part_get(). */
int mpix_event_at(struct mpix_file *f, const struct mpix_position *at, const struct mpix_part_event **ret_event,
		  const struct mpix_part_data **ret_part, struct error *e);

/* What callers see of an event; without its wait states. first_sig: of its rank, in the group. */
struct mpix_event mpix_event_of(const struct mpix_part_data *part, const struct mpix_part_event *x,
				struct mpix_position at, uint32_t first_lane, uint32_t first_sig);

/* ---- messages (mpix_read_links.c) ---- */

/* Visit those of one chunk, in the file's order; bare: positions only, without what stands at them. */
int mpix_visit_links(struct mpix_file *f, const struct mpix_entry *x, struct cursor c, bool bare,
		     int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e);
/* The same, the chunk being read first. */
int mpix_visit_messages(struct mpix_file *f, const struct mpix_entry *x, bool bare,
			int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e);

/* ---- wait states (mpix_read_waits.c) ---- */

/* Which waits: of lanes [first_lane, end_lane); bare: as mpix_window_waits(). */
struct mpix_asked {
	uint32_t first_lane, end_lane;
	bool bare;
};

/* Visit those of one chunk, whose bytes are there: -EBADMSG or -ENOMEM without text, or with that of another chunk. */
int mpix_visit_wait_bytes(struct mpix_file *f, const struct mpix_entry *x, struct cursor c, struct mpix_asked asked,
			  int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e);
/* The same, the chunk being read first. */
int mpix_visit_waits(struct mpix_file *f, const struct mpix_entry *x, struct mpix_asked asked,
		     int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e);

/* ---- the answers of version 1 ---- */

/* Of the events of a chunk that follow it. */
struct mpix_v1_segment {
	uint64_t row, flags, bin, count; /* row: of the group; flags: bit 0 = carried */
};

int mpix_v1_meta(struct mpix_file *f, struct cursor bytes);
/* Visit all of one chunk. -EBADMSG, or what visit() said. */
int mpix_v1_visit_events(const struct mpix_file *f, struct cursor c,
			 int (*visit)(void *context, const struct mpix_v1_segment *s, const struct mpix_event *event),
			 void *context);
/* The messages of a chunk of TOP as well. */
int mpix_v1_visit_messages(const struct mpix_file *f, struct cursor c,
			   int (*visit)(void *context, const struct mpix_link *link), void *context);
int mpix_v1_each_event(struct mpix_file *f, uint32_t rank, int64_t from_ns, int64_t to_ns,
		       int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e);
int mpix_v1_each_message(struct mpix_file *f, int64_t from_ns, int64_t to_ns,
			 int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e);

static inline bool mpix_overlaps(int64_t start_ns, int64_t end_ns, int64_t from_ns, int64_t to_ns)
{
	return start_ns < to_ns && (end_ns > from_ns || start_ns >= from_ns);
}
