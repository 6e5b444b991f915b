/* delay.c - see delay.h. */
#include "postproc/stream/delay.h"
#include "postproc/stream/stream.h"

#define RING_BYTES_MAX (64u << 20) /* of all ranks */
#define RING_MAX 1024u		   /* calls of one rank that are remembered */
#define RING_MIN 64u
#define PARTNERS 16u /* of which the last meeting is remembered; those of equal numbers modulo this share a place */

/* A call that is over. */
struct call {
	int64_t start_ns, end_ns;
	uint32_t site;
	uint32_t culprit_rank, culprit_row; /* of its wait, or NONE */
	int64_t waited_ns;
};

struct meeting {
	uint32_t rank;
	int64_t last_ns, before_ns; /* before_ns: the one before the last, or TIME_ABSENT */
};

struct one_rank {
	uint64_t n; /* calls so far; the last are in the ring */
	int64_t from_ns, last_sync_ns;
	int64_t start_ns; /* of the call that has begun */
	uint32_t site;
	struct meeting matched[PARTNERS];
};

/* Time before and in calls of a site, by kind; of which wait it is. */
struct spent {
	int64_t ns[DELAY_KINDS];
	uint64_t wait;
};

struct site_time {
	uint32_t site;
	int64_t ns[DELAY_KINDS];
};

/* What the causer had done in the wait that was looked at before: of a collective all wait for the same. */
struct known {
	uint32_t causer;
	int64_t since_ns, began_ns, waited_ns;
	VEC(struct site_time) sites;
};

struct delays {
	struct one_rank *ranks;
	struct call *rings;
	uint32_t nranks, nsites, ring; /* ring: a power of two */
	struct spent *spent;	       /* by site: what the causer spent more */
	uint64_t wait;		       /* which one is looked at */
	VEC(uint32_t) touched;	       /* sites of this wait */
	VEC(struct call) waits;	       /* of the causer */
	struct known before;
	struct delay_result result;
};

struct delays *delays_create(const struct stream *st)
{
	const struct step *s = st->step;
	struct delays *d = calloc(1, sizeof(*d));
	if (d == NULL)
		return NULL;
	d->nranks = s->nranks;
	d->nsites = (uint32_t)s->sites.n;
	d->before.causer = NONE;
	d->ring = RING_MAX;
	while (d->ring > RING_MIN && (uint64_t)d->ring * d->nranks * sizeof(*d->rings) > RING_BYTES_MAX)
		d->ring /= 2;
	size_t rows = ((size_t)d->nsites + 1) * DELAY_KINDS;
	d->ranks = calloc(d->nranks + 1, sizeof(*d->ranks));
	d->rings = malloc(((size_t)d->nranks * d->ring + 1) * sizeof(*d->rings));
	d->spent = calloc(d->nsites + 1u, sizeof(*d->spent));
	d->result.rows = calloc(rows, sizeof(*d->result.rows));
	d->result.direct_ns = calloc(d->nranks + 1, sizeof(double));
	d->result.indirect_ns = calloc(d->nranks + 1, sizeof(double));
	if (d->ranks == NULL || d->rings == NULL || d->spent == NULL || d->result.rows == NULL ||
	    d->result.direct_ns == NULL || d->result.indirect_ns == NULL || vec_reach(&d->touched, d->nsites) < 0) {
		delays_destroy(d);
		return NULL;
	}
	for (size_t i = 0; i < rows; i++)
		d->result.rows[i].rank = NONE;
	for (uint32_t r = 0; r < d->nranks; r++) {
		const struct process *p = s->ranks[r];
		bool known = p != NULL && p->init_exit_ns != TIME_ABSENT;
		d->ranks[r].from_ns = d->ranks[r].last_sync_ns = known ? p->init_exit_ns : 0;
		for (unsigned i = 0; i < PARTNERS; i++)
			d->ranks[r].matched[i].rank = NONE;
	}
	return d;
}

void delay_result_done(struct delay_result *r)
{
	free(r->rows);
	free(r->direct_ns);
	free(r->indirect_ns);
	*r = (struct delay_result){0};
}

void delays_destroy(struct delays *d)
{
	if (d == NULL)
		return;
	delay_result_done(&d->result);
	vec_done(&d->touched);
	vec_done(&d->waits);
	free(d->ranks);
	free(d->rings);
	free(d->spent);
	vec_done(&d->before.sites);
	free(d);
}

void delays_result(struct delays *d, struct delay_result *ret_result)
{
	*ret_result = d->result;
	d->result = (struct delay_result){0};
}

void delays_begin(struct delays *d, uint32_t rank, uint32_t site, int64_t start_ns)
{
	d->ranks[rank].start_ns = start_ns;
	d->ranks[rank].site = site;
}

