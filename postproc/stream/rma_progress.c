/* rma_progress.c - was a target outside of MPI when another's call on its window began, and when did it come? A library
 * without a progress thread of its own answers when the target's process calls it the next time. Calls of which nothing
 * but time is recorded (queries, groups, datatypes) need not get that far: the target computes on. */
#include "postproc/stream/rma.h"

#include "base/search.h"

static bool may_progress(const struct lane *l, uint32_t sig)
{
	return l->process->sigs.at[sig].call.shape != SIG_TIME;
}

/* How many events of the window start before. */
static uint32_t before(const struct lane *l, int64_t ns)
{
	return (uint32_t)search_first(0, l->n, i, l->start_ns[i] < ns);
}

static bool is_inside(const struct lane *l, uint32_t i, int64_t ns)
{
	if (i > 0)
		return l->end_ns[i - 1] > ns && may_progress(l, l->sig[i - 1]);
	return l->open.window != NONE && l->open.end_ns > ns && may_progress(l, l->open.sig);
}

static void come(const struct shard *sh, struct passive *x, const struct lane *l, uint32_t from)
{
	uint32_t i = from;
	while (i < l->n && !may_progress(l, l->sig[i]))
		i++;
	if (i == l->n || (x->came && x->came_at.start_ns <= l->start_ns[i]))
		return;
	x->came = true;
	x->came_at = (struct moment){l->start_ns[i], l->end_ns[i], {sh->stream->window, l->number, i}};
}

void progress_look(const struct shard *sh, struct passive *x)
{
	const struct rank_stream *r = &sh->stream->ranks[x->target];
	x->outside = r->nlanes > 0;
	for (uint32_t k = 0; k < r->nlanes; k++) {
		const struct lane *l = &sh->stream->lanes[r->first_lane + k];
		uint32_t i = before(l, x->call.start_ns);
		x->outside &= !is_inside(l, i, x->call.start_ns);
		come(sh, x, l, i);
	}
}

void progress_go_on(const struct shard *sh, struct passive *x)
{
	if (!x->blocked || !x->progresses || !x->outside || x->came)
		return;
	const struct rank_stream *r = &sh->stream->ranks[x->target];
	for (uint32_t k = 0; k < r->nlanes; k++) {
		const struct lane *l = &sh->stream->lanes[r->first_lane + k];
		come(sh, x, l, l->from);
	}
}

bool progress_is_known(const struct shard *sh, uint32_t target)
{
	const struct process *p = sh->stream->step->ranks[target];
	for (size_t i = 0; p != NULL && i < p->threads.n; i++)
		if (p->threads.at[i].lost > 0 || p->threads.at[i].gap)
			return false;
	return p != NULL && p->bad_blocks == 0;
}
