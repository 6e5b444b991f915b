/* mpix_plain.c - see mpix_plain.h. Simple rather than fast. */
#include "tests/tools/mpix_plain.h"

#include "base/vec.h"
#include "format/mpix_layout.h"

#include <pthread.h>
#include <stdlib.h>

struct bounds {
	int64_t first_ns, last_ns, width_ns;
};

static uint32_t lanes_of(const struct plain_trace *t)
{
	uint32_t n = 0;
	for (uint32_t r = 0; r < t->info.ranks; r++)
		n += t->info.threads != NULL ? t->info.threads[r] : 1;
	return n;
}

uint32_t plain_rank(const struct plain_trace *t, uint32_t lane)
{
	uint32_t rank = 0;
	if (t->rank_of_lane != NULL)
		return t->rank_of_lane[lane];
	for (uint32_t first = 0;; rank++) {
		first += t->info.threads != NULL ? t->info.threads[rank] : 1;
		if (lane < first)
			return rank;
	}
}

static int64_t ns_of(const struct plain_trace *t, uint32_t lane, uint64_t tick)
{
	const struct mpix_clock *c = &t->info.clocks[t->info.clock_of_lane != NULL ? t->info.clock_of_lane[lane] : 0];
	uint32_t at = 0;
	return mpix_ns(c->knots, c->nknots, tick, &at);
}

int64_t plain_ns(const struct plain_trace *t, struct plain_place p, int64_t *ret_end_ns)
{
	const struct plain_event *x = &t->lanes[p.lane].events[p.event];
	if (ret_end_ns != NULL)
		*ret_end_ns = ns_of(t, p.lane, x->leave);
	return ns_of(t, p.lane, x->enter);
}

static struct bounds bounds_of(const struct plain_trace *t)
{
	struct bounds b = {0, t->info.runtime_ns, 1};
	if (t->last_ns > 0) {
		b.first_ns = t->first_ns;
		b.last_ns = t->last_ns;
	}
	for (uint32_t l = 0, n = t->last_ns > 0 ? 0 : lanes_of(t); l < n; l++) {
		if (t->lanes[l].n == 0)
			continue;
		int64_t first = ns_of(t, l, t->lanes[l].events[0].enter);
		int64_t last = ns_of(t, l, t->lanes[l].events[t->lanes[l].n - 1].leave);
		b.first_ns = first < b.first_ns ? first : b.first_ns;
		b.last_ns = last > b.last_ns ? last : b.last_ns;
	}
	b.width_ns = (b.last_ns - b.first_ns) / t->windows + 1;
	return b;
}

static uint32_t window_of(const struct bounds *b, int64_t ns)
{
	return (uint32_t)((ns - b->first_ns) / b->width_ns);
}

static struct mpix_position position_in(const struct plain_trace *t, const struct bounds *b, struct plain_place p)
{
	if (p.event == PLAIN_NONE)
		return (struct mpix_position){.window = MPIX_NOWHERE};
	const struct plain_lane *lane = &t->lanes[p.lane];
	uint32_t window = window_of(b, ns_of(t, p.lane, lane->events[p.event].enter)), index = 0;
	while (index < p.event && window_of(b, ns_of(t, p.lane, lane->events[p.event - index - 1].enter)) == window)
		index++;
	return (struct mpix_position){window, p.lane, index};
}

struct mpix_position plain_position(const struct plain_trace *t, struct plain_place p)
{
	struct bounds b = bounds_of(t);
	return position_in(t, &b, p);
}

static const struct mpix_signature *sig_of(const struct plain_trace *t, struct plain_place p)
{
	return &t->sigs[plain_rank(t, p.lane)][t->lanes[p.lane].events[p.event].sig];
}

struct mpix_message plain_message(const struct plain_trace *t, const struct plain_link *x)
{
	bool open = x->completion.event == PLAIN_NONE;
	uint32_t src = plain_rank(t, x->send.lane);
	const struct mpix_signature *sig =
		x->signature == MPIX_OF_START ? sig_of(t, x->send) : &t->sigs[src][x->signature];
	struct mpix_message m = {.bytes = sig->message_bytes,
				 .src = src,
				 .dst = plain_rank(t, x->recv.lane),
				 .tag = sig->tag,
				 .comm = sig->comm,
				 .send_callsite = sig_of(t, x->send)->callsite,
				 .recv_callsite = sig_of(t, x->recv)->callsite};
	m.send_start_ns = plain_ns(t, x->send, &m.send_end_ns);
	m.recv_start_ns = plain_ns(t, x->recv, NULL);
	m.completion_start_ns = plain_ns(t, open ? x->recv : x->completion, &m.recv_end_ns);
	return m;
}

/* ---- parts ---- */

