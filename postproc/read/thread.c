/* thread.c - decode one thread's definitions and totals. Its events stay where they are, for stream/; but those that
 * carry their own signature are looked at, so that all signatures are known before. */
#include "base/index.h"
#include "base/json.h"
#include "postproc/read/load.h"

/* Signatures that stand in events: of each rank of a group so many that the group's fit into one chunk of a .mpix; all
 * of it where there are fewer ranks. */
#define OWN_SIGS_MAX (1u << 22)
/* Of a total: of the time that its process was seen to live, and more that nobody saw (20 s of 3 GHz). */
#define LIVES 2u
#define LIFE_UNSEEN_TICKS (UINT64_C(1) << 36)
#define TICK_NS_MAX 1000u

/* The first n words of signatures of nwords that stand in events, with the one that was made of them. */
struct own_sig {
	const uint64_t *words;
	uint32_t n, nwords, sig;
};

struct reader {
	struct process *p;
	struct budget *kept;
	uint32_t thread;
	const struct mpic_file *f;
	VEC(uint32_t) sig_of; /* signature id -> index in p->sigs plus 1 */
	struct mpic_events events;
	VEC(struct own_sig) own;
	struct index own_of; /* of own, by their words */
	bool exact;	     /* the totals are those of all calls */
};

struct sig sig_of_thread(uint32_t thread)
{
	return (struct sig){.thread = thread, .op = NONE, .comm = NONE, .site = NONE, .stack = NONE, .object = NONE};
}

int sig_read(struct process *p, const uint64_t *words, uint32_t n, struct sig *sig)
{
	struct buf copy = {0};
	buf_bytes(&copy, words, n * sizeof(*words));
	if (buf_failed(&copy) || vec_push(&p->payloads, copy) < 0) {
		buf_done(&copy);
		return -ENOMEM;
	}
	sig->defined = true;
	return sig_decode((const uint64_t *)(const void *)copy.data, n, &sig->call) < 0 ? -EBADMSG : 0;
}

/* Where signature id stands in p->sigs. 0, -ENOMEM or -EBADMSG. */
static int sig_at(struct reader *r, uint32_t id, uint32_t *ret_index)
{
	int code = id >= MPIC_SIGS_MAX ? -EBADMSG : budget_reach(r->kept, &r->sig_of, id);
	if (code == 0 && r->sig_of.at[id] == 0) {
		struct sig fresh = sig_of_thread(r->thread);
		code = budget_take(r->kept, sizeof(fresh));
		if (code == 0 && vec_push(&r->p->sigs, fresh) < 0)
			code = -ENOMEM;
		if (code == 0)
			r->sig_of.at[id] = (uint32_t)r->p->sigs.n;
	}
	if (code == 0)
		*ret_index = r->sig_of.at[id] - 1;
	return code;
}

static int keep_def(struct reader *r, const struct mpic_def *d)
{
	uint32_t index;
	if (d->type == 0 || d->type >= MPIC_DEF_TYPES) {
		r->p->unknown_defs++;
		return 0;
	}
	if (d->type != MPIC_DEF_SIG)
		return vec_push(&r->p->defs, *d);
	int code = sig_at(r, d->id, &index);
	if (code < 0)
		return code;
	struct sig *sig = &r->p->sigs.at[index];
	if (sig_decode(d->words, d->nwords, &sig->call) < 0)
		return -EBADMSG;
	sig->defined = true;
	r->p->unknown_sigs += sig->call.unknown;
	return 0;
}

static int read_defs(struct reader *r, const struct mpic_block *b)
{
	struct buf payload = {0};
	struct mpic_def d;
	int code = mpic_read(r->f, b, &payload, NULL), more;
	if (code == 0)
		code = budget_take(r->kept, payload.len_bytes);
	if (code < 0 || vec_push(&r->p->payloads, payload) < 0) {
		buf_done(&payload);
		return code < 0 ? code : -ENOMEM;
	}
	struct cursor c = cursor_over(payload.data, payload.len_bytes);
	while ((more = mpic_next_def(&c, &d)) == 1)
		if ((code = keep_def(r, &d)) < 0)
			return code;
	return more;
}

/* As long as the process lived at most, as far as is known; a call takes a nanosecond, a tick a microsecond at most.
 * What is more, the program has written there where it had nothing to write. */
static bool is_possible(const struct process *p, const struct mpic_total *t)
{
	const int64_t known[] = {p->end_ns, json_tick(p->meta, "gone_tick"), json_tick(p->meta, "seen_tick")};
	int64_t last = 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		last = known[i] > last ? known[i] : last;
	uint64_t most = p->start_ns > 0 && last > p->start_ns ? (uint64_t)(last - p->start_ns) : INT64_MAX / LIVES;
	most = LIVES * most + LIFE_UNSEEN_TICKS;
	return t->ticks <= most && t->calls / TICK_NS_MAX <= most;
}

