/* progress.c - was a rank outside of MPI when another needed it there, and when did it come? A library without a
 * progress thread of its own answers when the process calls it the next time. Calls of which nothing but time is
 * recorded (queries, groups, datatypes) need not get that far: the rank computes on. MPI_Finalize does.
 *
 * So passive targets are looked at (rma_locks.c), and here receivers of sends that take longer than moving their bytes
 * can: the sender's shard asks, the receiver's looks, and the answer goes back. */
#include "postproc/stream/progress.h"
#include "postproc/totals/states.h"

#include "base/search.h"

static bool may_progress(const struct shard *sh, const struct lane *l, uint32_t sig)
{
	const struct sig *x = &l->process->sigs.at[sig];
	return x->call.shape != SIG_TIME || step_is_finalize(sh->stream->step, x);
}

/* How many events of the window start before. */
static uint32_t before(const struct lane *l, int64_t ns)
{
	return (uint32_t)search_first(0, l->n, i, l->start_ns[i] < ns);
}

/* When the call ends that the lane is in at ns; ns: it is in none. */
static int64_t leaves_at(const struct shard *sh, const struct lane *l, uint32_t i, int64_t ns)
{
	bool open = i == 0;
	if (open && l->open.window == NONE)
		return ns;
	int64_t end_ns = open ? l->open.end_ns : l->end_ns[i - 1];
	return end_ns > ns && may_progress(sh, l, open ? l->open.sig : l->sig[i - 1]) ? end_ns : ns;
}

static void next_entry(const struct shard *sh, struct coming *c, const struct lane *l, uint32_t from)
{
	uint32_t i = from;
	while (i < l->n && !may_progress(sh, l, l->sig[i]))
		i++;
	if (i == l->n || (c->came && c->at.start_ns <= l->start_ns[i]))
		return;
	c->came = true;
	c->at = (struct moment){l->start_ns[i], l->end_ns[i], {sh->stream->window, l->number, i}};
}

void progress_after(const struct shard *sh, uint32_t rank, int64_t from_ns, struct coming *c)
{
	const struct rank_stream *r = &sh->stream->ranks[rank];
	c->left_ns = from_ns;
	for (uint32_t k = 0; k < r->nlanes; k++) {
		const struct lane *l = &sh->stream->lanes[r->first_lane + k];
		uint32_t i = before(l, from_ns);
		int64_t left_ns = leaves_at(sh, l, i, from_ns);
		c->left_ns = left_ns > c->left_ns ? left_ns : c->left_ns;
		next_entry(sh, c, l, i);
	}
	c->outside = r->nlanes > 0 && c->left_ns == from_ns;
}

void progress_go_on(const struct shard *sh, uint32_t rank, struct coming *c)
{
	const struct rank_stream *r = &sh->stream->ranks[rank];
	for (uint32_t k = 0; k < r->nlanes && c->outside && !c->came; k++) {
		const struct lane *l = &sh->stream->lanes[r->first_lane + k];
		next_entry(sh, c, l, l->from);
	}
}

bool progress_is_known(const struct shard *sh, uint32_t rank)
{
	const struct process *p = sh->stream->step->ranks[rank];
	return p != NULL && process_is_whole(p);
}

/* ---- sends ---- */

int edge_late(struct shard *sh, const struct moment *at, struct edge **ret_edge)
{
	struct lane *l = &sh->stream->lanes[at->at.lane];
	*ret_edge = NULL;
	if (at->at.window != l->window || at->at.at < l->from || at->at.at >= l->n)
		return 0;
	struct edge *e = slab_take(&sh->edges);
	struct action x = {.at = at->at.at, .kind = ACTION_BEGIN, .edge = e};
	if (e == NULL || vec_push(&l->actions, x) < 0)
		return -ENOMEM;
	*e = (struct edge){.shard = (uint8_t)sh->number, .refs = 2};
	edge_number(sh, e);
	size_t i = l->actions.n - 1;
	for (; i > 0 && l->actions.at[i - 1].at > x.at; i--)
		l->actions.at[i] = l->actions.at[i - 1];
	l->actions.at[i] = x;
	*ret_edge = e;
	return 0;
}

