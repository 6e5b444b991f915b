/* part_critical_path.c - "critical_path": what the length of the run hangs on. Walk back from the
 * end of the last rank; in a call that waited, jump to whom it waited for (Böhme et al.,
 * Identifying the root causes of wait states in large-scale parallel applications, ACM TOPC 2016).
 */
#include "postproc/analysis.h"

#define SEGMENTS_MAX 500

struct stretch {
	uint32_t rank;
	int64_t from_ns, to_ns;
};

struct path {
	const struct analysis *a;
	int64_t *useful_ns, *mpi_ns;   /* by rank */
	int64_t *site_ns;	       /* by call site: time in its calls on the path */
	VEC(struct stretch) stretches; /* latest first */
	uint32_t jumps;
};

/* Where the walk is: just before `at` events of rank have been looked at, at time now. */
struct place {
	uint32_t rank;
	size_t at; /* events at[0 .. at) are still to come */
	int64_t now;
};

static const struct wait_link *link_of(const struct waits *w, uint32_t rank, uint32_t at)
{
	size_t low = 0, high = w->links.n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct wait_link *l = &w->links.at[middle];
		if (l->rank < rank || (l->rank == rank && l->at < at))
			low = middle + 1;
		else
			high = middle;
	}
	const struct wait_link *l = low < w->links.n ? &w->links.at[low] : NULL;
	return l != NULL && l->rank == rank && l->at == at ? l : NULL;
}

static int add_stretch(struct path *p, uint32_t rank, int64_t from, int64_t to)
{
	struct stretch *last = p->stretches.n > 0 ? &p->stretches.at[p->stretches.n - 1] : NULL;
	if (last != NULL && last->rank == rank) {
		last->from_ns = from;
		return 0;
	}
	return vec_push(&p->stretches, (struct stretch){rank, from, to});
}

static int add_useful(struct path *p, struct place *here, int64_t from)
{
	if (from >= here->now)
		return 0;
	p->useful_ns[here->rank] += here->now - from;
	int code = add_stretch(p, here->rank, from, here->now);
	here->now = from;
	return code;
}

static int add_call(struct path *p, struct place *here, const struct sig *sig, int64_t from)
{
	if (from >= here->now)
		return 0;
	p->mpi_ns[here->rank] += here->now - from;
	if (sig->site != NONE)
		p->site_ns[sig->site] += here->now - from;
	int code = add_stretch(p, here->rank, from, here->now);
	here->now = from;
	return code;
}

/* One call backwards; a call that waited leads to the rank it waited for, at the time when that
 * began. */
static int step_back(struct path *p, struct place *here)
{
	const struct step *s = p->a->step;
	uint32_t at = (uint32_t)here->at - 1;
	const struct event *ev = op_event(s, here->rank, at);
	const struct wait_link *link = link_of(&p->a->waits, here->rank, at);
	int code = add_useful(p, here, ev->end_ns);
	here->at--;
	if (code < 0)
		return code;
	if (link != NULL) {
		int64_t began = op_event(s, link->causer, link->causer_at)->start_ns;
		if (began > ev->start_ns && began < here->now) {
			code = add_call(p, here, event_sig(s, here->rank, at), began);
			*here = (struct place){link->causer, link->causer_at, began};
			p->jumps++;
			return code;
		}
	}
	return add_call(p, here, event_sig(s, here->rank, at), ev->start_ns);
}

static bool last_place(const struct analysis *a, struct place *ret)
{
	ret->now = TIME_ABSENT;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		if (p == NULL || p->events.n == 0)
			continue;
		size_t n = p->events.n;
		int64_t end = p->finalize_enter_ns != TIME_ABSENT ? p->finalize_enter_ns : p->events.at[n - 1].end_ns;
		while (n > 0 && p->events.at[n - 1].start_ns >= end)
			n--; /* MPI_Finalize is outside of the region */
		if (end > ret->now)
			*ret = (struct place){r, n, end};
	}
	return ret->now != TIME_ABSENT;
}

/* Where the traced region of a rank begins. */
static int64_t region_start(const struct process *p)
{
	return p->init_exit_ns != TIME_ABSENT ? p->init_exit_ns : p->start_ns != TIME_ABSENT ? p->start_ns : 0;
}

static int walk(struct path *p)
{
	struct place here;
	int code = 0;
	if (!last_place(p->a, &here))
		return 0;
	while (code == 0 && here.at > 0) {
		const struct process *process = p->a->step->ranks[here.rank];
		if (process->events.at[here.at - 1].start_ns < region_start(process))
			break;
		code = step_back(p, &here);
	}
	return code < 0 ? code : add_useful(p, &here, region_start(p->a->step->ranks[here.rank]));
}

static void put_ranks(const struct path *p, cJSON *o)
{
	cJSON *list = json_array(o, "per_rank");
	for (uint32_t r = 0; r < p->a->step->nranks; r++) {
		if (p->useful_ns[r] + p->mpi_ns[r] == 0)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "rank", r);
		json_put_seconds(row, "useful_s", p->useful_ns[r]);
		json_put_seconds(row, "mpi_s", p->mpi_ns[r]);
		json_put(row, "imbalance_s", ((double)p->useful_ns[r] - p->a->mean_useful_ns) / 1e9);
	}
}

static void put_sites(const struct path *p, cJSON *o)
{
	cJSON *list = json_array(o, "callsites");
	for (uint32_t i = 0; i < p->a->step->sites.n; i++) {
		if (p->site_ns[i] == 0)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "callsite", i);
		json_put_seconds(row, "seconds", p->site_ns[i]);
	}
}

static void put_stretches(const struct path *p, cJSON *o)
{
	cJSON *list = json_array(o, "segments");
	size_t n = p->stretches.n < SEGMENTS_MAX ? p->stretches.n : SEGMENTS_MAX;
	for (size_t i = n; i-- > 0;) {
		const struct stretch *x = &p->stretches.at[i];
		cJSON *row = json_row(list);
		json_put(row, "rank", x->rank);
		json_put_seconds(row, "from_s", x->from_ns);
		json_put_seconds(row, "to_s", x->to_ns);
	}
	json_put(o, "segments_left_out", (double)(p->stretches.n - n));
}

static void put_path(const struct path *p)
{
	int64_t useful = 0, mpi = 0;
	for (uint32_t r = 0; r < p->a->step->nranks; r++) {
		useful += p->useful_ns[r];
		mpi += p->mpi_ns[r];
	}
	cJSON *o = json_object(p->a->root, "critical_path");
	json_put_seconds(o, "length_s", useful + mpi);
	json_put_seconds(o, "useful_s", useful);
	json_put_seconds(o, "mpi_s", mpi);
	json_put(o, "jumps", p->jumps);
	json_put(o, "imbalance_s", ((double)useful - p->a->mean_useful_ns) / 1e9);
	put_ranks(p, o);
	put_sites(p, o);
	put_stretches(p, o);
}

int part_critical_path(struct analysis *a)
{
	struct path p = {.a = a};
	p.useful_ns = calloc(a->step->nranks, sizeof(int64_t));
	p.mpi_ns = calloc(a->step->nranks, sizeof(int64_t));
	p.site_ns = calloc(a->step->sites.n + 1, sizeof(int64_t));
	int code = p.useful_ns == NULL || p.mpi_ns == NULL || p.site_ns == NULL ? -ENOMEM : walk(&p);
	if (code == 0)
		put_path(&p);
	free(p.useful_ns);
	free(p.mpi_ns);
	free(p.site_ns);
	vec_done(&p.stretches);
	return code;
}
