/* rma.c - windows and files in the stream: who makes which call on them. See rma.h. */
#include "postproc/stream/rma.h"

#define OBJECT_CHANNEL 0x80000000u /* above those of persistent collectives */

static void scan_lock(struct locks_used *used, const struct sig *sig)
{
	if (!sig->defined || sig->call.shape != SIG_RMA || sig->call.rma != RMA_LOCK || sig->object == NONE ||
	    rma_asserts_nocheck(sig))
		return;
	used[sig->object].exclusive |= sig->call.lock_type == 2;
	used[sig->object].of_all |= sig->call.peer == SIG_ANY;
}

int rma_plan(struct stream *st)
{
	const struct step *s = st->step;
	if (s->windows.n + s->files.n == 0)
		return 0;
	st->locks_used = calloc(s->windows.n + 1, sizeof(*st->locks_used));
	if (st->locks_used == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->sigs.n; i++)
			scan_lock(st->locks_used, &s->ranks[r]->sigs.at[i]);
	return 0;
}

int rma_begin(struct shard *sh)
{
	if (sh->stream->locks_used == NULL)
		return 0;
	struct rma *x = calloc(1, sizeof(*x));
	sh->rma = x;
	if (x == NULL)
		return -ENOMEM;
	x->ranks = calloc(sh->end_rank - sh->first_rank + 1, sizeof(*x->ranks));
	x->to = calloc(sh->stream->nshards + 1, sizeof(*x->to));
	return x->ranks == NULL || x->to == NULL ? -ENOMEM : 0;
}

static void rank_done(struct rma_rank *r)
{
	for (size_t i = 0; i < r->uses.n; i++) {
		epochs_done(&r->uses.at[i]);
		vec_done(&r->uses.at[i].held);
	}
	vec_done(&r->uses);
	index_done(&r->index);
}

void rma_done(struct shard *sh)
{
	struct rma *x = sh->rma;
	if (x == NULL)
		return;
	for (uint32_t i = 0; x->ranks != NULL && i < sh->end_rank - sh->first_rank; i++)
		rank_done(&x->ranks[i]);
	for (uint32_t i = 0; x->to != NULL && i < sh->stream->nshards; i++) {
		vec_done(&x->to[i].arrived);
		vec_done(&x->to[i].passive);
		vec_done(&x->to[i].verdicts);
	}
	vec_done(&x->pending);
	vec_done(&x->locks);
	index_done(&x->lock_index);
	free(x->ranks);
	free(x->to);
	free(x);
	sh->rma = NULL;
}

/* ---- the windows and files of a rank ---- */

struct wanted_use {
	const struct rma_rank *rank;
	uint32_t object;
	bool file;
};

static bool same_use(const void *context, uint32_t at)
{
	const struct wanted_use *w = context;
	const struct object_use *u = &w->rank->uses.at[at];
	return u->object == w->object && u->file == w->file;
}

struct object_use *rma_use(struct shard *sh, uint32_t rank, uint32_t object, bool file)
{
	struct rma_rank *r = &sh->rma->ranks[rank - sh->first_rank];
	struct wanted_use want = {r, object, file};
	uint64_t hash = index_mix(object, file);
	if (r->last < r->uses.n && same_use(&want, r->last))
		return &r->uses.at[r->last];
	r->last = index_find(&r->index, hash, same_use, &want);
	if (r->last != INDEX_NONE)
		return &r->uses.at[r->last];
	r->last = (uint32_t)r->uses.n;
	if (vec_push(&r->uses, (struct object_use){.object = object, .file = file}) < 0 ||
	    index_add(&r->index, hash, r->last) < 0)
		return NULL;
	return &r->uses.at[r->last];
}

/* ---- calls ---- */

/* Calls of one half, and those that only start something, let their caller go. */
static bool is_synchronizing(const struct sig_call *c)
{
	if (c->shape == SIG_IO)
		return (c->io_how & IO_COLLECTIVE) != 0 && (c->io_how & (IO_BEGIN | IO_END)) == 0;
	return c->rma == RMA_CREATE || c->rma == RMA_FREE || c->rma == RMA_FENCE;
}

static int32_t kind_of(const struct sig_call *c)
{
	if (c->shape == SIG_IO)
		return SYNC_IO;
	return c->rma == RMA_CREATE ? SYNC_CREATE : c->rma == RMA_FREE ? SYNC_FREE : SYNC_FENCE;
}

