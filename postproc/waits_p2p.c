/* waits_p2p.c - late senders and late receivers.
 * One completing call (a Waitall) may wait for many messages; it waits for the latest, not for their sum. So the
 * largest wait of each event is found first and noted once; a late receiver only where no sender was late. */
#include "postproc/waits.h"

struct worst {
	int64_t sender_ns, receiver_ns;
	uint32_t sender, receiver; /* who was late */
};

struct worsts {
	struct worst *of; /* by event of the rank */
	size_t n;
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void late_sender(const struct step *s, const struct p2p_op *send, const struct p2p_op *recv,
			struct worst *w)
{
	const struct event *block = op_event(s, recv->rank, recv->block);
	const struct event *begin = op_event(s, send->rank, send->post);
	int64_t ns = least(block->end_ns, begin->start_ns) - block->start_ns;
	if (ns > w->sender_ns) {
		w->sender_ns = ns;
		w->sender = send->rank;
	}
}

/* Only a send that was still there when the receive was posted can have waited for it. */
static void late_receiver(const struct step *s, const struct p2p_op *send, const struct p2p_op *recv,
			  struct worst *w)
{
	const struct event *block = op_event(s, send->rank, send->block);
	const struct event *post = op_event(s, recv->rank, recv->post);
	if (block->end_ns < post->start_ns)
		return;
	int64_t ns = least(block->end_ns, post->start_ns) - block->start_ns;
	if (ns > w->receiver_ns) {
		w->receiver_ns = ns;
		w->receiver = recv->rank;
	}
}

/* Messages by the rank that waits: first those it receives, then those it sends. */
struct by_rank {
	uint32_t *first; /* nranks + 1 offsets into list */
	uint32_t *list;	 /* message numbers */
};

static uint32_t end_rank(const struct ops *o, const struct message *m, bool receiver)
{
	return receiver ? o->recvs.at[m->recv].rank : o->sends.at[m->send].rank;
}

static int sort_messages(const struct step *s, const struct ops *o, const struct matching *m, bool receiver,
			 struct by_rank *ret)
{
	struct by_rank b = {calloc((size_t)s->nranks + 2, sizeof(uint32_t)),
			    malloc((m->messages.n + 1) * sizeof(uint32_t))};
	*ret = b;
	if (b.first == NULL || b.list == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < m->messages.n; i++)
		b.first[end_rank(o, &m->messages.at[i], receiver) + 2]++;
	for (uint32_t r = 0; r < s->nranks; r++)
		b.first[r + 2] += b.first[r + 1];
	for (uint32_t i = 0; i < m->messages.n; i++)
		b.list[b.first[end_rank(o, &m->messages.at[i], receiver) + 1]++] = i;
	return 0;
}

static void by_rank_done(struct by_rank *b)
{
	free(b->first);
	free(b->list);
}

static int reach_events(struct worsts *w, size_t n)
{
	if (n > w->n) {
		struct worst *more = realloc(w->of, n * sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		w->of = more;
		w->n = n;
	}
	if (n > 0)
		memset(w->of, 0, n * sizeof(*w->of));
	return 0;
}

static int note_rank(struct waits *w, struct step *s, uint32_t rank, const struct worsts *found)
{
	int code = 0;
	for (uint32_t i = 0; i < s->ranks[rank]->events.n && code == 0; i++) {
		const struct worst *x = &found->of[i];
		if (x->sender_ns > 0)
			code = waits_note(w, s, LATE_SENDER, rank, i, x->sender_ns, x->sender);
		else if (x->receiver_ns > 0)
			code = waits_note(w, s, LATE_RECEIVER, rank, i, x->receiver_ns, x->receiver);
	}
	return code;
}

static void look_at(const struct step *s, const struct ops *o, const struct message *m, bool receiver,
		    struct worsts *found)
{
	const struct p2p_op *send = &o->sends.at[m->send], *recv = &o->recvs.at[m->recv];
	if (receiver && recv->block != NONE)
		late_sender(s, send, recv, &found->of[recv->block]);
	if (!receiver && send->block != NONE)
		late_receiver(s, send, recv, &found->of[send->block]);
}

int waits_p2p(struct waits *w, struct step *s, const struct ops *o, const struct matching *m)
{
	struct by_rank in = {0}, out = {0};
	struct worsts found = {0};
	int code = sort_messages(s, o, m, true, &in);
	if (code == 0)
		code = sort_messages(s, o, m, false, &out);
	for (uint32_t r = 0; r < s->nranks && code == 0; r++) {
		if (s->ranks[r] == NULL || (code = reach_events(&found, s->ranks[r]->events.n)) < 0)
			continue;
		for (uint32_t i = in.first[r]; i < in.first[r + 1]; i++)
			look_at(s, o, &m->messages.at[in.list[i]], true, &found);
		for (uint32_t i = out.first[r]; i < out.first[r + 1]; i++)
			look_at(s, o, &m->messages.at[out.list[i]], false, &found);
		code = note_rank(w, s, r, &found);
	}
	by_rank_done(&in);
	by_rank_done(&out);
	free(found.of);
	return code;
}
