/* clock_cases.c - see clock_cases.h. Time is that of nobody's clock, in nanoseconds since the begin of the run. */
#include "tests/unit/clock_cases.h"

#include "postproc/clock/clock_pairs.h"

#include <math.h>

#define SAMPLES 40
#define STEPS_MAX 4
#define SAMPLE_NOISE_NS 60 /* between the readings of one sample */

const char *const case_names[CASE_KINDS] = {"offsets up to 10 s",    "good NTP",	   "drift up to 50 ppm",
					    "clocks set in the run", "asymmetric latency", "nodes begin and end apart",
					    "rates steered by 1 ppm"};

static uint64_t state;

static double uniform(double from, double to) /* splitmix64 */
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return from + (to - from) * ((double)((z ^ (z >> 31)) >> 11) * 0x1p-53);
}

static double between(double from, double to) /* as likely in each octave */
{
	return exp(uniform(log(from), log(to)));
}

struct true_node {
	double hz, tick_at_0;	     /* of its counter */
	double rate[STEPS_MAX];	     /* of its monotonic clock, from step[] on */
	double step[STEPS_MAX];	     /* step[0] = 0 */
	double monotonic_at_0, date; /* date: real time less monotonic time */
	double jump_at, jump;
	double from, to; /* when its events are */
};

struct world_of_nodes {
	enum case_kind kind;
	double run_ns;
	struct true_node node[CASE_NODES_MAX];
	struct step step;
	struct clock_rule rule[CASE_NODES_MAX];
	struct range range[CASE_NODES_MAX];
	double latency_ns[CASE_NODES_MAX][CASE_NODES_MAX];
	struct tie tie[CASE_NODES_MAX];
	bool agree;
};

static double monotonic_at(const struct true_node *n, double t)
{
	double sum = n->monotonic_at_0;
	for (int i = 0; i < STEPS_MAX; i++) {
		double end = i + 1 < STEPS_MAX ? n->step[i + 1] : INFINITY;
		if (t > n->step[i])
			sum += (fmin(t, end) - n->step[i]) * n->rate[i];
	}
	return sum;
}

static uint64_t tick_at(const struct true_node *n, double t)
{
	return (uint64_t)llround(n->tick_at_0 + t * n->hz / 1e9);
}

/* ---- a case ---- */

static struct true_node make_node(enum case_kind kind, double run_ns)
{
	double off = kind == CASE_NTP ? uniform(-5e3, 5e3) : uniform(-1e10, 1e10);
	double drift = kind >= CASE_DRIFT ? uniform(-5e-5, 5e-5) : 0;
	struct true_node n = {
		.hz = uniform(2e9, 4e9), .tick_at_0 = uniform(1e9, 1e15), .monotonic_at_0 = uniform(1e9, 1e14)};
	n.date = 1.7e18 - n.monotonic_at_0 + off;
	for (int i = 0; i < STEPS_MAX; i++) {
		n.rate[i] = 1 + drift + (kind == CASE_STEER ? uniform(-1e-6, 1e-6) : 0);
		n.step[i] = i * run_ns / STEPS_MAX;
	}
	n.jump_at = INFINITY;
	if (kind >= CASE_JUMP && kind != CASE_STEER && uniform(0, 1) < 0.5) {
		n.jump_at = uniform(0, run_ns);
		n.jump = uniform(-1e9, 1e9);
	}
	double apart = kind == CASE_LATE ? 0.3 : 0.01;
	n.from = uniform(0, apart) * run_ns;
	n.to = run_ns - uniform(0, apart) * run_ns;
	return n;
}

static void make_latencies(struct world_of_nodes *w, unsigned n)
{
	bool skewed = w->kind == CASE_SKEWED || w->kind == CASE_LATE;
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = 0; b < a; b++) {
			double forth = between(500, 5e4);
			w->latency_ns[a][b] = forth;
			w->latency_ns[b][a] = skewed ? forth * between(0.05, 20) : forth * uniform(0.9, 1.1);
		}
}

static bool sample(struct world_of_nodes *w, unsigned i)
{
	const struct true_node *n = &w->node[i];
	struct node *seen = &w->step.nodes.at[i];
	seen->hz = n->hz;
	for (int k = 0; k <= SAMPLES; k++) {
		double t = w->run_ns * k / SAMPLES, monotonic = monotonic_at(n, t + uniform(0, SAMPLE_NOISE_NS));
		struct mpic_clock c = {.tick = tick_at(n, t), .monotonic_ns = (int64_t)llround(monotonic)};
		c.realtime_ns = c.monotonic_ns + (int64_t)llround(n->date + (t > n->jump_at ? n->jump : 0));
		if (vec_push(&seen->clock, c) < 0)
			return false;
	}
	return true;
}

/* A node's time at t, as the analysis sees it before it knows of messages (stream/plan.c). */
static double seen_at(const struct world_of_nodes *w, unsigned i, double t)
{
	const struct clock_rule *r = &w->rule[i];
	uint64_t tick = tick_at(&w->node[i], t);
	size_t at = 0;
	while (at + 1 < r->knots.n && r->knots.at[at + 1].tick <= tick)
		at++;
	const struct clock_knot *k = &r->knots.at[at];
	return k->ns + (double)(int64_t)(tick - k->tick) * k->rate;
}

