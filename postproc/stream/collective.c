/* collective.c - collective operations: the k-th call on a communicator is the same operation on all its members. Each
 * shard keeps its ranks' parts; the shard that owns the communicator learns how many have come, and when all have,
 * tells all shards who came first and last. */
#include "postproc/totals/bytes.h"
#include "postproc/read/comms.h"
#include "postproc/stream/check.h"
#include "postproc/totals/traffic.h"

#include "base/search.h"

#define BUCKETS_MIN 256u

static int grow(struct collective ***table, size_t *buckets)
{
	size_t more = *buckets == 0 ? BUCKETS_MIN : *buckets * 4;
	struct collective **fresh = calloc(more, sizeof(struct collective *));
	if (fresh == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < *buckets; i++)
		for (struct collective *m = (*table)[i], *next; m != NULL; m = next) {
			next = m->link;
			struct collective **to = &fresh[collective_hash(m->comm, m->channel, m->k) & (more - 1)];
			m->link = *to;
			*to = m;
		}
	free(*table);
	*table = fresh;
	*buckets = more;
	return 0;
}

/* The open operation of that number, begun if new; NULL without memory. */
static struct collective *find(struct shard *sh, struct collective ***table, size_t *buckets, size_t *n, uint32_t comm,
			       uint32_t channel, uint32_t k)
{
	if (*n >= *buckets && grow(table, buckets) < 0)
		return NULL;
	struct collective **at = &(*table)[collective_hash(comm, channel, k) & (*buckets - 1)];
	for (struct collective *m = *at; m != NULL; m = m->link)
		if (m->k == k && m->comm == comm && m->channel == channel)
			return m;
	struct collective *m = slab_take(&sh->collectives);
	if (m == NULL)
		return NULL;
	*m = (struct collective){.link = *at,
				 .comm = comm,
				 .channel = channel,
				 .k = k,
				 .shard = sh->number,
				 .coll = -1,
				 .first = {.rank = NONE},
				 .last = {.rank = NONE},
				 .root_arrival = {.rank = NONE},
				 .first_leaf = {.rank = NONE},
				 .last_leaf = {.rank = NONE},
				 .first_out = {.rank = NONE}};
	*at = m;
	(*n)++;
	return m;
}

static void unlink_collective(struct collective **table, size_t buckets, size_t *n, struct collective *m)
{
	struct collective **at = &table[collective_hash(m->comm, m->channel, m->k) & (buckets - 1)];
	while (*at != m)
		at = &(*at)->link;
	*at = m->link;
	(*n)--;
}

static void earlier(struct arrival *a, const struct arrival *b)
{
	if (b->rank != NONE && (a->rank == NONE || b->ns < a->ns))
		*a = *b;
}

static void later(struct arrival *a, const struct arrival *b)
{
	if (b->rank != NONE && (a->rank == NONE || b->ns > a->ns))
		*a = *b;
}

/* Of those that are out at the same time, the first rank. */
static void out_earlier(struct arrival *a, const struct arrival *b)
{
	if (b->rank != NONE && (a->rank == NONE || b->ns < a->ns || (b->ns == a->ns && b->rank < a->rank)))
		*a = *b;
}

static int mark(struct shard *sh, struct collective *m)
{
	if (m->dirty)
		return 0;
	m->dirty = true;
	return vec_push(&mail_to(sh, m->comm % sh->stream->nshards)->collectives, m);
}