/* The receiver came while the send was there, which was over soon then: a send that ends by chance just after it does
 * is not told from one that waited. One that was still in MPI when the send began, as in what both did before, left it
 * soon. */
static bool has_waited(const struct slow_send *x)
{
	const struct coming *c = &x->coming;
	if (!c->outside || !c->came || c->at.start_ns > x->call.end_ns || x->wait->receives)
		return false;
	int64_t waited = c->at.start_ns - c->left_ns, rest = x->call.end_ns - c->at.start_ns;
	return waited > 0 && c->left_ns - x->call.start_ns <= waited && (rest <= waited || rest <= x->moves_ns);
}

static int answer(struct shard *sh, struct slow_send *x)
{
	struct edge *e = NULL;
	x->coming.outside = has_waited(x);
	if (x->need != NULL && x->coming.outside && edge_late(sh, &x->coming.at, &e) < 0)
		return -ENOMEM;
	if (x->need != NULL && need_resolve(sh, x->need, e) < 0)
		return -ENOMEM;
	return vec_push(&mail_to(sh, shard_of(sh->stream, x->rank))->answered, *x);
}

int progress_ask(struct shard *sh, const struct slow_send *x)
{
	x->wait->open++;
	return vec_push(&mail_to(sh, shard_of(sh->stream, x->peer))->slow, *x);
}

static int take_mail(struct shard *sh)
{
	for (uint32_t from = 0; from < sh->stream->nshards; from++) {
		struct mail *m = mail_from(sh, from);
		for (size_t i = 0; i < m->slow.n; i++) {
			struct slow_send *x = &m->slow.at[i];
			if (progress_is_known(sh, x->peer))
				progress_after(sh, x->peer, x->call.start_ns, &x->coming);
			x->coming.outside |= x->coming.left_ns > x->call.start_ns && x->coming.left_ns < x->call.end_ns;
			if (vec_push(&sh->slow, *x) < 0)
				return -ENOMEM;
		}
		m->slow.n = 0;
	}
	return 0;
}

/* Whoever comes from end_ns on is not known yet. */
static int match_until(struct shard *sh, int64_t end_ns)
{
	size_t n = 0;
	for (size_t i = 0; i < sh->slow.n; i++)
		progress_go_on(sh, sh->slow.at[i].peer, &sh->slow.at[i].coming);
	int code = take_mail(sh);
	for (size_t i = 0; i < sh->slow.n && code == 0; i++) {
		struct slow_send *x = &sh->slow.at[i];
		if (x->coming.outside && !x->coming.came && x->call.end_ns >= end_ns)
			sh->slow.at[n++] = *x;
		else
			code = answer(sh, x);
	}
	sh->slow.n = n;
	return code;
}

void progress_match(struct shard *sh)
{
	if (sh->code == 0)
		sh->code = match_until(sh, sh->stream->starts[sh->stream->slice + 1]);
}

void progress_match_end(struct shard *sh)
{
	if (sh->code == 0)
		sh->code = match_until(sh, INT64_MAX);
}

void progress_classify(struct shard *sh)
{
	for (uint32_t from = 0; from < sh->stream->nshards; from++) {
		struct mail *m = mail_from(sh, from);
		for (size_t i = 0; i < m->answered.n && sh->code == 0; i++) {
			const struct slow_send *x = &m->answered.at[i];
			int64_t ns = x->coming.at.start_ns - x->call.start_ns;
			if (x->coming.outside && wait_is_longer(x->wait, LATE_PROGRESS, ns))
				wait_late(x->wait, LATE_PROGRESS, ns, arrival_of(x->peer, &x->coming.at));
			sh->code = wait_close(sh, x->wait);
		}
		m->answered.n = 0;
	}
}
