/* snapshot.c - see snapshot.h. The samples of each node give its processes their totals and open calls before the
 * step is joined, so that peers, communicators and places are the step's. */
#include "postproc/live/snapshot.h"

#include "base/clock.h"
#include "base/hostlist.h"
#include "base/json.h"
#include "postproc/lines/lines.h"
#include "postproc/read/ends.h"

#include <math.h>
#include <time.h>

/* A sample is late when the next but one was due, and this has passed as well: shared file systems show late what
 * others wrote. */
#define LATE_NS 10000000000ll
#define MISSING_MAX 4096

static void use_totals(struct process *p, uint32_t thread, const struct live_thread *t)
{
	const struct thread *known = &p->threads.at[thread];
	for (size_t id = 0; id < t->totals.n && id < known->sig_of.n; id++) {
		uint32_t at = known->sig_of.at[id];
		if (at == 0 || t->totals.at[id].calls == 0)
			continue;
		p->sigs.at[at - 1].calls = t->totals.at[id].calls;
		p->sigs.at[at - 1].ticks = t->totals.at[id].ticks;
	}
}

static int use_thread(struct process *p, uint32_t thread, const struct live_node *n, const struct live_thread *t)
{
	if (vec_reach(&p->threads, thread) < 0)
		return -ENOMEM;
	use_totals(p, thread, t);
	if (!t->open)
		return 0;
	return open_sampled(p, thread, n, t);
}

static int use_samples(void *context, struct step *s)
{
	struct snapshot *l = context;
	int code = 0;
	for (size_t i = 0; i < s->nodes.n && code == 0; i++) {
		struct live_node live = {0};
		code = replay_node(&s->nodes.at[i], &live);
		if (code == 0 && (code = vec_push(&l->nodes, live)) < 0)
			replay_done(&live);
	}
	for (size_t i = 0; i < s->processes.n && code == 0; i++) {
		struct process *p = s->processes.at[i];
		const struct live_node *live = &l->nodes.at[p->node];
		p->open.n = 0;
		if (p->index >= live->processes.n)
			continue;
		const struct live_process *known = &live->processes.at[p->index];
		for (uint32_t t = 0; t < known->threads.n && code == 0; t++)
			code = use_thread(p, t, live, &known->threads.at[t]);
	}
	return code;
}

/* ---- nodes ---- */

static enum live_node_state node_state(const struct snapshot *l, size_t i, int64_t now_ns)
{
	const struct live_node *n = &l->nodes.at[i];
	if (l->step.nodes.at[i].file.finished)
		return NODE_ENDED;
	if (n->samples == 0)
		return NODE_WITHOUT;
	return now_ns - n->realtime_ns > 2 * n->gap_ns + LATE_NS ? NODE_LAGS : NODE_SAMPLED;
}

static int read_nodes(struct snapshot *l)
{
	int64_t now_ns = clock_ns(CLOCK_REALTIME);
	l->over = true;
	for (size_t i = 0; i < l->nodes.n; i++) {
		const struct live_node *n = &l->nodes.at[i];
		enum live_node_state state = node_state(l, i, now_ns);
		if (vec_push(&l->node_states, state) < 0)
			return -ENOMEM;
		l->over &= state == NODE_ENDED;
		l->sample = n->seq > l->sample ? n->seq : l->sample;
		l->realtime_ns = n->realtime_ns > l->realtime_ns ? n->realtime_ns : l->realtime_ns;
	}
	return 0;
}

struct looking_for {
	const struct step *step;
	struct missing *missing;
};