struct part *collective_enter(struct shard *sh, uint32_t comm, uint32_t channel, uint32_t k, const struct part *part)
{
	const struct step *s = sh->stream->step;
	const struct sig *sig = &s->ranks[part->rank]->sigs.at[part->sig];
	struct collective *m = find(sh, &sh->collective_table, &sh->collective_buckets, &sh->nmeets, comm, channel, k);
	struct part *p = m != NULL ? slab_take(&sh->parts) : NULL;
	if (p == NULL)
		return NULL;
	*p = *part;
	p->collective = m;
	p->next = m->parts;
	m->parts = p;
	m->entered++;
	struct arrival a = arrival_of(part->rank, &part->start);
	bool inter = s->comms.at[comm].inter;
	bool root = sig->peer == SIG_ROOT || (!inter && sig->peer == (int32_t)part->rank);
	earlier(&m->first, &a);
	later(&m->last, &a);
	if (root && m->root_arrival.rank == NONE)
		m->root_arrival = a;
	if (!root && sig->peer != SIG_PROC_NULL) {
		earlier(&m->first_leaf, &a);
		later(&m->last_leaf, &a);
	}
	if (m->coll < 0) {
		m->coll = part->coll;
		m->root = sig->peer;
		m->agreed = sig->agreed;
	}
	m->unequal |= m->agreed != sig->agreed;
	m->differs |= m->coll != part->coll || (!inter && m->root != sig->peer);
	return mark(sh, m) < 0 ? NULL : p;
}

int collective_leave(struct shard *sh, struct part *p)
{
	struct collective *m = p->collective;
	p->completed = true;
	m->completed++;
	out_earlier(&m->first_out, &(struct arrival){p->done.end_ns, p->done.at, p->rank});
	return mark(sh, m);
}

/* ---- the owner ---- */

static void join(struct collective *whole, const struct collective *m)
{
	earlier(&whole->first, &m->first);
	later(&whole->last, &m->last);
	earlier(&whole->first_leaf, &m->first_leaf);
	later(&whole->last_leaf, &m->last_leaf);
	if (whole->root_arrival.rank == NONE)
		whole->root_arrival = m->root_arrival;
	out_earlier(&whole->first_out, &m->first_out);
}

static int by_position(const void *a, const void *b)
{
	const struct part *x = *(struct part *const *)a, *y = *(struct part *const *)b;
	return (x->causer.ns > y->causer.ns) - (x->causer.ns < y->causer.ns);
}

/* Of a scan, who each member waits for: the last of those before it. */
static int order_parts(struct shard *sh, struct collective *whole)
{
	const struct comm *comm = &sh->stream->step->comms.at[whole->comm];
	VEC(struct part *) all = {0};
	for (struct collective *m = whole->sibling; m != NULL; m = m->sibling)
		for (struct part *p = m->parts; p != NULL; p = p->next) {
			p->causer.ns = comms_rank_of(comm, p->rank);
			if (vec_push(&all, p) < 0)
				return -ENOMEM;
		}
	vec_sort(&all, by_position);
	const struct part *last = NULL;
	for (size_t i = 0; i < all.n; i++) {
		struct part *p = all.at[i];
		p->causer = last != NULL ? arrival_of(last->rank, &last->start) : NOBODY;
		if (last == NULL || p->start.start_ns > last->start.start_ns)
			last = p;
	}
	vec_done(&all);
	return 0;
}

/* Each part in its place by rank, or none. */
static int place_parts(struct shard *sh, struct collective *whole, bool there)
{
	if (sh->part_of == NULL && (sh->part_of = calloc(sh->stream->step->nranks, sizeof(*sh->part_of))) == NULL)
		return -ENOMEM;
	for (struct collective *m = whole->sibling; m != NULL; m = m->sibling)
		for (struct part *p = m->parts; p != NULL; p = p->next)
			sh->part_of[p->rank] = there ? p : NULL;
	return 0;
}

