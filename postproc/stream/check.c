/* check.c - see check.h. */
#include "postproc/stream/check.h"
#include "postproc/read/agreed.h"
#include "postproc/read/types.h"

static uint32_t receive_type(const struct sig_call *c)
{
	return c->shape == SIG_SENDRECV ? c->recv_datatype : c->datatype;
}

/* ---- messages ---- */

/* How many whole elements of its type the message had, as far as the receive had room. */
static uint64_t elements_that_fit(const struct process *from, const struct sig_call *sent, uint64_t room)
{
	uint64_t size = types_bytes(from, 1, sent->datatype), fit = size > 0 ? room / size : 0;
	return fit < sent->count ? fit : sent->count;
}

int check_message(struct shard *sh, const struct send *x, const struct recv *r)
{
	const struct process *from = sh->stream->step->ranks[x->rank], *to = sh->stream->step->ranks[r->rank];
	const struct sig *send = &from->sigs.at[x->sig], *recv = &to->sigs.at[r->sig];
	const struct sig_call *sent = &send->call, *got = &recv->call;
	uint32_t type = receive_type(got);
	uint64_t room = types_bytes(to, got->shape == SIG_SENDRECV ? got->recv_count : got->count, type);
	struct defect_case c = {.at_ns = x->start.start_ns,
				.rank = x->rank,
				.sig = x->sig,
				.peer = r->rank,
				.peer_sig = r->sig,
				.comm = x->comm,
				.tag = x->tag,
				.bytes = x->bytes,
				.other = room};
	int code = 0;
	if (x->bytes > room)
		code = defects_note(&sh->tally.defects, DEFECT_TRUNCATION, send->site, recv->site, &c);
	if (code < 0 || send->type == recv->recv_type || (x->flags & SENT_PARTITIONED) != 0 ||
	    types_match(from, sent->datatype, elements_that_fit(from, sent, room), to, type))
		return code;
	bool byte = types_is_byte(from, sent->datatype) || types_is_byte(to, type);
	return defects_note(&sh->tally.defects, byte ? DEFECT_BYTE_TYPE : DEFECT_DATATYPE, send->site, recv->site, &c);
}

int check_unreceived(struct shard *sh, const struct send *x)
{
	struct defect_case c = {.at_ns = x->start.start_ns,
				.rank = x->rank,
				.sig = x->sig,
				.peer = x->peer,
				.peer_sig = NONE,
				.comm = x->comm,
				.tag = x->tag,
				.bytes = x->bytes};
	return defects_note(&sh->tally.defects, DEFECT_UNRECEIVED, shard_sig(sh, x->rank, x->sig)->site, NONE, &c);
}

int check_unserved(struct shard *sh, const struct recv *r)
{
	struct defect_case c = {.at_ns = r->start.start_ns,
				.rank = r->rank,
				.sig = r->sig,
				.peer = r->peer >= 0 ? (uint32_t)r->peer : NONE,
				.peer_sig = NONE,
				.comm = r->comm,
				.tag = r->tag,
				.bytes = r->bytes};
	return defects_note(&sh->tally.defects, DEFECT_UNSERVED, shard_sig(sh, r->rank, r->sig)->site, NONE, &c);
}

/* ---- collectives ---- */

/* What one member did: parts with the same are one opinion. */
struct opinion {
	const struct sig *sig;
	const struct part *part;
	uint64_t votes;
};

struct council {
	VEC(const struct part *) parts; /* ascending rank */
	VEC(struct opinion) opinions;
};

static int by_rank(const void *a, const void *b)
{
	const struct part *x = *(const struct part *const *)a, *y = *(const struct part *const *)b;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* In how far do two members differ? DEFECT_KINDS: not at all. */
static enum defect_kind difference(const struct sig *a, const struct sig *b, bool inter)
{
	if (a->call.coll != b->call.coll)
		return DEFECT_COLLECTIVE_ORDER;
	if (!inter && a->peer != b->peer)
		return DEFECT_COLLECTIVE_ROOT;
	return a->agreed != b->agreed ? DEFECT_COLLECTIVE_SIZE : DEFECT_KINDS;
}

#define OPINIONS_MAX 64u /* further ones differ from the first ones, and win no majority */

static int vote(struct council *c, const struct shard *sh, const struct part *p, bool inter)
{
	const struct sig *sig = shard_sig(sh, p->rank, p->sig);
	for (size_t i = 0; i < c->opinions.n; i++)
		if (difference(sig, c->opinions.at[i].sig, inter) == DEFECT_KINDS) {
			c->opinions.at[i].votes++;
			return 0;
		}
	return c->opinions.n < OPINIONS_MAX ? vec_push(&c->opinions, (struct opinion){sig, p, 1}) : 0;
}

/* What most did; of equally many, what the lowest rank did. */
static const struct opinion *majority(const struct council *c)
{
	const struct opinion *best = &c->opinions.at[0];
	for (size_t i = 1; i < c->opinions.n; i++)
		if (c->opinions.at[i].votes > best->votes)
			best = &c->opinions.at[i];
	return best;
}

static int note_different(struct shard *sh, const struct collective *whole, const struct part *p,
			  const struct opinion *common, enum defect_kind kind)
{
	struct process **ranks = sh->stream->step->ranks;
	const struct sig *sig = shard_sig(sh, p->rank, p->sig);
	struct defect_case x = {.at_ns = p->start.start_ns,
				.rank = p->rank,
				.sig = p->sig,
				.peer = common->part->rank,
				.peer_sig = common->part->sig,
				.comm = whole->comm,
				.k = whole->k,
				.bytes = agreed_bytes(ranks[p->rank], sig),
				.other = agreed_bytes(ranks[common->part->rank], common->sig)};
	return defects_note(&sh->tally.defects, kind, sig->site, common->sig->site, &x);
}

/* Once for each member that did something else than most. */
static int classify(struct shard *sh, const struct collective *whole, const struct council *c, bool inter)
{
	const struct opinion *common = majority(c);
	int code = 0;
	for (size_t i = 0; i < c->parts.n && code == 0; i++) {
		const struct part *p = c->parts.at[i];
		enum defect_kind kind = difference(shard_sig(sh, p->rank, p->sig), common->sig, inter);
		if (kind != DEFECT_KINDS)
			code = note_different(sh, whole, p, common, kind);
	}
	return code;
}

/* Which one it is of its communicator's is a count: of a member that lacks calls nobody knows it. */
static bool are_numbered(const struct shard *sh, const struct council *c)
{
	for (size_t i = 0; i < c->parts.n; i++)
		if (!process_is_whole(sh->stream->step->ranks[c->parts.at[i]->rank]))
			return false;
	return true;
}

int check_collective(struct shard *sh, const struct collective *whole)
{
	bool inter = sh->stream->step->comms.at[whole->comm].inter;
	struct council c = {0};
	int code = 0;
	for (const struct collective *m = whole->sibling; m != NULL && code == 0; m = m->sibling)
		for (const struct part *p = m->parts; p != NULL && code == 0; p = p->next)
			code = vec_push(&c.parts, p);
	vec_sort(&c.parts, by_rank);
	for (size_t i = 0; i < c.parts.n && code == 0; i++)
		code = vote(&c, sh, c.parts.at[i], inter);
	if (code == 0 && c.opinions.n > 1 && are_numbered(sh, &c))
		code = classify(sh, whole, &c, inter);
	vec_done(&c.parts);
	vec_done(&c.opinions);
	return code;
}