void delays_matched(struct delays *d, uint32_t rank, uint32_t other, int64_t end_ns)
{
	struct meeting *m = &d->ranks[rank].matched[other % PARTNERS];
	if (m->rank != other)
		*m = (struct meeting){other, end_ns, TIME_ABSENT};
	else if (m->last_ns < end_ns)
		*m = (struct meeting){other, end_ns, m->last_ns};
}

/* ---- one wait ---- */

/* Time before and in a call at a site. There is room for all sites. */
static void spend(struct delays *d, uint32_t site, int64_t computing_ns, int64_t in_call_ns)
{
	uint32_t at = site < d->nsites ? site : d->nsites;
	struct spent *x = &d->spent[at];
	if (x->wait != d->wait) {
		x->wait = d->wait;
		x->ns[DELAY_COMPUTING] = x->ns[DELAY_IN_CALL] = 0;
		d->touched.at[d->touched.n++] = at;
	}
	x->ns[DELAY_COMPUTING] += computing_ns;
	x->ns[DELAY_IN_CALL] += in_call_ns;
}

/* What a rank did from from_ns until it began a call at until_ns, times sign; *ret_waited: of it, waiting. Of the
 * causer (sign 1) the waits are kept. */
static int account_interval(struct delays *d, uint32_t rank, int64_t from_ns, int64_t until_ns, int sign,
			    int64_t *ret_waited)
{
	const struct one_rank *r = &d->ranks[rank];
	const struct call *ring = d->rings + (size_t)rank * d->ring;
	int64_t next_ns = until_ns, in_call = 0, all_waited = 0;
	uint32_t next_site = r->start_ns == until_ns ? r->site : NONE;
	uint64_t back = 1;
	for (; back <= r->n && back <= d->ring; back++) {
		const struct call *c = &ring[(r->n - back) & (d->ring - 1)];
		if (c->start_ns < until_ns)
			break;
		next_site = c->start_ns == until_ns ? c->site : next_site;
	}
	/* next: the call at hand; it began at next_ns, and in_call of it counts */
	for (; next_ns > from_ns; back++) {
		if (back > d->ring && back <= r->n) {
			d->result.cut++;
			spend(d, next_site, 0, sign * in_call);
			break;
		}
		const struct call *c = back <= r->n ? &ring[(r->n - back) & (d->ring - 1)] : NULL;
		int64_t end = c != NULL ? c->end_ns : r->from_ns, start = c != NULL ? c->start_ns : end;
		end = end > from_ns ? end : from_ns;
		end = end < next_ns ? end : next_ns;
		spend(d, next_site, sign * (next_ns - end), sign * in_call);
		if (c == NULL || end <= from_ns) {
			in_call = 0;
			break;
		}
		start = start > from_ns ? start : from_ns;
		int64_t waited = c->waited_ns > start - c->start_ns ? c->waited_ns - (start - c->start_ns) : 0;
		in_call = end - start - waited;
		all_waited += waited;
		if (sign > 0 && waited > 0 && c->culprit_rank != NONE && vec_push(&d->waits, *c) < 0)
			return -ENOMEM;
		next_ns = start;
		next_site = c->site;
		if (start == from_ns)
			spend(d, next_site, 0, sign * in_call);
	}
	*ret_waited = all_waited;
	return 0;
}

/* The same of the causer, or what is known of it from the wait before. */
static int account_causer(struct delays *d, uint32_t causer, int64_t since_ns, int64_t began_ns, int64_t *ret_waited)
{
	if (d->before.causer == causer && d->before.since_ns == since_ns && d->before.began_ns == began_ns) {
		*ret_waited = d->before.waited_ns;
		for (size_t i = 0; i < d->before.sites.n; i++) {
			const struct site_time *x = &d->before.sites.at[i];
			spend(d, x->site, x->ns[DELAY_COMPUTING], x->ns[DELAY_IN_CALL]);
		}
		return 0;
	}
	d->waits.n = d->before.sites.n = 0;
	d->before.causer = NONE;
	int code = account_interval(d, causer, since_ns, began_ns, 1, ret_waited);
	for (size_t i = 0; i < d->touched.n && code == 0; i++) {
		uint32_t site = d->touched.at[i];
		const int64_t *ns = d->spent[site].ns;
		code = vec_push(&d->before.sites, (struct site_time){site, {ns[DELAY_COMPUTING], ns[DELAY_IN_CALL]}});
	}
	d->before.causer = causer;
	d->before.since_ns = since_ns;
	d->before.began_ns = began_ns;
	d->before.waited_ns = *ret_waited;
	return code;
}