static int add_missing(void *context, const char *name)
{
	const struct looking_for *l = context;
	for (size_t i = 0; i < l->step->nodes.n; i++)
		if (strcmp(l->step->nodes.at[i].name, name) == 0)
			return 0;
	char *copy = strdup(name);
	if (copy == NULL || l->missing->n >= MISSING_MAX || vec_push(l->missing, copy) < 0) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

/* By the list of nodes that each of them has. */
void missing_find(const struct step *s, struct missing *m)
{
	const char *list = "";
	missing_done(m);
	for (size_t i = 0; i < s->nodes.n && list[0] == '\0'; i++)
		list = json_text(s->nodes.at[i].meta, "nodelist", "");
	if (s->nodes.n < s->nnodes)
		hostlist_each(list, add_missing, &(struct looking_for){s, m});
}

void missing_done(struct missing *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->at[i]);
	vec_done(m);
}

/* ---- ranks ---- */

/* Ticks inside of MPI in the last interval: of calls that ended in it, and of the one that has not, without what
 * of them was before. */
static double mpi_ticks(const struct live_thread *t)
{
	double ticks = (t->open ? (double)t->age_ticks : 0) - (double)t->age_before;
	for (size_t i = 0; i < t->totals.n; i++)
		ticks += (double)t->totals.at[i].ticks - (double)t->totals.at[i].before_ticks;
	return ticks;
}

static double share(double part, double whole)
{
	return whole <= 0 ? NAN : part < 0 ? 0 : part > whole ? 1 : part / whole;
}

static void read_thread(struct live_rank *r, const struct live_node *n, const struct live_thread *t)
{
	double interval_ns = (double)n->interval_ns;
	r->still = t->open && t->still > 0;
	if (t->open && n->ns_per_tick > 0)
		r->since_s = (double)t->age_ticks * n->ns_per_tick / 1e9;
	if (!t->open) {
		r->since_s = (double)(n->realtime_ns - t->active_ns) / 1e9;
		r->still = n->realtime_ns > t->active_ns;
	}
	if (t->known_before) {
		r->mpi = share(mpi_ticks(t), (double)n->interval_ticks);
		r->useful = 1 - r->mpi;
	}
	r->stopped = t->has_system && (t->system.run_state == 'T' || t->system.run_state == 't');
	if (t->counters.user_ns > 0)
		r->frequency_hz = (double)t->counters.cycles * 1e9 / (double)t->counters.user_ns;
	if (t->counters.cycles > 0)
		r->instructions_per_cycle = (double)t->counters.instructions / (double)t->counters.cycles;
	if (t->has_system && t->known_before) {
		r->off_processor = share((double)t->system.wait_ns, interval_ns);
		r->on_processor = share((double)t->system.cpu_ns, interval_ns);
	}
}

static bool has_ended(const struct process *p, const struct live_process *known)
{
	return ends_said(p) || (known != NULL && known->state != SAMPLE_RUNNING && known->state != SAMPLE_STARTING);
}

static struct live_rank read_rank(const struct snapshot *l, uint32_t rank)
{
	struct live_rank r = {.since_s = NAN,
			      .useful = NAN,
			      .mpi = NAN,
			      .off_processor = NAN,
			      .on_processor = NAN,
			      .resident_bytes = NAN,
			      .frequency_hz = NAN,
			      .instructions_per_cycle = NAN};
	const struct process *p = l->step.ranks[rank];
	if (p == NULL)
		return r;
	r.node = &l->nodes.at[p->node];
	r.process = p->index < r.node->processes.n ? &r.node->processes.at[p->index] : NULL;
	if (has_ended(p, r.process)) {
		r.state = LIVE_ENDED;
		r.still = r.node->samples >= 2 + (r.process != NULL ? r.process->ran : 0);
		return r;
	}
	enum live_node_state node = l->node_states.at[p->node];
	if (r.process == NULL || r.process->threads.n == 0 || node != NODE_SAMPLED)
		return r;
	if (r.process->resident_bytes > 0)
		r.resident_bytes = (double)r.process->resident_bytes;
	r.state = p->open.n > 0 || r.process->state == SAMPLE_STARTING ? LIVE_MPI : LIVE_USEFUL;
	if (r.process->state == SAMPLE_STARTING) /* not recorded as a call before it returns */
		return r;
	r.sig = p->open.n > 0 ? &p->sigs.at[p->open.at[0].sig] : NULL;
	uint32_t thread = p->open.n > 0 ? p->open.at[0].thread : 0;
	read_thread(&r, r.node, &r.process->threads.at[thread]);
	return r;
}

