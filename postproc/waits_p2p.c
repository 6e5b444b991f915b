/* waits_p2p.c - late senders and late receivers.
 * One completing call (a Waitall) may wait for many messages; it waits for the latest, not for
 * their sum. So the largest wait of each event is found first and noted once; a late receiver only
 * where no sender was late. */
#include "postproc/waits.h"

struct worst {
	int64_t sender_ns, receiver_ns;
	const struct p2p_op *sender, *receiver; /* who was late */
	int64_t other_ns;			/* of sender_ns: something else could have been received */
};

struct worsts {
	struct worst *of; /* by event of the rank */
	size_t n;
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* earliest_other: when the first of the messages was sent that this rank receives only later. */
static void late_sender(const struct step *s, const struct p2p_op *send, const struct p2p_op *recv,
			int64_t earliest_other, struct worst *w)
{
	const struct event *completion = op_event(s, recv->rank, recv->completion);
	const struct event *begin = op_event(s, send->rank, send->start);
	int64_t ns = least(completion->end_ns, begin->start_ns) - completion->start_ns;
	if (ns > w->sender_ns) {
		w->sender_ns = ns;
		w->sender = send;
		w->other_ns = 0;
		if (earliest_other < begin->start_ns)
			w->other_ns = least(completion->end_ns, begin->start_ns) -
				      (earliest_other > completion->start_ns ? earliest_other : completion->start_ns);
	}
}

/* Only a send that was still there when the receive was started can have waited for it. */
static void late_receiver(const struct step *s, const struct p2p_op *send, const struct p2p_op *recv, struct worst *w)
{
	const struct event *completion = op_event(s, send->rank, send->completion);
	const struct event *start = op_event(s, recv->rank, recv->start);
	if (completion->end_ns < start->start_ns)
		return;
	int64_t ns = least(completion->end_ns, start->start_ns) - completion->start_ns;
	if (ns > w->receiver_ns) {
		w->receiver_ns = ns;
		w->receiver = recv;
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
	if (vec_grow(&w->of, &w->n, n, sizeof(*w->of)) < 0)
		return -ENOMEM;
	if (n > 0)
		memset(w->of, 0, n * sizeof(*w->of));
	return 0;
}

static int note_sender(struct waits *w, struct step *s, uint32_t rank, uint32_t at, const struct worst *x)
{
	struct wait_link link = {rank, at, x->sender->rank, x->sender->start};
	int code = waits_note(w, s, LATE_SENDER, &link, x->sender_ns);
	if (code == 0 && x->other_ns > 0)
		code = waits_note_part(w, s, LATE_SENDER_WRONG_ORDER, &link, x->other_ns);
	return code;
}

static int note_rank(struct waits *w, struct step *s, uint32_t rank, const struct worsts *found)
{
	int code = 0;
	for (uint32_t i = 0; i < s->ranks[rank]->events.n && code == 0; i++) {
		const struct worst *x = &found->of[i];
		if (x->sender_ns > 0) {
			code = note_sender(w, s, rank, i, x);
		} else if (x->receiver_ns > 0) {
			struct wait_link link = {rank, i, x->receiver->rank, x->receiver->start};
			code = waits_note(w, s, LATE_RECEIVER, &link, x->receiver_ns);
		}
	}
	return code;
}

/* Messages of one receiver stand in order of their starts (match.c walks receives in order), so
 * walking backwards the earliest sent of all later ones is known. Receives posted before the
 * waiting call began were no choice. */
static void look_at_received(const struct step *s, const struct ops *o, const struct matching *m,
			     const struct by_rank *in, uint32_t rank, struct worsts *found)
{
	int64_t earliest = INT64_MAX;
	uint32_t later = in->first[rank + 1];
	for (uint32_t i = in->first[rank + 1]; i-- > in->first[rank];) {
		const struct message *at = &m->messages.at[in->list[i]];
		const struct p2p_op *send = &o->sends.at[at->send], *recv = &o->recvs.at[at->recv];
		if (recv->completion == NONE)
			continue;
		while (later > i + 1 &&
		       o->recvs.at[m->messages.at[in->list[later - 1]].recv].start > recv->completion) {
			const struct p2p_op *other = &o->sends.at[m->messages.at[in->list[--later]].send];
			int64_t sent = op_event(s, other->rank, other->start)->start_ns;
			earliest = sent < earliest ? sent : earliest;
		}
		late_sender(s, send, recv, earliest, &found->of[recv->completion]);
	}
}

static void look_at_sent(const struct step *s, const struct ops *o, const struct matching *m, const struct by_rank *out,
			 uint32_t rank, struct worsts *found)
{
	for (uint32_t i = out->first[rank]; i < out->first[rank + 1]; i++) {
		const struct message *at = &m->messages.at[out->list[i]];
		const struct p2p_op *send = &o->sends.at[at->send];
		if (send->completion != NONE)
			late_receiver(s, send, &o->recvs.at[at->recv], &found->of[send->completion]);
	}
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
		look_at_received(s, o, m, &in, r, &found);
		look_at_sent(s, o, m, &out, r, &found);
		code = note_rank(w, s, r, &found);
	}
	by_rank_done(&in);
	by_rank_done(&out);
	free(found.of);
	return code;
}
