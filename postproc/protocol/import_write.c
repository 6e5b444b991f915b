/* import_write.c - an imported trace to .mpix: events by rank and window, signatures of what calls have in common, and
 * messages. Calls of which nobody knows how long they took are moments. */
#include "base/sort.h"
#include "postproc/protocol/import.h"

#include "base/index.h"
#include "base/search.h"

#define WINDOW_EVENTS (16384u * 4)

struct rank_out {
	VEC(struct mpix_signature) sigs;
	struct index by_value;
	VEC(uint32_t) begin; /* of each window, and one more */
};

struct writing {
	const struct import *x;
	struct mpix_writer *w;
	struct rank_out *ranks;
	VEC(int64_t) cuts; /* start of each window */
	VEC(struct import_site) sites;
	struct index by_site;
	VEC(uint64_t) enter, leave;
	VEC(uint32_t) sig;
	VEC(struct mpix_run) runs;
	VEC(struct mpix_number) numbers;
	VEC(uint64_t) next_number; /* by communicator: in the run at hand; 0: none yet */
	VEC(struct mpix_link) links;
	VEC(uint32_t) link_order; /* of x->links, by window and group of the receive */
	size_t next_link;
	struct error *e;
};

/* ---- call sites and signatures ---- */

static bool is_site(const void *context, uint32_t at)
{
	const struct writing *w = context;
	const struct import_site *x = &w->sites.at[at], *y = &w->sites.at[w->sites.n];
	return x->op == y->op && x->line == y->line;
}

static int find_site(struct writing *w, uint32_t op, uint32_t line, uint32_t *ret_site)
{
	uint64_t hash = index_mix(op, line);
	*ret_site = MPIX_NO_CALLSITE;
	if (line == 0)
		return 0;
	if (vec_grow(&w->sites.at, &w->sites.cap, w->sites.n + 1, sizeof(*w->sites.at)) < 0)
		return -ENOMEM;
	w->sites.at[w->sites.n] = (struct import_site){op, line, 0};
	*ret_site = index_find(&w->by_site, hash, is_site, w);
	if (*ret_site == INDEX_NONE) {
		*ret_site = (uint32_t)w->sites.n;
		if (index_add(&w->by_site, hash, *ret_site) < 0)
			return -ENOMEM;
		w->sites.n++;
	}
	w->sites.at[*ret_site].calls++;
	return 0;
}

static bool is_signature(const void *context, uint32_t at)
{
	const struct rank_out *r = context;
	const struct mpix_signature *a = &r->sigs.at[at], *b = &r->sigs.at[r->sigs.n];
	return a->bytes == b->bytes && a->message_bytes == b->message_bytes && a->peer == b->peer && a->tag == b->tag &&
	       a->op == b->op && a->callsite == b->callsite && a->comm == b->comm && a->class == b->class &&
	       a->flags == b->flags;
}

static int32_t shown_peer(const struct import *x, const struct import_event *ev)
{
	int32_t peer = ev->sends ? ev->send_peer : ev->recv_peer;
	bool has_peer = ev->sends || ev->receives;
	return has_peer && peer >= 0 && (uint32_t)peer < x->nranks ? peer : -1;
}

static int find_signature(struct writing *w, struct rank_out *r, const struct import_event *ev, uint32_t *ret_sig)
{
	const struct import_op *op = &w->x->ops.at[ev->op];
	struct mpix_signature *s;
	uint32_t site;
	if (vec_grow(&r->sigs.at, &r->sigs.cap, r->sigs.n + 1, sizeof(*r->sigs.at)) < 0 ||
	    find_site(w, ev->op, ev->line, &site) < 0)
		return -ENOMEM;
	s = &r->sigs.at[r->sigs.n];
	memset(s, 0, sizeof(*s)); /* hashed as bytes */
	s->bytes = ev->send_bytes + ev->recv_bytes;
	s->message_bytes = ev->sends ? ev->send_bytes : 0;
	s->peer = shown_peer(w->x, ev);
	s->tag = ev->sends ? ev->send_tag : ev->recv_tag;
	s->op = ev->op;
	s->callsite = site;
	s->comm = ev->comm;
	s->class = op->class;
	s->flags = op->collective && ev->number != MPIX_NO_NUMBER ? MPIX_COLLECTIVE : 0;
	uint64_t hash = index_hash(INDEX_SEED, s, sizeof(*s));
	*ret_sig = index_find(&r->by_value, hash, is_signature, r);
	if (*ret_sig != INDEX_NONE)
		return 0;
	*ret_sig = (uint32_t)r->sigs.n;
	if (index_add(&r->by_value, hash, *ret_sig) < 0)
		return -ENOMEM;
	r->sigs.n++;
	return 0;
}