static int read_ranks(struct snapshot *l)
{
	int code = 0;
	for (uint32_t r = 0; r < l->step.nranks && code == 0; r++)
		code = vec_push(&l->ranks, read_rank(l, r));
	return code;
}

static bool any_samples(const struct snapshot *l)
{
	for (size_t i = 0; i < l->nodes.n; i++)
		if (l->nodes.at[i].samples > 0)
			return true;
	return false;
}

/* All that have a rank have it by their launcher's word alone. */
static bool all_starting(const struct snapshot *l)
{
	for (uint32_t r = 0; r < l->step.nranks; r++)
		if (l->step.ranks[r] != NULL && !ends_starting(l->step.ranks[r]))
			return false;
	return true;
}

/* Before MPI_Init returns to one rank: then it is said how many are inside of it. */
static int only_starting(const struct snapshot *l, const char *path, int code, struct error *e)
{
	uint32_t starting = 0;
	int64_t wanted = 0;
	for (size_t i = 0; i < l->nodes.n; i++)
		for (size_t k = 0; k < l->nodes.at[i].processes.n; k++) {
			const struct live_process *p = &l->nodes.at[i].processes.at[k];
			if (p->seen && p->state != SAMPLE_STARTING)
				return code;
			starting += p->seen;
		}
	for (size_t i = 0; i < l->step.nodes.n && wanted == 0; i++)
		wanted = json_int(l->step.nodes.at[i].meta, "ntasks", 0);
	if (starting == 0 || code == -ENOMEM)
		return code;
	if (wanted > starting)
		return fail(e, -EAGAIN,
			    "%s: no rank has come out of MPI_Init yet: %u %s inside of it, %lld of %lld %s not "
			    "called it",
			    path, starting, starting == 1 ? "is" : "are", (long long)wanted - starting,
			    (long long)wanted, wanted - starting == 1 ? "has" : "have");
	return fail(e, -EAGAIN, "%s: no rank has come out of MPI_Init yet: %u %s inside of it", path, starting,
		    starting == 1 ? "is" : "are");
}

int snapshot(char *const *paths, size_t npaths, struct snapshot *before, struct snapshot *ret_snapshot, struct error *e)
{
	struct snapshot l = {0};
	struct step_how how = {.loaded = use_samples, .context = &l, .before = before != NULL ? &before->step : NULL};
	int code = step_load_with(paths, npaths, &how, &l.step, e);
	if (code < 0 || all_starting(&l))
		code = only_starting(&l, paths[0], code, e);
	if (code == 0 && !any_samples(&l))
		code = fail(e, -ENODATA,
			    "%s: no samples yet; the first is there a second after MPI_Init, none with sample=0",
			    paths[0]);
	if (code == 0) {
		lines_resolve(&l.step);
		missing_find(&l.step, &l.missing);
		code = read_nodes(&l);
		code = code == 0 ? read_ranks(&l) : code;
		code = code == 0 ? snapshot_waits(&l) : code;
		if (code < 0)
			fail(e, code, "%s: out of memory", paths[0]);
	}
	if (code < 0)
		snapshot_done(&l);
	else
		*ret_snapshot = l;
	return code;
}

void snapshot_done(struct snapshot *l)
{
	for (size_t i = 0; i < l->nodes.n; i++)
		replay_done(&l->nodes.at[i]);
	for (size_t i = 0; i < l->waited_for.n; i++)
		vec_done(&l->waited_for.at[i].ranks);
	states_of_done(&l->states);
	cores_done(&l->cores);
	cores_done(&l->possible);
	vec_done(&l->nodes);
	vec_done(&l->node_states);
	missing_done(&l->missing);
	vec_done(&l->ranks);
	vec_done(&l->waited_for);
	step_done(&l->step);
}