/* The last of those who send to it, as far as they came while it was there. */
static int last_neighbor(struct shard *sh, struct part *p)
{
	const struct step *s = sh->stream->step;
	const struct sig *sig = &s->ranks[p->rank]->sigs.at[p->sig];
	const struct neighbors *n = traffic_neighbors(s->ranks[p->rank], sig->comm);
	struct neighbor_walk w = neighbor_walk(s, p->rank, sig, n != NULL ? n->in : (struct span){0}, 0, false);
	const struct part *last = NULL;
	uint64_t bytes;
	int32_t from;
	while (neighbor_next(&w, &from, &bytes)) {
		const struct part *x = from >= 0 && (uint32_t)from < s->nranks ? sh->part_of[from] : NULL;
		if (x != NULL && x->start.start_ns <= p->done.end_ns &&
		    (last == NULL || x->start.start_ns > last->start.start_ns))
			last = x;
	}
	if (last != NULL)
		p->causer = arrival_of(last->rank, &last->start);
	return p->need != NULL ? need_resolve(sh, p->need, last != NULL ? edge_share(sh, last->edge) : NULL) : 0;
}

/* Of a neighbourhood collective, who each member waits for. */
static int know_neighbors(struct shard *sh, struct collective *whole)
{
	int code = place_parts(sh, whole, true);
	for (struct collective *m = whole->sibling; m != NULL && code == 0; m = m->sibling)
		for (struct part *p = m->parts; p != NULL && code == 0; p = p->next)
			if (p->completed)
				code = last_neighbor(sh, p);
	for (struct collective *m = whole->sibling; m != NULL && code == 0; m = m->sibling)
		for (struct part *p = m->parts; p != NULL && code == 0; p = p->next)
			code = edge_drop(sh, p->edge);
	return code == 0 ? place_parts(sh, whole, false) : code;
}

/* Parts of one operation by when their members came to complete it. */
struct ordered {
	VEC(struct part *) parts;
};

static int by_completion(const void *a, const void *b)
{
	const struct part *x = *(struct part *const *)a, *y = *(struct part *const *)b;
	bool later = x->done.start_ns > y->done.start_ns || (x->done.start_ns == y->done.start_ns && x->rank < y->rank);
	return later ? 1 : -1;
}

/* None if others cannot tell: one that had tested before was there all the time. */
static int order_completions(const struct collective *whole, struct ordered *all)
{
	for (const struct collective *m = whole->sibling; m != NULL; m = m->sibling)
		for (struct part *p = m->parts; p != NULL; p = p->next) {
			if (!p->completed || p->tested || p->wait->poll != NULL) {
				all->parts.n = 0;
				return 0;
			}
			if (vec_push(&all->parts, p) < 0)
				return -ENOMEM;
		}
	vec_sort(&all->parts, by_completion);
	return 0;
}

/* When the last came to start it whom it needs before it can end. */
static int64_t start_needed(const struct collective *whole, const struct part *p)
{
	bool from_root = p->coll == COLL_BCAST || p->coll == COLL_SCATTER || p->coll == COLL_SCATTERV;
	bool root = p->rank == whole->root_arrival.rank;
	if (coll_is_all_for_all(p->coll) || (root && !from_root))
		return whole->last.ns;
	return from_root && !root && whole->root_arrival.rank != NONE ? whole->root_arrival.ns : INT64_MIN;
}

/* Whoever came to complete it while p was there, the last before p was out, if that was soon then: a sign, as with
 * sends (progress.c). NULL: nobody. */
static const struct part *waited_for(const struct collective *whole, const struct ordered *all, const struct part *p)
{
	size_t after = search_first(0, all->parts.n, i, all->parts.at[i]->done.start_ns <= p->done.end_ns);
	const struct part *last = after > 0 ? all->parts.at[after - 1] : NULL;
	if (last == NULL || last == p)
		return NULL;
	int64_t needed_ns = start_needed(whole, p);
	int64_t since_ns = p->done.start_ns > needed_ns ? p->done.start_ns : needed_ns;
	int64_t before = since_ns - p->done.start_ns; /* it was waited for the last to start it */
	int64_t waited = last->done.start_ns - since_ns, rest = p->done.end_ns - last->done.start_ns;
	return waited > before && rest <= waited ? last : NULL;
}