static void charge(struct delays *d, uint32_t row, uint32_t rank, double direct_ns, double indirect_ns)
{
	struct delay_row *r = &d->result.rows[row];
	double ns = direct_ns + indirect_ns;
	r->direct_ns += direct_ns;
	r->indirect_ns += indirect_ns;
	d->result.direct_ns[rank] += direct_ns;
	d->result.indirect_ns[rank] += indirect_ns;
	if (r->rank == rank) {
		r->votes += ns;
	} else if (r->votes >= ns) {
		r->votes -= ns;
	} else {
		r->rank = rank;
		r->votes = ns - r->votes;
	}
}

/* The causer's own waits, as far as they were longer than the waiter's, are costs of who caused them. */
static void charge_waits(struct delays *d, double ns)
{
	double all = 0;
	for (size_t i = 0; i < d->waits.n; i++)
		all += (double)d->waits.at[i].waited_ns;
	for (size_t i = 0; i < d->waits.n; i++) {
		const struct call *c = &d->waits.at[i];
		charge(d, c->culprit_row, c->culprit_rank, 0, ns * (double)c->waited_ns / all);
	}
	if (d->waits.n == 0)
		d->result.unexplained_ns += ns;
}

static int64_t more_at(const struct delays *d, size_t i, unsigned kind)
{
	int64_t more = d->spent[d->touched.at[i]].ns[kind];
	return more > 0 ? more : 0;
}

/* The wait to what the causer spent more on, and to its waits; *x: where the largest part goes. */
static void share(struct delays *d, uint32_t causer, int64_t wait_ns, int64_t more_waiting, struct call *x)
{
	int64_t all = more_waiting > 0 ? more_waiting : 0, largest = 0;
	for (size_t i = 0; i < d->touched.n; i++)
		all += more_at(d, i, DELAY_COMPUTING) + more_at(d, i, DELAY_IN_CALL);
	for (size_t i = 0; i < d->touched.n && all > 0; i++)
		for (unsigned kind = 0; kind < DELAY_KINDS; kind++) {
			int64_t more = more_at(d, i, kind);
			uint32_t row = d->touched.at[i] * DELAY_KINDS + kind;
			if (more == 0)
				continue;
			charge(d, row, causer, (double)wait_ns * (double)more / (double)all, 0);
			if (more > largest) {
				largest = more;
				x->culprit_rank = causer;
				x->culprit_row = row;
			}
		}
	if (all == 0)
		d->result.unexplained_ns += (double)wait_ns;
	else if (more_waiting > 0)
		charge_waits(d, (double)wait_ns * (double)more_waiting / (double)all);
	if (more_waiting <= largest)
		return;
	int64_t longest = -1;
	for (size_t i = 0; i < d->waits.n; i++) {
		const struct call *c = &d->waits.at[i];
		if (c->waited_ns <= longest)
			continue;
		longest = c->waited_ns;
		x->culprit_rank = c->culprit_rank;
		x->culprit_row = c->culprit_row;
	}
}

/* Since when the two go their own ways, as the waiter saw it. */
static int64_t sync_since(const struct one_rank *r, uint32_t causer, int64_t end_ns)
{
	const struct meeting *m = &r->matched[causer % PARTNERS];
	int64_t matched = m->rank != causer ? TIME_ABSENT : m->last_ns < end_ns ? m->last_ns : m->before_ns;
	return matched != TIME_ABSENT && matched > r->last_sync_ns ? matched : r->last_sync_ns;
}

static int explain(struct delays *d, uint32_t rank, uint32_t causer, int64_t began_ns, int64_t end_ns, struct call *x)
{
	const struct one_rank *r = &d->ranks[rank];
	int64_t since = sync_since(r, causer, end_ns), theirs, own;
	d->wait++;
	d->touched.n = 0;
	int code = account_causer(d, causer, since, began_ns, &theirs);
	if (code == 0)
		code = account_interval(d, rank, since, r->start_ns, -1, &own);
	if (code == 0)
		share(d, causer, began_ns - r->start_ns, theirs - own, x);
	return code;
}

int delays_end(struct delays *d, uint32_t rank, int64_t end_ns, int64_t began_ns, uint32_t causer, int64_t last_sync_ns)
{
	struct one_rank *r = &d->ranks[rank];
	struct call x = {r->start_ns, end_ns, r->site, NONE, NONE, 0};
	int code = 0;
	began_ns = began_ns < end_ns ? began_ns : end_ns;
	if (causer != NONE && causer != rank && began_ns > r->start_ns && r->start_ns >= r->from_ns) {
		d->result.waits++;
		d->result.waits_ns += (double)(began_ns - r->start_ns);
		code = explain(d, rank, causer, began_ns, end_ns, &x);
		x.waited_ns = began_ns - r->start_ns;
	}
	d->rings[(size_t)rank * d->ring + (r->n++ & (d->ring - 1))] = x;
	if (last_sync_ns > r->last_sync_ns)
		r->last_sync_ns = last_sync_ns;
	return code;
}