static int read_totals(struct reader *r, const struct mpic_block *b)
{
	_cleanup_buf_ struct buf payload = {0};
	struct mpic_total t;
	uint32_t index;
	int code = mpic_read(r->f, b, &payload, NULL), more;
	if (code < 0)
		return code;
	struct cursor c = cursor_over(payload.data, payload.len_bytes);
	while ((more = mpic_next_total(&c, &t)) == 1) {
		if (!is_possible(r->p, &t)) {
			r->p->bad_totals++;
			continue;
		}
		if ((code = sig_at(r, t.sig, &index)) < 0)
			return code;
		struct sig *sig = &r->p->sigs.at[index];
		sig->calls = t.calls;
		sig->ticks = t.ticks;
	}
	return more;
}

/* How many calls an event stands for. Its own extra words stand behind those of its literal signature. */
static uint64_t calls_of(const struct sig_call *call, const struct mpic_event *ev)
{
	if ((call->flags & SIG_POLLS) == 0 || ev->nextra <= call->nwords)
		return 1;
	return ev->extra[call->nwords] < UINT32_MAX ? ev->extra[call->nwords] : UINT32_MAX;
}

struct wanted_sig {
	const struct reader *r;
	struct own_sig like;
};

static bool is_like(const void *context, uint32_t at)
{
	const struct wanted_sig *l = context;
	const struct own_sig *own = &l->r->own.at[at];
	return own->n == l->like.n && own->nwords == l->like.nwords &&
	       memcmp(own->words, l->like.words, own->n * sizeof(*own->words)) == 0;
}

static size_t own_sigs_max(const struct process *p)
{
	uint32_t ranks = p->world_size < 1 ? 1 : p->world_size < MPIX_GROUP_RANKS ? p->world_size : MPIX_GROUP_RANKS;
	return OWN_SIGS_MAX / ranks;
}

/* One that no event before had. */
static int add_own_sig(struct reader *r, struct own_sig own, uint64_t hash)
{
	struct sig fresh = sig_of_thread(r->thread);
	int code = sig_read(r->p, own.words, own.n, &fresh);
	if (code < 0)
		return code;
	fresh.literal = true;
	fresh.call.nwords = own.nwords;
	fresh.crowded = own.n < own.nwords;
	r->p->unknown_sigs += fresh.call.unknown && !fresh.crowded;
	own.words = (const uint64_t *)(const void *)r->p->payloads.at[r->p->payloads.n - 1].data;
	own.sig = (uint32_t)r->p->sigs.n;
	r->p->own_sigs++;
	if (vec_push(&r->p->sigs, fresh) < 0 || vec_push(&r->own, own) < 0)
		return -ENOMEM;
	return index_add(&r->own_of, hash, (uint32_t)r->own.n - 1);
}

/* Its signature's number in r->own. Where there are too many, the call is one of which only the operation and who
 * called it are known. */
static int find_own_sig(struct reader *r, const struct mpic_event *ev, uint32_t nwords, uint32_t *ret_own)
{
	for (uint32_t n = nwords;; n = SIG_WORDS_MIN) {
		struct wanted_sig l = {r, {.words = ev->extra, .n = n, .nwords = nwords}};
		uint64_t hash = index_hash(INDEX_SEED, ev->extra, n * sizeof(*ev->extra));
		*ret_own = index_find(&r->own_of, hash, is_like, &l);
		if (*ret_own != INDEX_NONE)
			return 0;
		if (n == SIG_WORDS_MIN || r->p->own_sigs < own_sigs_max(r->p)) {
			*ret_own = (uint32_t)r->own.n;
			return add_own_sig(r, l.like, hash);
		}
	}
}

/* The dictionary was full: the event carries its own signature. It takes its calls from the coarse
 * one that counted them. */
static int own_sig(struct reader *r, const struct mpic_event *ev, uint32_t *index)
{
	struct sig_call call;
	uint32_t own = 0;
	int code = sig_decode(ev->extra, ev->nextra, &call);
	if (code == 0)
		code = find_own_sig(r, ev, call.nwords, &own);
	if (code < 0)
		return code;
	struct sig *sig = &r->p->sigs.at[r->own.at[own].sig], *coarse = &r->p->sigs.at[*index];
	uint64_t calls = call.continues ? 0 : calls_of(&call, ev), ticks = ev->exit_tick - ev->enter_tick;
	sig->calls += calls;
	sig->ticks += ticks;
	coarse->calls -= coarse->calls >= calls ? calls : 0;
	coarse->ticks -= coarse->ticks >= ticks ? ticks : 0;
	*index = r->own.at[own].sig;
	return 0;
}