/* All signatures are there before the first event is written; so each call is counted once when JSON is made. */
static int put_signatures(struct writing *w)
{
	int code = 0;
	for (uint32_t r = 0; r < w->x->nranks && code == 0; r++) {
		const struct import_rank *rank = &w->x->ranks[r];
		uint32_t sig;
		for (size_t i = 0; i < rank->events.n && code == 0; i++)
			code = find_signature(w, &w->ranks[r], &rank->events.at[i], &sig);
		if (code == 0)
			code = mpix_writer_signatures(w->w, r, w->ranks[r].sigs.at, (uint32_t)w->ranks[r].sigs.n, w->e);
	}
	return code;
}

/* ---- windows ---- */

static int make_cuts(struct writing *w)
{
	VEC(int64_t) starts = {0};
	uint64_t groups = w->x->nranks / MPIX_GROUP_RANKS + 1, step = WINDOW_EVENTS * groups;
	int code = vec_push(&w->cuts, 0);
	for (uint32_t r = 0; r < w->x->nranks && code == 0; r++)
		for (size_t i = 0; i < w->x->ranks[r].events.n && code == 0; i++)
			code = vec_push(&starts, w->x->ranks[r].events.at[i].ns);
	vec_sort(&starts, sort_by_i64);
	for (uint64_t i = step; i < starts.n && code == 0; i += step)
		if (starts.at[i] > w->cuts.at[w->cuts.n - 1])
			code = vec_push(&w->cuts, starts.at[i]);
	vec_done(&starts);
	return code;
}

static uint32_t window_of(const struct writing *w, int64_t ns)
{
	size_t behind = search_first(1, w->cuts.n, i, w->cuts.at[i] <= ns);
	return (uint32_t)(behind - 1);
}