static bool make_rules(struct world_of_nodes *w, unsigned n)
{
	int64_t zero = clock_earliest(&w->step);
	for (unsigned i = 0; i < n; i++) {
		struct node *seen = &w->step.nodes.at[i];
		if (clock_rule_make(seen, zero - clock_median_offset(seen), &w->rule[i]) < 0)
			return false;
		w->range[i] =
			(struct range){llround(seen_at(w, i, w->node[i].from)), llround(seen_at(w, i, w->node[i].to))};
	}
	return true;
}

/* ---- messages ---- */

static int message(struct world_of_nodes *w, struct pairs *p, unsigned from, unsigned to)
{
	double first = fmax(w->node[from].from, w->node[to].from), last = fmin(w->node[from].to, w->node[to].to);
	double begin = uniform(first, last);
	/* One way is slow early, the other late: the truth is then the steepest line of all that are possible. */
	bool slow = w->kind == CASE_LATE && (from < to) == (begin > w->run_ns / 2);
	double way = (slow ? 30 : 1) * w->latency_ns[from][to] * (1 - log(1 - uniform(0, 0.999)));
	double end = fmin(begin + way, w->node[to].to);
	if (end - begin < w->latency_ns[from][to])
		return 0;
	return pairs_learn(p, from, llround(seen_at(w, from, begin)), to, llround(seen_at(w, to, end)));
}

/* Each node talks with one before it, so that all are tied, and some with others as well. */
static int talk(struct world_of_nodes *w, struct pairs *p, unsigned n)
{
	int code = 0;
	for (unsigned a = 1; a < n; a++) {
		unsigned partner = (unsigned)uniform(0, a);
		for (unsigned b = 0; b < a; b++) {
			if (b != partner && uniform(0, 1) < 0.5)
				continue;
			unsigned messages = (unsigned)between(4, 400);
			for (unsigned k = 0; k < messages && code == 0; k++) {
				code = message(w, p, a, b);
				code = code == 0 ? message(w, p, b, a) : code;
			}
		}
	}
	return code;
}

static double solve(struct world_of_nodes *w, unsigned n)
{
	struct pairs p = {.runs = w->range, .rules = w->rule, .nnodes = n};
	struct clock_result r = {.method = NULL};
	if (talk(w, &p, n) == 0) {
		for (unsigned i = 0; i < n; i++)
			w->tie[i].rate = 1;
		w->tie[0].known = true;
		w->agree = pairs_solve(&p, w->tie);
		clock_decide(&w->step, w->tie, w->agree, &r);
	}
	p.runs = NULL;
	pairs_done(&p);
	return r.method == NULL ? NAN : r.error_bound_ns;
}

/* A node's time after all corrections. */
static double told_at(const struct world_of_nodes *w, unsigned i, double t)
{
	double own = seen_at(w, i, t);
	return w->agree ? own : w->tie[i].offset + w->tie[i].rate * own;
}

/* ---- truth ---- */

/* What MPEye would say at t: the clock as it was set once, when the root's word came. */
static double started_at(const struct world_of_nodes *w, unsigned i, double t)
{
	double there = w->latency_ns[0][i], back = w->latency_ns[i][0];
	double sent = 0.02 * w->run_ns, begin = seen_at(w, 0, sent), arrived = seen_at(w, i, sent + there);
	return seen_at(w, i, t) - arrived + begin + (there + back) / 2;
}

static double time_in(double from, double to, int k)
{
	return from + (to - from) * k / (CASE_TIMES - 1);
}

static double worst_of(const double *lowest, const double *highest, unsigned n)
{
	double worst = 0;
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < n; j++)
			worst = i == j ? worst : fmax(worst, highest[i] - lowest[j]);
	return worst;
}

static void judge(const struct world_of_nodes *w, unsigned n, struct clock_outcome *o)
{
	double lowest[CASE_NODES_MAX] = {0}, highest[CASE_NODES_MAX] = {0}; /* the first node's are off by nothing */
	for (unsigned i = 1; i < n; i++) {
		lowest[i] = INFINITY;
		highest[i] = -INFINITY;
		for (int k = 0; k < CASE_TIMES; k++) {
			double t = time_in(w->node[i].from, w->node[i].to, k), truth = seen_at(w, 0, t);
			double off = told_at(w, i, t) - truth;
			o->ours_ns[i][k] = fabs(off);
			o->start_ns[i][k] = fabs(started_at(w, i, t) - truth);
			lowest[i] = fmin(lowest[i], off);
			highest[i] = fmax(highest[i], off);
		}
	}
	o->worst_ns = worst_of(lowest, highest, n);
}

struct clock_outcome clock_case(enum case_kind kind, uint64_t seed)
{
	struct world_of_nodes w = {.kind = kind};
	struct clock_outcome o = {.bound_ns = NAN};
	state = seed * 0x2545f4914f6cdd1dull + kind;
	o.nodes = 2 + (unsigned)uniform(0, CASE_NODES_MAX - 1.001);
	w.run_ns = between(1e8, 1e12);
	o.run_s = w.run_ns / 1e9;
	bool good = true;
	for (unsigned i = 0; i < o.nodes && good; i++) {
		w.node[i] = make_node(kind, w.run_ns);
		good = vec_push(&w.step.nodes, (struct node){.id = i}) == 0 && sample(&w, i);
	}
	make_latencies(&w, o.nodes);
	if (good && make_rules(&w, o.nodes)) {
		o.bound_ns = solve(&w, o.nodes);
		judge(&w, o.nodes, &o);
	}
	for (unsigned i = 0; i < o.nodes; i++) {
		vec_done(&w.step.nodes.at[i].clock);
		vec_done(&w.rule[i].knots);
	}
	vec_done(&w.step.nodes);
	return o;
}