/* Damage is counted and skipped; only lack of memory ends the reading. */
static int tolerate(struct reader *r, int code)
{
	if (code >= 0)
		return 0;
	if (code == -ENOMEM)
		return code;
	r->p->bad_blocks++;
	return 0;
}

static int read_all_defs(struct reader *r, const struct mpic_block *blocks, size_t n)
{
	int code = 0;
	for (size_t i = 0; i < n && code == 0; i++)
		if (blocks[i].kind == MPIC_DEFS)
			code = tolerate(r, read_defs(r, &blocks[i]));
	return code;
}

/* The newest snapshot that can be read. */
static int read_profile(struct reader *r, const struct mpic_block *blocks, size_t n)
{
	for (size_t i = n; i-- > 0;) {
		if (blocks[i].kind != MPIC_PROFILE)
			continue;
		int code = read_totals(r, &blocks[i]);
		r->exact = code == 0 && r->p->finalized;
		if (code == 0 || code == -ENOMEM)
			return code;
		r->p->bad_blocks++;
	}
	return 0;
}

/* Can there be events that carry their own signature? Each counts under a coarse one. */
static bool may_be_literal(const struct reader *r)
{
	for (size_t i = 0; i < r->p->sigs.n; i++) {
		const struct sig *sig = &r->p->sigs.at[i];
		if (sig->thread == r->thread && sig->call.literal_follows && (sig->calls > 0 || !r->exact))
			return true;
	}
	return false;
}

/* For stream/: events that carry their own signature get it now, all others later. */
static int read_literals(struct reader *r, const struct mpic_block *blocks, size_t n)
{
	struct thread *t = &r->p->threads.at[r->thread];
	bool any = may_be_literal(r);
	uint64_t expected = 0;
	for (size_t i = 0; i < n && any; i++) {
		_cleanup_buf_ struct buf payload = {0};
		struct mpic_event ev;
		uint32_t count, index;
		if (blocks[i].kind != MPIC_EVENTS)
			continue;
		if (blocks[i].seq != expected++ || mpic_read(r->f, &blocks[i], &payload, NULL) < 0 ||
		    mpic_events_begin(&r->events, cursor_over(payload.data, payload.len_bytes), &count) < 0)
			return 0;
		while (mpic_events_next(&r->events, &ev) == 1) {
			int code = sig_at(r, ev.sig, &index);
			if (code < 0)
				return code == -ENOMEM ? code : 0;
			const struct sig *sig = &r->p->sigs.at[index];
			if (!sig->defined || !sig->call.literal_follows || ev.nextra < 2)
				continue;
			code = own_sig(r, &ev, &index);
			if (code == -ENOMEM || (code == 0 && vec_push(&t->literals, index) < 0))
				return -ENOMEM;
			if (code < 0)
				return 0;
		}
	}
	return 0;
}

static int keep_for_stream(struct reader *r, const struct mpic_block *blocks, size_t n)
{
	struct thread *t = &r->p->threads.at[r->thread];
	struct sig undefined = sig_of_thread(r->thread);
	int code = read_literals(r, blocks, n);
	if (code < 0 || vec_push(&r->p->sigs, undefined) < 0)
		return -ENOMEM;
	t->undefined = (uint32_t)r->p->sigs.n - 1;
	memcpy(&t->sig_of, &r->sig_of, sizeof(t->sig_of));
	memset(&r->sig_of, 0, sizeof(r->sig_of));
	t->blocks = blocks;
	t->nblocks = n;
	return 0;
}

int thread_load(struct process *p, struct budget *kept, uint32_t thread, const struct mpic_file *f,
		const struct mpic_block *blocks, size_t n, struct error *e)
{
	struct reader r = {.p = p, .kept = kept, .thread = thread, .f = f};
	int code = budget_reach(kept, &p->threads, thread);
	if (code == -EBADMSG) {
		p->bad_blocks += (uint32_t)n;
		return 0;
	}
	if (code == 0)
		code = read_all_defs(&r, blocks, n);
	if (code == 0)
		code = read_profile(&r, blocks, n);
	if (code == 0)
		code = keep_for_stream(&r, blocks, n);
	vec_done(&r.sig_of);
	mpic_events_done(&r.events);
	vec_done(&r.own);
	index_done(&r.own_of);
	return code < 0 ? fail(e, code, "%s: process %u, thread %u: %s", f->path, p->index, thread, strerror(-code))
			: 0;
}
