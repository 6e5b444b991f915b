/* match.h - which send belongs to which receive, which collective calls belong together
 * (SEMANTICS.md 1). */
#pragma once

#include "postproc/ops.h"

struct message {
	uint32_t send, recv; /* indices into ops.sends, ops.recvs */
};

/* One collective operation; its parts are linked: first, then next[]. */
struct collective {
	uint32_t comm, channel, k;
	uint32_t first;	   /* index into ops.colls */
	uint32_t parts;	   /* how many members called */
	uint32_t expected; /* how many there are */
	bool differs;	   /* members called different operations, or named different roots */
};

struct unmatched {
	uint64_t sends, recvs;	     /* in all */
	uint64_t partner_missing;    /* the other rank was not recorded */
	uint64_t record_cut;	     /* the other rank's record ends early */
	uint64_t unknown_source;     /* see op_counts */
	uint64_t program;	     /* both records are whole: never received, or never sent */
	uint64_t collectives;	     /* with members missing */
	uint64_t collectives_differ; /* see collective.differs */
};

struct matching {
	VEC(struct message) messages;
	VEC(struct collective) colls;
	uint32_t *coll_next; /* by index into ops.colls; NONE ends */
	struct unmatched unmatched;
};

/* 0 or -ENOMEM. Marks matched operations in o. */
int match_all(const struct step *s, struct ops *o, struct matching *ret_matching);
void matching_done(struct matching *m);
