/* words.c - see look.h. */
#include "postproc/live/look.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>

const char *live_op(const struct look *l, const struct sig *sig)
{
	if (sig == NULL)
		return "MPI_Init";
	return sig->op == NONE ? "an MPI call" : l->step.ops.at[sig->op];
}

int32_t live_peer(const struct sig *sig)
{
	bool receives = sig->call.shape == SIG_RECV || sig->call.shape == SIG_PROBE;
	if (receives && (sig->call.flags & SIG_ANY_SOURCE) != 0)
		return SIG_ANY;
	return sig->peer;
}

bool live_place(const struct look *l, const struct sig *sig, char *ret_text, size_t cap)
{
	const struct site *site = sig != NULL && sig->site != NONE ? &l->step.sites.at[sig->site] : NULL;
	const char *slash = site != NULL && site->file != NULL ? strrchr(site->file, '/') : NULL;
	if (site == NULL)
		return false;
	if (site->file != NULL)
		snprintf(ret_text, cap, "%s:%d", slash != NULL ? slash + 1 : site->file, site->line);
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
		buf_printf(b, " %s anybody", preposition);
	else if (peer >= 0)
		buf_printf(b, " %s rank %d", preposition, peer);
}

/* It has no name of its own, and none that it was made of. */
static bool is_world(const struct look *l, const struct comm *c)
{
	return c->parent == NONE && c->size == l->step.nranks;
}

static void put_comm(struct buf *b, const struct look *l, const struct sig *sig)
{
	const struct comm *c = sig->comm != NONE ? &l->step.comms.at[sig->comm] : NULL;
	if (c != NULL && c->name != NULL && strcmp(c->name, "MPI_COMM_WORLD") != 0)
		buf_printf(b, " on %s", c->name);
	else if (c != NULL && c->name == NULL && !is_world(l, c))
		buf_printf(b, " on a communicator of %u", c->size);
}

static void put_call(struct buf *b, const struct look *l, const struct sig *sig)
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

char *live_words(const struct look *l, uint32_t rank, bool with_time)
{
	const struct live_rank *r = &l->ranks.at[rank];
	struct buf b = {0};
	char place[512];
	buf_printf(&b, "rank %u ", rank);
	if (r->state == LIVE_SILENT)
		buf_str(&b, "was not heard of");
	else if (r->state == LIVE_ENDED)
		buf_str(&b, "has ended");
	else if (r->state == LIVE_USEFUL)
		buf_str(&b, "outside of MPI");
	else
		put_call(&b, l, r->sig);
	if (with_time && !isnan(r->since_s) && r->since_s > 0)
		buf_printf(&b, "%s %s", r->state == LIVE_MPI ? " for" : " for up to",
			   fmt_plain(fmt_time(r->since_s)).s);
	if (r->state == LIVE_MPI && live_place(l, r->sig, place, sizeof(place)))
		buf_printf(&b, " at %s", place);
	if (r->stopped)
		buf_str(&b, ", stopped by a signal");
	buf_u8(&b, '\0');
	if (!buf_failed(&b))
		return (char *)b.data;
	buf_done(&b);
	return NULL;
}