static int find_begins(struct writing *w)
{
	for (uint32_t r = 0; r < w->x->nranks; r++) {
		const struct import_rank *rank = &w->x->ranks[r];
		size_t at = 0;
		for (size_t k = 0; k <= w->cuts.n; k++) {
			while (at < rank->events.n && (k == w->cuts.n || rank->events.at[at].ns < w->cuts.at[k]))
				at++;
			if (vec_push(&w->ranks[r].begin, (uint32_t)at) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static struct mpix_position place(const struct writing *w, uint32_t rank, uint32_t event)
{
	uint32_t window = window_of(w, w->x->ranks[rank].events.at[event].ns);
	return (struct mpix_position){window, rank, event - w->ranks[rank].begin.at[window]};
}

/* ---- parts ---- */

static int add_number(struct writing *w, uint32_t index, const struct import_event *ev)
{
	uint64_t *next = &w->next_number.at[ev->comm];
	bool follows = *next == ev->number + 1;
	*next = ev->number + 2;
	return follows ? 0 : vec_push(&w->numbers, (struct mpix_number){index, ev->comm, ev->number});
}

static int add_run(struct writing *w, uint32_t r, uint32_t window)
{
	const struct import_rank *rank = &w->x->ranks[r];
	uint32_t begin = w->ranks[r].begin.at[window], end = w->ranks[r].begin.at[window + 1];
	struct mpix_run run = {.lane = r, .n = end - begin};
	size_t numbers = w->numbers.n;
	if (w->next_number.n > 0)
		memset(w->next_number.at, 0, w->next_number.n * sizeof(*w->next_number.at));
	for (uint32_t i = begin; i < end; i++) {
		const struct import_event *ev = &rank->events.at[i];
		uint32_t sig;
		if (find_signature(w, &w->ranks[r], ev, &sig) < 0 || vec_push(&w->sig, sig) < 0 ||
		    vec_push(&w->enter, (uint64_t)ev->ns) < 0 || vec_push(&w->leave, (uint64_t)ev->end_ns) < 0 ||
		    (ev->number != MPIX_NO_NUMBER && add_number(w, i - begin, ev) < 0))
			return -ENOMEM;
	}
	run.nnumbers = (uint32_t)(w->numbers.n - numbers);
	run.begin_tick = (uint64_t)(begin > 0 ? rank->events.at[begin - 1].end_ns : rank->events.at[begin].ns);
	return vec_push(&w->runs, run);
}

static void set_pointers(struct writing *w)
{
	size_t at = 0, number = 0;
	for (size_t i = 0; i < w->runs.n; i++) {
		struct mpix_run *r = &w->runs.at[i];
		r->enter = w->enter.at + at;
		r->leave = w->leave.at + at;
		r->sig = w->sig.at + at;
		r->numbers = w->numbers.at + number;
		at += r->n;
		number += r->nnumbers;
	}
}

static uint32_t receive_window(const struct writing *w, const struct import_link *l)
{
	return window_of(w, w->x->ranks[l->dst].events.at[l->recv].ns);
}

/* Positions of a message's calls must be known in its part. */
static uint32_t link_window(const struct writing *w, const struct import_link *l)
{
	uint32_t sent = window_of(w, w->x->ranks[l->src].events.at[l->send].ns), received = receive_window(w, l);
	return sent > received ? sent : received;
}

static int add_link(struct writing *w, const struct import_link *l)
{
	const struct import_event *send = &w->x->ranks[l->src].events.at[l->send];
	const struct import_event *recv = &w->x->ranks[l->dst].events.at[l->recv];
	uint32_t send_site, recv_site;
	if (find_site(w, send->op, send->line, &send_site) < 0 || find_site(w, recv->op, recv->line, &recv_site) < 0)
		return -ENOMEM;
	struct mpix_link link = {.recv = place(w, l->dst, l->recv),
				 .completion = place(w, l->dst, l->recv),
				 .send = place(w, l->src, l->send),
				 .sent = place(w, l->src, l->send),
				 .signature = MPIX_OF_START,
				 .message = {.send_start_ns = send->ns,
					     .send_end_ns = send->end_ns,
					     .recv_start_ns = recv->ns,
					     .completion_start_ns = recv->ns,
					     .recv_end_ns = recv->end_ns,
					     .bytes = send->send_bytes,
					     .src = l->src,
					     .dst = l->dst,
					     .tag = send->send_tag,
					     .comm = send->comm,
					     .send_callsite = send_site,
					     .recv_callsite = recv_site}};
	return vec_push(&w->links, link);
}

/* Messages by (window, group). */
static int sort_links(struct writing *w)
{
	uint32_t groups = w->x->nranks / MPIX_GROUP_RANKS + 1;
	size_t nkeys = w->cuts.n * groups;
	VEC(uint32_t) first = {0};
	if (w->x->links.n == 0)
		return 0;
	if (vec_reach(&first, nkeys + 1) < 0 || vec_reach(&w->link_order, w->x->links.n - 1) < 0) {
		vec_done(&first);
		return -ENOMEM;
	}
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < w->x->links.n; i++) {
			const struct import_link *l = &w->x->links.at[i];
			size_t key = (size_t)link_window(w, l) * groups + l->dst / MPIX_GROUP_RANKS;
			if (pass == 0)
				first.at[key + 1]++;
			else
				w->link_order.at[first.at[key]++] = (uint32_t)i;
		}
		for (size_t k = 0; k < nkeys && pass == 0; k++)
			first.at[k + 1] += first.at[k];
	}
	vec_done(&first);
	return 0;
}

static int gather(struct writing *w, uint32_t window, uint32_t group)
{
	uint32_t first = group * MPIX_GROUP_RANKS, end = first + MPIX_GROUP_RANKS;
	int code = 0;
	w->runs.n = w->numbers.n = w->enter.n = w->leave.n = w->sig.n = w->links.n = 0;
	for (uint32_t r = first; r < end && r < w->x->nranks && code == 0; r++)
		if (w->ranks[r].begin.at[window + 1] > w->ranks[r].begin.at[window])
			code = add_run(w, r, window);
	set_pointers(w);
	for (; w->next_link < w->link_order.n && code == 0; w->next_link++) {
		const struct import_link *l = &w->x->links.at[w->link_order.at[w->next_link]];
		if (link_window(w, l) != window || l->dst / MPIX_GROUP_RANKS != group)
			break;
		code = add_link(w, l);
	}
	return code;
}

static int put_parts(struct writing *w, struct mpix_scratch *scratch, struct mpix_packed *packed)
{
	int64_t runtime_ns = import_runtime_ns(w->x);
	uint32_t groups = (w->x->nranks - 1) / MPIX_GROUP_RANKS + 1;
	int code = 0;
	for (uint32_t k = 0; k < w->cuts.n; k++)
		for (uint32_t g = 0; g < groups && code == 0; g++) {
			code = gather(w, k, g);
			struct mpix_part part = {.window = k,
						 .group = g,
						 .start_ns = w->cuts.at[k],
						 .end_ns = k + 1 < w->cuts.n ? w->cuts.at[k + 1] : runtime_ns + 1,
						 .runs = w->runs.at,
						 .links = w->links.at,
						 .nruns = (uint32_t)w->runs.n,
						 .nlinks = (uint32_t)w->links.n};
			if (code == 0)
				code = mpix_pack(w->w, &part, scratch, packed, w->e);
			if (code == 0)
				code = mpix_writer_put(w->w, packed, w->e);
		}
	return code;
}

/* ---- the file ---- */

static int create(struct writing *w, const char *path)
{
	const struct import *x = w->x;
	const struct mpix_clock_knot knot = {0, 0, 1};
	const struct mpix_clock clock = {0, &knot, 1};
	const char **ops = calloc(x->ops.n + 1, sizeof(*ops));
	uint32_t *places = calloc(x->nranks, sizeof(*places));
	int code = ops == NULL || places == NULL ? -ENOMEM : 0;
	for (size_t i = 0; i < x->ops.n && code == 0; i++)
		ops[i] = x->ops.at[i].name;
	for (uint32_t r = 0; r < x->nranks && code == 0; r++)
		places[r] = x->ranks[r].node == IMPORT_NONE ? 0 : x->ranks[r].node;
	struct mpix_info info = {.ranks = x->nranks,
				 .runtime_ns = import_runtime_ns(x),
				 .ops = ops,
				 .nops = (uint32_t)x->ops.n,
				 .clocks = &clock,
				 .nclocks = 1,
				 .places = x->nodes.n > 0 ? (uint32_t)x->nodes.n : 1,
				 .place_of_rank = places,
				 .events_expected = x->events};
	if (code == 0)
		code = mpix_writer_create(path, &info, &w->w, w->e);
	free(ops);
	free(places);
	return code;
}

static int write_all(struct writing *w, const char *path)
{
	struct mpix_scratch *scratch = mpix_scratch_new();
	struct mpix_packed *packed = mpix_packed_new();
	char *json = NULL;
	w->ranks = calloc(w->x->nranks, sizeof(*w->ranks));
	int code = scratch == NULL || packed == NULL || w->ranks == NULL ? -ENOMEM : create(w, path);
	if (code == 0 && w->x->comms.n > 0)
		code = vec_reach(&w->next_number, w->x->comms.n - 1);
	if (code == 0 && ((code = make_cuts(w)) < 0 || (code = find_begins(w)) < 0))
		code = -ENOMEM;
	if (code == 0)
		code = put_signatures(w);
	if (code == 0) {
		json = import_json(w->x, w->sites.at, w->sites.n);
		code = json == NULL ? -ENOMEM : sort_links(w);
	}
	if (code == 0)
		code = put_parts(w, scratch, packed);
	if (code == 0) {
		code = mpix_writer_finish(w->w, json, w->e);
		w->w = NULL;
	}
	cJSON_free(json);
	mpix_scratch_free(scratch);
	mpix_packed_free(packed);
	return code;
}

int import_write(const struct import *x, const char *path, struct error *e)
{
	struct writing w = {.x = x, .e = e};
	e->text[0] = 0;
	int code = write_all(&w, path);
	if (code == -ENOMEM && e->text[0] == 0)
		fail(e, code, "%s: out of memory", path);
	mpix_writer_abandon(w.w);
	for (uint32_t r = 0; w.ranks != NULL && r < x->nranks; r++) {
		vec_done(&w.ranks[r].sigs);
		index_done(&w.ranks[r].by_value);
		vec_done(&w.ranks[r].begin);
	}
	free(w.ranks);
	vec_done(&w.cuts);
	vec_done(&w.sites);
	index_done(&w.by_site);
	vec_done(&w.enter);
	vec_done(&w.leave);
	vec_done(&w.sig);
	vec_done(&w.runs);
	vec_done(&w.numbers);
	vec_done(&w.next_number);
	vec_done(&w.links);
	vec_done(&w.link_order);
	return code;
}
