/* unmatched.c - see unmatched.h. In: sends and receives that nobody met.  Out: why, counted; those of the program as
 * findings. */
#include "postproc/stream/unmatched.h"
#include "postproc/stream/check.h"

static bool is_cut(const struct step *s, const struct process *p)
{
	return !process_is_known(p) || !p->finalized || !s->nodes.at[p->node].file.finished;
}

bool unmatched_explain(struct shard *sh, uint32_t rank, int32_t peer)
{
	struct process **ranks = sh->stream->step->ranks;
	struct unmatched *u = &sh->unmatched;
	if (peer < 0)
		u->unknown_source++;
	else if (ranks[peer] == NULL)
		u->partner_missing++;
	else if (is_cut(sh->stream->step, ranks[peer]) || is_cut(sh->stream->step, ranks[rank]))
		u->record_cut++;
	else
		return ++u->program > 0;
	return false;
}

/* One of the receives of which nothing says who sent may be its own. */
static bool is_nameless(struct shard *sh, const struct send *x)
{
	uint64_t *nameless = &sh->stream->ranks[x->peer].nameless;
	sh->unmatched.unknown_source += *nameless > 0;
	return *nameless > 0 && (*nameless)-- > 0;
}

int unmatched_envelope(struct shard *sh, struct envelope *v)
{
	for (struct send *x = v->send; x != NULL; x = x->next) {
		if ((x->flags & SENT_CANCELLED) != 0)
			continue;
		sh->unmatched.sends++;
		if (is_nameless(sh, x))
			continue;
		if (unmatched_explain(sh, x->rank, (int32_t)x->peer) && check_unreceived(sh, x) < 0)
			return -ENOMEM;
		uint32_t site = shard_sig(sh, x->rank, x->sig)->site;
		struct orphan o = {x->rank, x->peer, site};
		if (sh->tally.orphans.n < ORPHANS_MAX && sh->stream->step->ranks[x->peer] != NULL &&
		    vec_push(&sh->tally.orphans, o) < 0)
			return -ENOMEM;
	}
	for (struct recv *r = v->recv; r != NULL; r = r->next) {
		if (r->cancelled || (r->flags & RECV_PROBED) != 0)
			continue;
		sh->unmatched.recvs++;
		if (unmatched_explain(sh, r->rank, r->peer) && check_unserved(sh, r) < 0)
			return -ENOMEM;
	}
	return 0;
}