static int sync_call_of(const struct shard *sh, struct object_use *u, const struct sig *sig, struct sync_call *ret_call)
{
	const struct step *s = sh->stream->step;
	const struct object *o = u->file ? &s->files.at[u->object] : &s->windows.at[u->object];
	if (o->comm == NONE || u->object >= OBJECT_CHANNEL / 2)
		return 0;
	*ret_call = (struct sync_call){.comm = s->comms.at[o->comm].same,
				       .channel = OBJECT_CHANNEL | u->object << 1 | u->file,
				       .k = u->k++,
				       .kind = kind_of(&sig->call),
				       .in_sweep = u->file || !rma_asserts_noprecede(sig)};
	return 1;
}

int rma_call(struct shard *sh, uint32_t rank, uint32_t sig_at, const struct moment *call, struct sync_call *ret_call)
{
	const struct sig *sig = shard_sig(sh, rank, sig_at);
	bool file = sig->call.shape == SIG_IO;
	if (sig->object == NONE || (sig->call.flags & SIG_POLLS) != 0 || (file && !is_synchronizing(&sig->call)))
		return 0;
	struct object_use *u = rma_use(sh, rank, sig->object, file);
	if (u == NULL)
		return -ENOMEM;
	if (is_synchronizing(&sig->call))
		return sync_call_of(sh, u, sig, ret_call);
	switch (sig->call.rma) {
	case RMA_POST:
	case RMA_START:
	case RMA_COMPLETE:
	case RMA_WAIT:
		return epochs_call(sh, u, rank, sig_at, call);
	case RMA_LOCK:
	case RMA_UNLOCK:
	case RMA_FLUSH:
	case RMA_FLUSH_LOCAL:
		return locks_call(sh, u, rank, sig_at, call);
	case RMA_PUT:
	case RMA_GET:
	case RMA_ACCUMULATE:
	case RMA_FETCH:
		return epochs_access(u, sig, sig_at, call) ? 0 : locks_call(sh, u, rank, sig_at, call);
	default:
		return 0;
	}
}

/* ---- other phases ---- */

static int take_mail(struct shard *sh, struct rma_mail *m)
{
	int code = 0;
	for (size_t i = 0; i < m->arrived.n && code == 0; i++)
		code = epochs_arrive(sh, &m->arrived.at[i]);
	for (size_t i = 0; i < m->passive.n && code == 0; i++)
		code = locks_take(sh, &m->passive.at[i]);
	m->arrived.n = m->passive.n = 0;
	return code;
}

static void match_until(struct shard *sh, int64_t end_ns)
{
	struct stream *st = sh->stream;
	if (sh->rma == NULL)
		return;
	for (size_t i = 0; i < sh->rma->pending.n; i++) {
		struct passive *x = &sh->rma->pending.at[i];
		if (x->blocked && x->progresses)
			progress_go_on(sh, (uint32_t)x->target, &x->coming);
	}
	for (uint32_t from = 0; from < st->nshards && sh->code == 0; from++)
		sh->code = take_mail(sh, &st->shards[from].rma->to[sh->number]);
	if (sh->code == 0)
		sh->code = locks_until(sh, end_ns);
}

void rma_match(struct shard *sh)
{
	match_until(sh, sh->stream->starts[sh->stream->slice + 1]);
}

void rma_match_end(struct shard *sh)
{
	match_until(sh, INT64_MAX);
}

static int note_verdict(struct shard *sh, const struct verdict *v)
{
	struct wait w = {.call = v->call, .rank = v->rank, .site = shard_sig(sh, v->rank, v->sig)->site};
	struct arrival holder = arrival_of(v->holder, &v->release), target = arrival_of(v->target, &v->came_at);
	int code = wait_note(sh, &w, LOCK_CONTENTION, v->locked_ns, &holder, false);
	if (code == 0)
		code = wait_note(sh, &w, WAIT_FOR_PROGRESS, v->outside_ns, &target, false);
	histogram_add(&sh->tally.waited, w.wait_ns);
	return code;
}

void rma_classify(struct shard *sh)
{
	struct stream *st = sh->stream;
	for (uint32_t from = 0; sh->rma != NULL && from < st->nshards; from++) {
		struct rma_mail *m = &st->shards[from].rma->to[sh->number];
		for (size_t i = 0; i < m->verdicts.n && sh->code == 0; i++)
			sh->code = note_verdict(sh, &m->verdicts.at[i]);
		m->verdicts.n = 0;
	}
}