/* A link or wait with where it belongs. */
struct placed {
	uint32_t window, group, at;
	union {
		struct mpix_link link;
		struct mpix_wait wait;
	};
};

struct plain_lane_arrays {
	uint64_t *enter, *leave;
	uint32_t *sig, *begin; /* of each window, and one more */
	uint64_t *number;      /* of events that are collectives */
};

struct writing {
	const struct plain_trace *t;
	struct bounds b;
	struct plain_lane_arrays *lanes;
	uint32_t *first; /* lane of each rank, and one more */
	struct placed *links, *waits;
	struct mpix_writer *w;
	uint32_t groups;
};

static int by_part(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static struct mpix_position position_of(const struct writing *x, struct plain_place p)
{
	if (p.event == PLAIN_NONE)
		return (struct mpix_position){.window = MPIX_NOWHERE};
	uint32_t window = window_of(&x->b, plain_ns(x->t, p, NULL));
	return (struct mpix_position){window, p.lane, p.event - x->lanes[p.lane].begin[window]};
}

static void place_links(struct writing *x)
{
	const struct plain_trace *t = x->t;
	x->links = calloc(t->nlinks + 1u, sizeof(*x->links));
	for (uint32_t i = 0; i < t->nlinks; i++) {
		const struct plain_link *l = &t->links[i];
		struct mpix_link to = {position_of(x, l->recv),
				       position_of(x, l->completion),
				       position_of(x, l->send),
				       position_of(x, l->sent),
				       l->signature,
				       plain_message(t, l)};
		bool open = l->completion.event == PLAIN_NONE;
		uint32_t lane = open ? l->recv.lane : l->completion.lane;
		x->links[i] = (struct placed){.window = open ? to.recv.window : to.completion.window,
					      .group = plain_rank(t, lane) / MPIX_GROUP_RANKS,
					      .at = i,
					      .link = to};
	}
	qsort(x->links, t->nlinks, sizeof(*x->links), by_part);
}

static void place_waits(struct writing *x)
{
	const struct plain_trace *t = x->t;
	x->waits = calloc(t->nwaits + 1u, sizeof(*x->waits));
	for (uint32_t i = 0; i < t->nwaits; i++) {
		const struct plain_wait *w = &t->waits[i];
		struct mpix_wait to = {.at = position_of(x, w->at),
				       .causer = position_of(x, w->causer),
				       .state = w->state,
				       .how = w->how,
				       .ns = w->ns};
		to.start_ns = plain_ns(t, w->at, &to.end_ns);
		/* some become known a window later */
		uint32_t window = to.at.window + (i % 7 == 3 && to.at.window + 1 < t->windows);
		x->waits[i] = (struct placed){
			.window = window, .group = plain_rank(t, w->at.lane) / MPIX_GROUP_RANKS, .at = i, .wait = to};
	}
	qsort(x->waits, t->nwaits, sizeof(*x->waits), by_part);
}

static void fill_lane(struct writing *x, uint32_t l)
{
	const struct plain_lane *lane = &x->t->lanes[l];
	struct plain_lane_arrays *to = &x->lanes[l];
	const struct mpix_signature *sigs = x->t->sigs[plain_rank(x->t, l)];
	uint64_t next[64] = {0};
	to->enter = calloc(lane->n + 1u, sizeof(*to->enter));
	to->leave = calloc(lane->n + 1u, sizeof(*to->leave));
	to->sig = calloc(lane->n + 1u, sizeof(*to->sig));
	to->number = calloc(lane->n + 1u, sizeof(*to->number));
	to->begin = calloc(x->t->windows + 1u, sizeof(*to->begin));
	for (uint32_t i = 0; i < lane->n; i++) {
		const struct mpix_signature *sig = &sigs[lane->events[i].sig];
		to->enter[i] = lane->events[i].enter;
		to->leave[i] = lane->events[i].leave;
		to->sig[i] = lane->events[i].sig;
		if ((sig->flags & MPIX_COLLECTIVE) != 0)
			to->number[i] = next[sig->comm % 64]++;
		to->begin[window_of(&x->b, ns_of(x->t, l, to->enter[i])) + 1]++;
	}
	for (uint32_t w = 0; w < x->t->windows; w++)
		to->begin[w + 1] += to->begin[w];
}

/* What one part points to. */
struct lists {
	VEC(struct mpix_run) runs;
	VEC(struct mpix_carried) carried;
	VEC(struct mpix_link) links;
	VEC(struct mpix_wait) waits;
	VEC(struct mpix_extra) extras;
	VEC(struct mpix_number) numbers;
};

static void add_extras(struct lists *to, const struct plain_event *x, uint32_t index)
{
	int rc = 0;
	if (x->calls > 0)
		rc = vec_push(&to->extras, (struct mpix_extra){index, MPIX_EXTRA_CALLS, x->calls});
	if (x->bytes != PLAIN_SIG_BYTES)
		rc = vec_push(&to->extras, (struct mpix_extra){index, MPIX_EXTRA_BYTES, x->bytes});
	if (rc < 0)
		abort();
}

static void add_run(const struct writing *x, struct lists *to, uint32_t l, uint32_t window)
{
	const struct plain_lane_arrays *lane = &x->lanes[l];
	const struct mpix_signature *sigs = x->t->sigs[plain_rank(x->t, l)];
	uint32_t begin = lane->begin[window], n = lane->begin[window + 1] - begin;
	size_t extras = to->extras.n, numbers = to->numbers.n;
	bool seen[64] = {false};
	if (n == 0)
		return;
	for (uint32_t i = begin; i < begin + n; i++) {
		const struct mpix_signature *sig = &sigs[lane->sig[i]];
		add_extras(to, &x->t->lanes[l].events[i], i - begin);
		if ((sig->flags & MPIX_COLLECTIVE) == 0 || seen[sig->comm % 64])
			continue;
		seen[sig->comm % 64] = true;
		if (vec_push(&to->numbers, (struct mpix_number){i - begin, sig->comm, lane->number[i]}) < 0)
			abort();
	}
	struct mpix_run run = {.lane = l,
			       .n = n,
			       .begin_tick = begin > 0 ? lane->leave[begin - 1] : lane->enter[begin],
			       .enter = lane->enter + begin,
			       .leave = lane->leave + begin,
			       .sig = lane->sig + begin,
			       .nextras = (uint32_t)(to->extras.n - extras),
			       .nnumbers = (uint32_t)(to->numbers.n - numbers)};
	if (vec_push(&to->runs, run) < 0)
		abort();
}

static void add_carried(const struct writing *x, struct lists *to, uint32_t l, uint32_t window)
{
	const struct plain_lane_arrays *lane = &x->lanes[l];
	int64_t start_ns = x->b.first_ns + x->b.width_ns * window;
	uint32_t at = lane->begin[window];
	if (window == 0 || at == 0 || ns_of(x->t, l, lane->leave[at - 1]) <= start_ns)
		return;
	struct mpix_carried c = {.at = position_of(x, (struct plain_place){l, at - 1}),
				 .sig = lane->sig[at - 1],
				 .enter = lane->enter[at - 1],
				 .leave = lane->leave[at - 1],
				 .k = MPIX_NO_NUMBER};
	if ((x->t->sigs[plain_rank(x->t, l)][c.sig].flags & MPIX_COLLECTIVE) != 0)
		c.k = lane->number[at - 1];
	size_t before = to->extras.n;
	add_extras(to, &x->t->lanes[l].events[at - 1], 0);
	c.nextras = (uint32_t)(to->extras.n - before);
	if (vec_push(&to->carried, c) < 0)
		abort();
}

static void set_pointers(struct lists *to)
{
	size_t extra = 0, number = 0;
	for (size_t i = 0; i < to->carried.n; extra += to->carried.at[i++].nextras)
		to->carried.at[i].extras = to->extras.at + extra;
	for (size_t i = 0; i < to->runs.n; extra += to->runs.at[i++].nextras) {
		to->runs.at[i].extras = to->extras.at + extra;
		to->runs.at[i].numbers = to->numbers.at + number;
		number += to->runs.at[i].nnumbers;
	}
}

static struct mpix_part make_part(const struct writing *x, struct lists *to, uint32_t window, uint32_t group)
{
	uint32_t rank = group * MPIX_GROUP_RANKS, end = rank + MPIX_GROUP_RANKS;
	end = end < x->t->info.ranks ? end : x->t->info.ranks;
	to->runs.n = to->carried.n = to->links.n = to->waits.n = to->extras.n = to->numbers.n = 0;
	for (uint32_t l = x->first[rank]; l < x->first[end]; l++)
		add_carried(x, to, l, window);
	for (uint32_t l = x->first[rank]; l < x->first[end]; l++)
		add_run(x, to, l, window);
	set_pointers(to);
	for (uint32_t i = 0; i < x->t->nlinks; i++)
		if (x->links[i].window == window && x->links[i].group == group &&
		    vec_push(&to->links, x->links[i].link) < 0)
			abort();
	for (uint32_t i = 0; i < x->t->nwaits; i++)
		if (x->waits[i].window == window && x->waits[i].group == group &&
		    vec_push(&to->waits, x->waits[i].wait) < 0)
			abort();
	return (struct mpix_part){.window = window,
				  .group = group,
				  .start_ns = x->b.first_ns + x->b.width_ns * window,
				  .end_ns =
					  x->b.first_ns + x->b.width_ns * (window + 1) + (window + 1 == x->t->windows),
				  .runs = to->runs.at,
				  .carried = to->carried.at,
				  .links = to->links.at,
				  .waits = to->waits.at,
				  .nruns = (uint32_t)to->runs.n,
				  .ncarried = (uint32_t)to->carried.n,
				  .nlinks = (uint32_t)to->links.n,
				  .nwaits = (uint32_t)to->waits.n};
}

/* ---- threads ---- */

struct packer {
	struct writing *x;
	uint32_t window;
	unsigned number;
	struct mpix_packed **packed; /* by group */
	struct mpix_scratch *scratch;
	struct lists lists;
	struct error e;
	int rc;
	pthread_t thread;
};

static void *pack_groups(void *context)
{
	struct packer *p = context;
	p->rc = 0;
	for (uint32_t g = p->number; g < p->x->groups && p->rc == 0; g += p->x->t->threads) {
		struct mpix_part part = make_part(p->x, &p->lists, p->window, g);
		p->rc = mpix_pack(p->x->w, &part, p->scratch, p->packed[g], &p->e);
	}
	return NULL;
}

static int pack_window(struct writing *x, struct packer *packers, uint32_t window, struct error *e)
{
	int rc = 0;
	for (unsigned i = 0; i < x->t->threads; i++) {
		packers[i].window = window;
		if (i > 0 && pthread_create(&packers[i].thread, NULL, pack_groups, &packers[i]) != 0)
			abort();
	}
	pack_groups(&packers[0]);
	for (unsigned i = 0; i < x->t->threads; i++) {
		if (i > 0)
			pthread_join(packers[i].thread, NULL);
		if (packers[i].rc < 0 && rc == 0)
			rc = fail(e, packers[i].rc, "%s", packers[i].e.text);
	}
	for (uint32_t g = 0; g < x->groups && rc == 0; g++)
		rc = mpix_writer_put(x->w, packers[0].packed[g], e);
	return rc;
}

static int put_all(struct writing *x, struct error *e)
{
	struct packer *packers = calloc(x->t->threads, sizeof(*packers));
	struct mpix_packed **packed = calloc(x->groups, sizeof(struct mpix_packed *));
	int rc = 0;
	for (uint32_t g = 0; g < x->groups; g++)
		packed[g] = mpix_packed_new();
	for (unsigned i = 0; i < x->t->threads; i++)
		packers[i] = (struct packer){.x = x, .number = i, .packed = packed, .scratch = mpix_scratch_new()};
	for (uint32_t r = 0; r < x->t->info.ranks && rc == 0; r++)
		rc = mpix_writer_signatures(x->w, r, x->t->sigs[r], x->t->nsigs[r], e);
	for (uint32_t w = 0; w < x->t->windows && rc == 0; w++)
		rc = pack_window(x, packers, w, e);
	for (uint32_t g = 0; g < x->groups; g++)
		mpix_packed_free(packed[g]);
	for (unsigned i = 0; i < x->t->threads; i++) {
		struct lists *l = &packers[i].lists;
		mpix_scratch_free(packers[i].scratch);
		vec_done(&l->runs);
		vec_done(&l->carried);
		vec_done(&l->links);
		vec_done(&l->waits);
		vec_done(&l->extras);
		vec_done(&l->numbers);
	}
	free(packed);
	free(packers);
	return rc;
}

int plain_write(const char *path, const struct plain_trace *t, const char *json, struct error *e)
{
	struct writing x = {.t = t, .b = bounds_of(t), .groups = (t->info.ranks - 1) / MPIX_GROUP_RANKS + 1};
	int rc = mpix_writer_create(path, &t->info, &x.w, e);
	if (rc < 0)
		return rc;
	x.first = calloc(t->info.ranks + 1u, sizeof(*x.first));
	for (uint32_t r = 0; r < t->info.ranks; r++)
		x.first[r + 1] = x.first[r] + (t->info.threads != NULL ? t->info.threads[r] : 1);
	uint32_t nlanes = x.first[t->info.ranks];
	x.lanes = calloc(nlanes, sizeof(*x.lanes));
	for (uint32_t l = 0; l < nlanes; l++)
		fill_lane(&x, l);
	place_links(&x);
	place_waits(&x);
	rc = put_all(&x, e);
	for (uint32_t i = 0; i < t->nsamples && rc == 0; i++)
		rc = mpix_writer_sample(x.w, &t->samples[i], e);
	if (rc == 0)
		rc = mpix_writer_finish(x.w, json, e);
	else
		mpix_writer_abandon(x.w);
	for (uint32_t l = 0; l < nlanes; l++) {
		free(x.lanes[l].enter);
		free(x.lanes[l].leave);
		free(x.lanes[l].sig);
		free(x.lanes[l].number);
		free(x.lanes[l].begin);
	}
	free(x.lanes);
	free(x.first);
	free(x.links);
	free(x.waits);
	return rc;
}