static bool any_may_wait(const struct collective *whole)
{
	for (const struct collective *m = whole->sibling; m != NULL; m = m->sibling)
		for (const struct part *p = m->parts; p != NULL; p = p->next)
			if (p->completed && part_may_wait_for_others(p))
				return true;
	return false;
}

/* Who waited for others to come to the call in which they complete it. */
static int know_completions(struct shard *sh, struct collective *whole)
{
	struct ordered all = {0};
	int code = any_may_wait(whole) ? order_completions(whole, &all) : 0;
	for (struct collective *m = whole->sibling; m != NULL && code == 0; m = m->sibling)
		for (struct part *p = m->parts; p != NULL && code == 0; p = p->next) {
			const struct part *last = part_may_wait_for_others(p) ? waited_for(whole, &all, p) : NULL;
			if (last != NULL)
				p->causer = arrival_of(last->rank, &last->done);
			if (p->need != NULL)
				code = need_resolve(sh, p->need, last != NULL ? edge_share(sh, last->edge) : NULL);
		}
	for (struct collective *m = whole->sibling; m != NULL && code == 0; m = m->sibling)
		for (struct part *p = m->parts; p != NULL && code == 0; p = p->next)
			code = edge_drop(sh, p->edge);
	vec_done(&all.parts);
	return code;
}

/* Where the last to come called it from. */
static uint32_t site_of_last(const struct step *s, const struct collective *whole)
{
	for (const struct collective *m = whole->sibling; m != NULL; m = m->sibling)
		for (const struct part *p = m->last.rank == whole->last.rank ? m->parts : NULL; p != NULL; p = p->next)
			if (p->rank == whole->last.rank)
				return s->ranks[p->rank]->sigs.at[p->sig].site;
	return NONE;
}

static void tally_arrivals(struct shard *sh, const struct collective *whole)
{
	const struct step *s = sh->stream->step;
	int64_t ns = whole->last.ns - whole->first.ns;
	uint32_t site = whole->entered > 1 ? site_of_last(s, whole) : NONE;
	if (whole->coll == COLL_BARRIER)
		spread_add(&sh->tally.spreads[whole->comm], ns, whole->last.rank);
	if (whole->entered < 2) /* nobody to be late for */
		return;
	spread_add(&sh->tally.arrivals[site == NONE ? s->sites.n : site], ns, whole->last.rank);
	sh->tally.came_last[whole->last.rank]++;
}

static void arrive(void *context, int32_t dst, uint64_t bytes)
{
	const struct shard *sh = context;
	if (dst >= 0 && (uint32_t)dst < sh->stream->step->nranks && sh->part_of[dst] != NULL)
		sh->part_of[dst]->came += bytes;
}

/* What comes to each member by the lists of the others. */
static int exchange(struct shard *sh, struct collective *whole)
{
	const struct step *s = sh->stream->step;
	const struct part *any = whole->sibling->parts;
	if (!bytes_need_partners(s, &s->ranks[any->rank]->sigs.at[any->sig]))
		return 0;
	if (place_parts(sh, whole, true) < 0)
		return -ENOMEM;
	for (struct collective *m = whole->sibling; m != NULL; m = m->sibling)
		for (struct part *p = m->parts; p != NULL; p = p->next)
			traffic_listed(s, p->rank, &s->ranks[p->rank]->sigs.at[p->sig], arrive, sh);
	return place_parts(sh, whole, false);
}

/* A communicator may be left alone where others free it: that is a leak, and told as one. */
static bool is_counted(const struct collective *m)
{
	return m->coll != SYNC_COMM_CREATE && m->coll != SYNC_COMM_FREE;
}

