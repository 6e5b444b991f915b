/* path.h - critical paths as they grow: each rank's is a chain of stretches, and ranks whose paths come from the same
 * rank share them. What nobody's path comes from any more is forgotten. What all have in common goes into the trunk,
 * and its calls' time to their sites as long as their window is at hand. */
#pragma once

#include "postproc/stream/sweep.h"

struct paths;

/* Whose path it is; of one that has a stretch. */
uint32_t path_rank(const struct snapshot *s);

/* The path to a rank as far as it is walked. */
struct path_end {
	struct stretch *stretch;
	int64_t at_ns;		/* TIME_ABSENT: not in the region yet */
	int64_t from_ns, to_ns; /* the region; events outside of it are not on the path */
	uint32_t rank;
};

/* st: of which the lanes say what calls of the window at hand were. */
struct paths *paths_create(const struct stream *st);
void paths_destroy(struct paths *p);
/* The path of a rank begins with its region. */
int path_begin(struct paths *p, struct path_end *e, uint32_t rank, int64_t from_ns, int64_t to_ns);
/* It computes until at_ns. */
void path_until(struct paths *p, struct path_end *e, int64_t at_ns);
/* It is in a call from start_ns to end_ns, which waited until began_ns for what causer is the path to: within the call,
 * or between it and the next one; nothing if that is before the call. 0 or -ENOMEM. */
int path_call(struct paths *p, struct path_end *e, int64_t start_ns, int64_t end_ns, int64_t began_ns,
	      const struct snapshot *causer);
/* Keep what the path is now in *s, instead of what was there. */
void path_hold(struct paths *p, struct snapshot *s, const struct path_end *e, int64_t at_ns);
void path_release(struct paths *p, struct snapshot *s);
/* The path to the rank of e, whole, into *r. */
int path_result(struct paths *p, const struct path_end *e, struct sweep_result *r);
