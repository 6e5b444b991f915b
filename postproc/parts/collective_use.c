/* collective_use.c - "collective_roots" (who is root, how often) and "barrier_spreads" (how
 * far apart the members of a communicator enter its barriers, and who is mostly last). */
#include "postproc/analysis.h"

struct root_use {
	uint64_t operations, bytes;
};

static bool is_rooted(enum sig_coll kind)
{
	return kind == COLL_BCAST || kind == COLL_REDUCE || kind == COLL_GATHER || kind == COLL_GATHERV ||
	       kind == COLL_SCATTER || kind == COLL_SCATTERV;
}

/* Operations are counted at the root, bytes at the leaves. Persistent ones with each start: see put_roots(). */
static void add_rooted(struct root_use *roots, const struct step *s, uint32_t r, const struct sig *sig, uint64_t calls)
{
	if (!sig->defined || sig->call.shape != SIG_COLL || !is_rooted(sig->call.coll) || sig->comm == NONE)
		return;
	int32_t root = sig->peer == SIG_ROOT ? (int32_t)r : sig->peer;
	if (root < 0 || (uint32_t)root >= s->nranks)
		return;
	if ((uint32_t)root == r)
		roots[root].operations += calls;
	else
		roots[root].bytes += calls * sig->call_bytes;
}

static int put_roots(struct analysis *a)
{
	const struct step *s = a->step;
	struct root_use *roots = calloc(s->nranks, sizeof(*roots));
	if (roots == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->sigs.n; i++) {
			const struct sig *sig = &s->ranks[r]->sigs.at[i];
			add_rooted(roots, s, r, sig,
				   (sig->call.flags & SIG_PERSISTENT) != 0 ? sig->starts : sig->calls);
		}
	cJSON *list = json_array(a->root, "collective_roots");
	for (uint32_t r = 0; r < s->nranks; r++) {
		if (roots[r].operations == 0)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "rank", r);
		json_put(row, "operations", (double)roots[r].operations);
		json_put(row, "bytes", (double)roots[r].bytes);
	}
	free(roots);
	return 0;
}

static int put_spreads(struct analysis *a)
{
	const struct spread *spreads = a->tally.spreads;
	cJSON *list = json_array(a->root, "barrier_spreads");
	for (uint32_t c = 0; c < a->step->comms.n; c++) {
		if (spreads[c].barriers == 0)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "communicator", c);
		json_put(row, "barriers", (double)spreads[c].barriers);
		json_put(row, "mean_s", (double)spreads[c].sum_ns / 1e9 / (double)spreads[c].barriers);
		json_put_seconds(row, "max_s", spreads[c].max_ns);
		json_put(row, "last_rank", spreads[c].last);
	}
	return 0;
}

int part_collective_use(struct analysis *a)
{
	int code = put_roots(a);
	return code == 0 ? put_spreads(a) : code;
}
