/* traffic.h - who sent how much to whom, in world ranks, exact from the totals. */
#pragma once

#include "postproc/read/step.h"

/* Two ranks and what passes from one to the other; all of them are the traffic matrix. */
struct link {
	uint32_t src, dst;
	uint64_t count, bytes; /* messages, or collective operations that moved data from src to dst */
};

#define TRAFFIC_LINKS_MAX (1u << 24) /* beyond it, links are only counted */

/* Links from src to dst, dst + 1, ... (n of them) that are alike: of a collective on all ranks one or two a rank. */
struct link_run {
	uint32_t src, dst, n;
	uint64_t count, bytes; /* of each */
};

struct traffic {
	VEC(struct link) links;	   /* ascending (src, dst) */
	VEC(struct link_run) runs; /* the same of collectives, which have no links */
	uint64_t nlinks;	   /* of both */
	uint64_t links_left_out, bytes_left_out;
	uint64_t count, bytes;				       /* in all */
	uint64_t *out_count, *in_count, *out_bytes, *in_bytes; /* by rank */
};

/* How many messages the calls of a signature sent. */
uint64_t traffic_messages_of(const struct sig *sig);
/* Messages sent, whether received or not. 0 or -ENOMEM. */
int traffic_p2p(const struct step *s, struct traffic *ret_traffic);
/* What collectives move by their meaning (SEMANTICS.md 5): root to leaf, leaf to root, all pairs.
 */
int traffic_collective(const struct step *s, struct traffic *ret_traffic);
/* Every flow of one call of a v or w form, or of a neighbourhood collective, that leaves src for somebody else. */
void traffic_listed(const struct step *s, uint32_t src, const struct sig *sig,
		    void (*flow)(void *context, int32_t dst, uint64_t bytes), void *context);

/* The neighbours of p in a communicator (index into step.comms), or NULL. */
const struct neighbors *traffic_neighbors(const struct process *p, uint32_t comm);

/* Neighbours but the rank itself and none at all, in order, each with its bytes: as many for each, or by the list. */
struct neighbor_walk {
	const struct comm *comm;
	const struct sig_call *call;
	struct cursor ranks;
	uint32_t rank, at;
	uint64_t bytes, left;
	bool listed;
};

struct neighbor_walk neighbor_walk(const struct step *s, uint32_t rank, const struct sig *sig, struct span neighbors,
				   uint64_t bytes, bool listed);
bool neighbor_next(struct neighbor_walk *w, int32_t *ret_rank, uint64_t *ret_bytes);

/* One-sided calls, from where the data lay to where it went. */
int traffic_rma(const struct step *s, struct traffic *ret_traffic);
void traffic_done(struct traffic *t);

/* All links, ascending (src, dst). Begin with {t}. */
struct link_walk {
	const struct traffic *t;
	size_t at;   /* of links, or of runs */
	uint32_t in; /* the run */
};

static inline bool link_next(struct link_walk *w, struct link *ret_link)
{
	const struct traffic *t = w->t;
	if (w->at < t->links.n) {
		*ret_link = t->links.at[w->at++];
		return true;
	}
	if (t->links.n > 0 || w->at >= t->runs.n)
		return false;
	const struct link_run *r = &t->runs.at[w->at];
	*ret_link = (struct link){r->src, r->dst + w->in, r->count, r->bytes};
	if (++w->in == r->n) {
		w->in = 0;
		w->at++;
	}
	return true;
}

/* Is there a link from src to dst among n, ascending (src, dst)? */
bool links_have(const struct link *links, size_t n, uint32_t src, uint32_t dst);
