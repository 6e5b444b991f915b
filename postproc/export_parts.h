/* export_parts.h - what the files share that write an .mpix while events pass: export.c packs what export_gather.c
 * gathers, and export_lend.c brings what ranks in other processes have. */
#pragma once

#include "postproc/export.h"

#define EXPORT_TIME_ZERO (1ull << 40) /* of clocks in nanoseconds, so that times before zero are ticks too */

/* What one group of ranks has of the window at hand, while one thread packs it. */
struct gathered {
	struct mpix_scratch *scratch;
	VEC(struct mpix_run) runs;
	VEC(struct mpix_carried) carried;
	VEC(struct mpix_link) links;
	VEC(struct mpix_wait) waits;
	VEC(struct mpix_extra) extras;
	VEC(uint64_t) enter, leave; /* of repaired lanes, one after the other */
};

/* What a group is packed into. */
struct group {
	struct mpix_packed *packed;
	VEC(struct cursor) lent; /* of ranks in other processes, in order of ranks */
	struct error error;
};

struct export
{
	char *path;
	struct step *step;
	struct stream_visitor visitor;
	struct mpix_writer *w;
	struct sampling *sampling;
	struct group *groups;
	uint32_t ngroups;
	struct gathered **rooms; /* free ones */
	uint32_t nrooms;
	uint32_t *first_lane; /* of the file, by rank */
	uint32_t *lane_of;    /* lane of the stream -> of the file */
	struct error error;
};

/* ---- export_gather.c ---- */

/* The ranks of a group, from the first to before the end. */
uint32_t export_first_rank(uint32_t group);
uint32_t export_end_rank(const struct export *x, uint32_t group);
/* What the ranks here have of the window at hand into g, which is emptied before. 0 or -ENOMEM. */
int export_gather(struct export *x, struct stream *st, uint32_t number, struct gathered *g);
/* Room for one group at a time, NULL without memory; and back. */
struct gathered *export_room(struct export *x);
void export_give_room(struct export *x, struct gathered *g);
void export_free_room(struct gathered *g);
/* Lists that grew have moved: point into them when no more comes. */
void export_set_pointers(struct gathered *g);
/* Where a window of the stream begins, ns. */
int64_t export_window_start(const struct stream *st, uint32_t window);

/* ---- export_lend.c ---- */

bool export_packs_here(const struct stream *st, uint32_t group);
/* Visitors of the stream. */
int export_lend(void *context, struct stream *st);
int export_borrow(void *context, struct stream *st, uint32_t from, struct cursor *c);
/* Behind what is in g, of ranks before. 0, -EBADMSG or -ENOMEM. */
int export_take_lent(struct gathered *g, struct cursor in);
