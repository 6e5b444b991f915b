/* words.c - see snapshot.h. */
#include "base/path.h"
#include "postproc/live/snapshot.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>

#define WORDS_MEMBERS_MAX 16 /* of a deadlock that are named one by one */
#define WORDS_ROWS_MAX 4     /* calls in which others wait for it */

static const char *live_op(const struct snapshot *l, const struct sig *sig)
{
	if (sig == NULL)
		return "MPI_Init";
	return sig_op(&l->step, sig);
}

int32_t live_peer(const struct sig *sig)
{
	bool receives = sig->call.shape == SIG_RECV || sig->call.shape == SIG_PROBE;
	if (receives && (sig->call.flags & SIG_ANY_SOURCE) != 0)
		return SIG_ANY;
	return sig->peer;
}

bool live_place(const struct snapshot *l, const struct sig *sig, char *ret_text, size_t cap)
{
	const struct site *site = sig != NULL && sig->site != NONE ? &l->step.sites.at[sig->site] : NULL;
	if (site == NULL)
		return false;
	if (site->file != NULL)
		snprintf(ret_text, cap, "%s:%d", path_name(site->file), site->line);
	else if (site->function != NULL)
		snprintf(ret_text, cap, "%s", site->function);
	else if (site->module != NONE)
		snprintf(ret_text, cap, "%s+0x%llx", l->step.modules.at[site->module].path,
			 (unsigned long long)site->offset);
	else
		return false;
	return true;
}

static void put_peer(struct buf *b, const char *preposition, int32_t peer)
{
	if (peer == SIG_ANY)
		buf_printf(b, " %s any rank", preposition);
	else if (peer >= 0)
		buf_printf(b, " %s rank %d", preposition, peer);
}

/* It has no name of its own, and none that it was made of. */
static bool is_world(const struct snapshot *l, const struct comm *c)
{
	return c->parent == NONE && c->size == l->step.nranks;
}

static void put_comm(struct buf *b, const struct snapshot *l, const struct sig *sig)
{
	const struct comm *c = sig->comm != NONE ? &l->step.comms.at[sig->comm] : NULL;
	if (c != NULL && c->name != NULL && strcmp(c->name, "MPI_COMM_WORLD") != 0)
		buf_printf(b, " on %s", c->name);
	else if (c != NULL && c->name == NULL && !is_world(l, c))
		buf_printf(b, " on a communicator of %u", c->size);
}

static void put_call(struct buf *b, const struct snapshot *l, const struct sig *sig)
{
	if (sig == NULL) {
		buf_str(b, "in MPI_Init");
		return;
	}
	const struct sig_call *c = &sig->call;
	bool any_tag = (c->flags & SIG_ANY_TAG) != 0;
	buf_printf(b, "in %s", live_op(l, sig));
	if (c->shape == SIG_SEND || c->shape == SIG_SENDRECV)
		put_peer(b, "to", sig->peer);
	if (c->shape == SIG_SENDRECV)
		put_peer(b, "and from", (c->flags & SIG_ANY_SOURCE) != 0 ? SIG_ANY : sig->recv_peer);
	if (c->shape == SIG_RECV || c->shape == SIG_PROBE)
		put_peer(b, "from", live_peer(sig));
	if (c->shape == SIG_SEND || ((c->shape == SIG_RECV || c->shape == SIG_PROBE) && !any_tag))
		buf_printf(b, ", tag %d", c->tag);
	if (c->shape == SIG_COLL && sig->peer >= 0)
		buf_printf(b, ", root rank %d", sig->peer);
	if (c->shape == SIG_COMPLETE && c->requests > 0)
		buf_printf(b, " for %u request%s", c->requests, c->requests == 1 ? "" : "s");
	put_comm(b, l, sig);
}

/* NULL without memory. */
static char *text_of(struct buf *b)
{
	buf_u8(b, '\0');
	if (!buf_failed(b))
		return (char *)b->data;
	buf_done(b);
	return NULL;
}