/* All there is to know is known. */
static int decide(struct shard *sh, struct collective *whole)
{
	int code = whole->differs || whole->unequal ? check_collective(sh, whole) : 0;
	whole->decided = true;
	sh->unmatched.collectives_differ += whole->differs && is_counted(whole);
	for (struct collective *m = whole->sibling; m != NULL; m = m->sibling) {
		prefetch(m->sibling, sizeof(*m));
		join(whole, m);
		whole->shards++;
	}
	if (code == 0 && !whole->differs && (whole->coll == COLL_SCAN || whole->coll == COLL_EXSCAN))
		code = order_parts(sh, whole);
	if (code == 0 && coll_is_neighborhood((enum sig_coll)whole->coll))
		code = know_neighbors(sh, whole);
	if (code == 0 && part_needs_others_to_complete(whole->sibling->parts))
		code = know_completions(sh, whole);
	if (code == 0)
		code = clocks_learn_collective(sh, whole);
	if (code == 0)
		code = exchange(sh, whole);
	if (!whole->differs && whole->entered == sh->stream->step->comms.at[whole->comm].here)
		tally_arrivals(sh, whole);
	unlink_collective(sh->whole_table, sh->whole_buckets, &sh->nwholes, whole);
	for (struct collective *m = whole->sibling; m != NULL && code == 0; m = m->sibling)
		code = vec_push(&mail_to(sh, m->shard)->decided, m);
	if (code == 0)
		code = vec_push(&sh->retired, whole);
	return code;
}

static int hear(struct shard *sh, struct collective *m)
{
	struct collective *whole = m->whole;
	if (whole == NULL) {
		whole = find(sh, &sh->whole_table, &sh->whole_buckets, &sh->nwholes, m->comm, m->channel, m->k);
		if (whole == NULL)
			return -ENOMEM;
		m->whole = whole;
		m->sibling = whole->sibling;
		whole->sibling = m;
		if (whole->coll < 0) {
			whole->coll = m->coll;
			whole->root = m->root;
			whole->agreed = m->agreed;
		}
	}
	bool inter = sh->stream->step->comms.at[m->comm].inter;
	whole->differs |= m->differs || whole->coll != m->coll || (!inter && whole->root != m->root);
	whole->unequal |= m->unequal || whole->agreed != m->agreed;
	whole->entered += m->entered - m->told_entered;
	whole->completed += m->completed - m->told_completed;
	m->told_entered = m->entered;
	m->told_completed = m->completed;
	m->dirty = false;
	uint32_t expected = sh->stream->step->comms.at[m->comm].here;
	return whole->entered == expected && whole->completed == expected ? decide(sh, whole) : 0;
}

static void retire(struct shard *sh)
{
	for (size_t i = 0; i < sh->retired.n; i++)
		slab_give(&sh->collectives, sh->retired.at[i]);
	sh->retired.n = 0;
}

void collectives_window(struct shard *sh)
{
	retire(sh);
	for (uint32_t from = 0; from < sh->stream->nshards && sh->code == 0; from++) {
		struct mail *m = mail_from(sh, from);
		for (size_t i = 0; i < m->collectives.n && sh->code == 0; i++) {
			if (i + AHEAD < m->collectives.n)
				prefetch(m->collectives.at[i + AHEAD], sizeof(struct collective));
			sh->code = hear(sh, m->collectives.at[i]);
		}
		m->collectives.n = 0;
	}
}

/* What is open at the end: where all have come, what is known of their leaving must do; the others are counted. */
void collectives_end(struct shard *sh)
{
	collectives_window(sh);
	for (size_t i = 0; i < sh->whole_buckets && sh->code == 0; i++)
		for (struct collective *m = sh->whole_table[i], *next; m != NULL && sh->code == 0; m = next) {
			next = m->link;
			if (m->entered >= sh->stream->step->comms.at[m->comm].here)
				sh->code = decide(sh, m);
			else
				sh->unmatched.collectives += is_counted(m);
			sh->unmatched.collectives_differ += m->differs && !m->decided && is_counted(m);
			if (sh->code == 0 && !m->decided && (m->differs || m->unequal))
				sh->code = check_collective(sh, m);
		}
}

void collectives_done(struct shard *sh)
{
	free(sh->collective_table);
	free(sh->whole_table);
	vec_done(&sh->retired);
}
