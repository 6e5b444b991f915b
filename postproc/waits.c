/* waits.c - the table of wait states. */
#include "postproc/waits.h"

const char *const wait_state_names[WAIT_STATES] = {
	[LATE_SENDER] = "late_sender",
	[LATE_SENDER_WRONG_ORDER] = "late_sender_wrong_order",
	[LATE_RECEIVER] = "late_receiver",
	[WAIT_AT_BARRIER] = "wait_at_barrier",
	[BARRIER_COMPLETION] = "barrier_completion",
	[WAIT_AT_NXN] = "wait_at_nxn",
	[NXN_COMPLETION] = "nxn_completion",
	[LATE_BROADCAST] = "late_broadcast",
	[EARLY_REDUCE] = "early_reduce",
	[EARLY_SCAN] = "early_scan",
};

struct wanted_row {
	const struct waits *w;
	enum wait_state state;
	uint32_t rank, site;
};

static bool same_row(const void *context, uint32_t at)
{
	const struct wanted_row *want = context;
	const struct wait_row *r = &want->w->rows.at[at];
	return r->state == want->state && r->rank == want->rank && r->site == want->site;
}

static struct wait_row *row_of(struct waits *w, enum wait_state state, uint32_t rank, uint32_t site)
{
	struct wanted_row want = {w, state, rank, site};
	uint64_t hash = index_mix((uint64_t)rank << 32 | site, state);
	uint32_t at = index_find(&w->index, hash, same_row, &want);
	if (at != INDEX_NONE)
		return &w->rows.at[at];
	struct wait_row fresh = {
		.state = state, .rank = rank, .site = site, .causer = NONE, .from_ns = INT64_MAX, .to_ns = INT64_MIN};
	if (vec_push(&w->rows, fresh) < 0 || index_add(&w->index, hash, (uint32_t)w->rows.n - 1) < 0)
		return NULL;
	return &w->rows.at[w->rows.n - 1];
}

int waits_note_part(struct waits *w, struct step *s, enum wait_state state, const struct wait_link *link, int64_t ns)
{
	const struct event *ev = op_event(s, link->rank, link->at);
	struct wait_row *r = row_of(w, state, link->rank, event_sig(s, link->rank, link->at)->site);
	if (r == NULL)
		return -ENOMEM;
	r->from_ns = ev->start_ns < r->from_ns ? ev->start_ns : r->from_ns;
	r->to_ns = ev->end_ns > r->to_ns ? ev->end_ns : r->to_ns;
	r->count++;
	add_ns(&r->ns, ns);
	add_ns(&w->total_ns[state], ns);
	if (link->causer != NONE && ns > r->causer_ns) {
		r->causer = link->causer;
		r->causer_ns = ns;
	}
	return 0;
}

int waits_note(struct waits *w, struct step *s, enum wait_state state, const struct wait_link *link, int64_t ns)
{
	struct event *ev = &s->ranks[link->rank]->events.at[link->at];
	int64_t left = ev->end_ns - ev->start_ns - ev->wait_ns; /* no call waits longer than it lasts */
	if (ns > left)
		ns = left;
	if (ns <= 0)
		return 0;
	if (waits_note_part(w, s, state, link, ns) < 0)
		return -ENOMEM;
	ev->wait_ns += ns;
	add_ns(&w->by_rank[link->rank], ns);
	add_ns(&w->all_ns, ns);
	if (link->causer == NONE)
		return 0;
	add_ns(&w->caused[link->causer], ns);
	return vec_push(&w->links, *link);
}

static int by_place(const void *a, const void *b)
{
	const struct wait_link *x = a, *y = b;
	uint64_t p = (uint64_t)x->rank << 32 | x->at, q = (uint64_t)y->rank << 32 | y->at;
	return (p > q) - (p < q);
}

int waits_find(struct step *s, const struct ops *o, const struct matching *m, struct waits *ret_waits)
{
	struct waits w = {.by_rank = calloc(s->nranks, sizeof(int64_t)), .caused = calloc(s->nranks, sizeof(int64_t))};
	int code = w.by_rank == NULL || w.caused == NULL ? -ENOMEM : 0;
	if (code == 0)
		code = waits_p2p(&w, s, o, m);
	if (code == 0)
		code = waits_coll(&w, s, o, m);
	vec_sort(&w.links, by_place);
	*ret_waits = w;
	return code;
}

void waits_done(struct waits *w)
{
	vec_done(&w->rows);
	vec_done(&w->links);
	index_done(&w->index);
	free(w->by_rank);
	free(w->caused);
	memset(w, 0, sizeof(*w));
}