static void put_words(struct buf *b, const struct snapshot *l, uint32_t rank, const struct sig *sig, double since_s,
		      bool with_time)
{
	const struct live_rank *r = &l->ranks.at[rank];
	char place[512];
	if (r->state == LIVE_SILENT)
		buf_str(b, "has no samples");
	else if (r->state == LIVE_ENDED)
		buf_str(b, "has ended");
	else if (r->state == LIVE_USEFUL)
		buf_str(b, "outside of MPI");
	else
		put_call(b, l, sig);
	if (with_time && !isnan(since_s) && since_s > 0)
		buf_printf(b, "%s %s", r->state == LIVE_MPI ? " for" : " for up to", fmt_plain(fmt_time(since_s)).s);
	if (r->state == LIVE_MPI && live_place(l, sig, place, sizeof(place)))
		buf_printf(b, " at %s", place);
	if (r->stopped)
		buf_str(b, ", stopped by a signal");
}

char *live_words(const struct snapshot *l, uint32_t rank, bool with_time)
{
	struct buf b = {0};
	buf_printf(&b, "rank %u ", rank);
	put_words(&b, l, rank, l->ranks.at[rank].sig, l->ranks.at[rank].since_s, with_time);
	return text_of(&b);
}

/* ---- deadlocks ---- */

char *live_until(const struct snapshot *l, const struct core_member *m)
{
	const struct states *s = &l->states.out;
	struct buf b = {0};
	if (m->want == STATE_NONE)
		buf_str(&b, "any of several");
	else
		state_put_want(&b, &s->wants.at[m->want], s->threads.at[m->thread].op, m->needs);
	return text_of(&b);
}

static const struct sig *sig_of_thread(const struct snapshot *l, uint32_t rank, uint32_t thread)
{
	const struct process *p = l->step.ranks[rank];
	for (size_t i = 0; i < p->open.n; i++)
		if (p->open.at[i].thread == thread)
			return &p->sigs.at[p->open.at[i].sig];
	return NULL;
}

/* Of messages the call itself says what it waits for. */
static void put_member(struct buf *b, const struct snapshot *l, const struct core *c, size_t i)
{
	const struct core_member *m = &c->members.at[i];
	const struct state *t = &l->states.out.threads.at[m->thread];
	const struct sig *sig = sig_of_thread(l, m->rank, t->thread);
	bool more = (i > 0 && c->members.at[i - 1].rank == m->rank) ||
		    (i + 1 < c->members.n && c->members.at[i + 1].rank == m->rank);
	buf_printf(b, "%srank %u ", b->len_bytes > 0 ? "; " : "", m->rank);
	if (more)
		buf_printf(b, "thread %u ", t->thread);
	put_words(b, l, m->rank, sig, t->since_s, true);
	bool says = sig != NULL &&
		    (sig->call.shape == SIG_SEND || sig->call.shape == SIG_RECV || sig->call.shape == SIG_PROBE);
	char *until = says ? NULL : live_until(l, m);
	if (until != NULL)
		buf_printf(b, ", needs %s", until);
	free(until);
}

static void put_waiting(struct buf *b, const struct snapshot *l, const struct core *c)
{
	size_t n = c->waiting.n;
	if (n == 0)
		return;
	buf_printf(b, "; %zu more rank%s wait%s for %s", n, n == 1 ? "" : "s", n == 1 ? "s" : "",
		   c->nranks == 1 ? "it" : "them");
	for (size_t i = 0; i < c->waiters.n && i < WORDS_ROWS_MAX; i++) {
		const struct core_waiters *w = &c->waiters.at[i];
		const struct sig at = {.site = w->site};
		char place[512];
		buf_printf(b, "%s %u in %s", i == 0 ? ":" : ",", w->count, w->op != NULL ? w->op : "other calls");
		if (live_place(l, &at, place, sizeof(place)))
			buf_printf(b, " at %s", place);
	}
	if (c->waiters.n > WORDS_ROWS_MAX)
		buf_str(b, ", others elsewhere");
}

char *live_why(const struct snapshot *l, const struct core *c)
{
	struct buf b = {0};
	for (size_t i = 0; i < c->members.n && i < WORDS_MEMBERS_MAX; i++)
		put_member(&b, l, c, i);
	if (c->members.n > WORDS_MEMBERS_MAX)
		buf_printf(&b, "; and %zu more", c->members.n - WORDS_MEMBERS_MAX);
	if (c->over != STATE_NONE) {
		char *words = live_words(l, c->over, true);
		buf_printf(&b, "; %s", words != NULL ? words : "");
		free(words);
	}
	put_waiting(&b, l, c);
	return text_of(&b);
}
