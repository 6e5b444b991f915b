/* export.c - see export.h. In: the analysis.  Out: format/mpix.h's writer, rank by rank, then all
 * messages. */
#include "postproc/export.h"
#include "base/progress.h"

#define BATCH 4096u

static int32_t peer_of(const struct sig *sig)
{
	int32_t peer = sig->call.shape == SIG_RECV ? sig->recv_peer : sig->peer;
	bool has_peer = sig->call.shape == SIG_SEND || sig->call.shape == SIG_RECV || sig->call.shape == SIG_SENDRECV ||
			sig->call.shape == SIG_PROBE || sig->call.shape == SIG_COLL || sig->call.shape == SIG_RMA;
	if (!has_peer)
		return -1;
	return peer >= 0 ? peer : peer == SIG_PROC_NULL ? -2 : -1;
}

static void fill_event(const struct step *s, const struct process *p, const struct event *ev, struct mpix_event *to)
{
	const struct sig *sig = &p->sigs.at[ev->sig];
	*to = (struct mpix_event){
		.start_ns = ev->start_ns,
		.end_ns = ev->end_ns,
		.calls = ev->calls,
		.peer = peer_of(sig),
		.tag = sig->call.tag,
		.op = sig->op == NONE ? (uint32_t)s->ops.n : sig->op,
		.callsite = sig->site == NONE ? MPIX_NO_CALLSITE : sig->site,
		.comm = sig->comm == NONE ? 0 : s->comms.at[sig->comm].same,
		.thread = sig->thread,
		.wait_ns = ev->wait_ns,
		.class = (uint8_t)step_class(s, sig),
	};
}

static int write_rank(const struct analysis *a, uint32_t rank, struct moved_walk *walk, struct mpix_writer *w,
		      struct error *e)
{
	const struct step *s = a->step;
	const struct process *p = s->ranks[rank];
	struct mpix_event *events = malloc((p->events.n + 1) * sizeof(*events));
	if (events == NULL)
		return fail(e, -ENOMEM, "out of memory for %zu events of rank %u", p->events.n, rank);
	uint64_t n = 0;
	for (uint32_t i = 0; i < p->events.n; i++) {
		if (p->events.at[i].calls == 0) /* it continues the one before */
			continue;
		fill_event(s, p, &p->events.at[i], &events[n]);
		events[n++].bytes = bytes_of_event(walk, s, &a->ops, &a->moved, rank, i);
	}
	int code = mpix_writer_events(w, rank, events, n, e);
	free(events);
	return code;
}

static int write_events(const struct analysis *a, struct mpix_writer *w, struct error *e)
{
	struct moved_walk walk = {0};
	struct progress p;
	int code = 0;
	progress_begin(&p, "writing", a->step->nranks);
	for (uint32_t r = 0; r < a->step->nranks && code == 0; r++) {
		if (a->step->ranks[r] != NULL && a->step->ranks[r]->events.n > 0)
			code = write_rank(a, r, &walk, w, e);
		progress_at(&p, r);
	}
	progress_end(&p);
	return code;
}

/* A message and when it was sent, to sort by. */
struct sent {
	int64_t ns;
	uint32_t at;
};

static int by_time(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;
	return x->ns != y->ns ? (x->ns > y->ns) - (x->ns < y->ns) : (x->at > y->at) - (x->at < y->at);
}

static void fill_message(const struct analysis *a, const struct message *m, struct mpix_message *to)
{
	const struct step *s = a->step;
	const struct p2p_op *send = &a->ops.sends.at[m->send], *recv = &a->ops.recvs.at[m->recv];
	const struct event *sent = op_event(s, send->rank, send->start);
	const struct event *start = op_event(s, recv->rank, recv->start);
	const struct event *completion = recv->completion == NONE ? start : op_event(s, recv->rank, recv->completion);
	uint32_t send_site = event_sig(s, send->rank, send->start)->site;
	uint32_t recv_site = event_sig(s, recv->rank, recv->start)->site;
	*to = (struct mpix_message){
		.send_start_ns = sent->start_ns,
		.send_end_ns = sent->end_ns,
		.recv_start_ns = start->start_ns,
		.completion_start_ns = completion->start_ns,
		.recv_end_ns = completion->end_ns,
		.bytes = send->bytes,
		.src = send->rank,
		.dst = recv->rank,
		.tag = send->tag,
		.comm = send->comm,
		.send_callsite = send_site == NONE ? MPIX_NO_CALLSITE : send_site,
		.recv_callsite = recv_site == NONE ? MPIX_NO_CALLSITE : recv_site,
	};
}

static struct sent *in_order(const struct analysis *a)
{
	size_t n = a->matching.messages.n;
	struct sent *order = malloc((n + 1) * sizeof(*order));
	for (uint32_t i = 0; order != NULL && i < n; i++) {
		const struct p2p_op *send = &a->ops.sends.at[a->matching.messages.at[i].send];
		order[i] = (struct sent){op_event(a->step, send->rank, send->start)->start_ns, i};
	}
	if (order != NULL)
		qsort(order, n, sizeof(*order), by_time);
	return order;
}

static int write_messages(const struct analysis *a, struct mpix_writer *w, struct error *e)
{
	struct mpix_message *batch = malloc(BATCH * sizeof(*batch));
	struct sent *order = in_order(a);
	size_t n = a->matching.messages.n;
	int code = batch == NULL || order == NULL ? fail(e, -ENOMEM, "out of memory for %zu messages", n) : 0;
	for (size_t i = 0; i < n && code == 0; i += BATCH) {
		size_t m = n - i < BATCH ? n - i : BATCH;
		for (size_t k = 0; k < m; k++)
			fill_message(a, &a->matching.messages.at[order[i + k].at], &batch[k]);
		code = mpix_writer_messages(w, batch, m, e);
	}
	free(batch);
	free(order);
	return code;
}

/* Names of operations, and one more for events whose definition was lost. */
static const char **op_names(const struct step *s)
{
	const char **names = malloc((s->ops.n + 1) * sizeof(*names));
	for (size_t i = 0; names != NULL && i < s->ops.n; i++)
		names[i] = s->ops.at[i];
	if (names != NULL)
		names[s->ops.n] = "(unknown)";
	return names;
}

int export_mpix(const struct analysis *a, const char *path, const char *json, struct error *e)
{
	const struct step *s = a->step;
	const char **names = op_names(s);
	struct mpix_writer *w = NULL;
	if (names == NULL)
		return fail(e, -ENOMEM, "out of memory");
	struct mpix_info info = {
		.ranks = s->nranks, .runtime_ns = s->runtime_ns, .ops = names, .nops = (uint32_t)s->ops.n + 1};
	int code = mpix_writer_create(path, &info, &w, e);
	if (code == 0)
		code = write_events(a, w, e);
	if (code == 0)
		code = write_messages(a, w, e);
	if (code == 0)
		code = mpix_writer_finish(w, json, e);
	else
		mpix_writer_abandon(w);
	free(names);
	return code;
}
