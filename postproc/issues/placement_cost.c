/* placement_cost.c - how far apart nodes are, and what messages between them cost. In: META of nodes, exact totals of
 * calls. Out: placement.h. */
#include "postproc/issues/placement.h"
#include "postproc/sections/switches.h"

#include <math.h>

#define NODES_MAX 4096 /* the square of it is kept */
#define SIZES_APART_MAX \
	16 /* between the mean messages within and between nodes: beyond it they tell nothing of each other */

/* ---- distances ---- */

static const cJSON *path_of(const cJSON *switches)
{
	return json_first(switches, "path");
}

/* From the leaves up to the switch that both have above them. */
static unsigned levels_between(const cJSON *a, const cJSON *b)
{
	unsigned deep = 0, shared = 0;
	bool same = true;
	const cJSON *x = path_of(a), *y = path_of(b);
	for (; x != NULL || y != NULL; deep++) {
		same = same && cJSON_IsString(x) && cJSON_IsString(y) && strcmp(x->valuestring, y->valuestring) == 0;
		shared += same;
		x = x != NULL ? x->next : NULL;
		y = y != NULL ? y->next : NULL;
	}
	return deep - shared + 1;
}

static bool fill(struct distances *d, cJSON *const *switches)
{
	for (uint32_t a = 0; a < d->n; a++)
		if (path_of(switches[a]) == NULL)
			return false;
	for (uint32_t a = 0; a < d->n; a++)
		for (uint32_t b = 0; b < d->n; b++) {
			unsigned levels = a == b ? 0 : levels_between(switches[a], switches[b]);
			d->levels[(size_t)a * d->n + b] = (uint8_t)levels; /* paths are short: part "topology" */
			d->most = levels > d->most ? levels : d->most;
		}
	return true;
}

struct distances distances_between(const struct step *s)
{
	struct distances d = {.n = (uint32_t)s->nodes.n, .most = 1};
	if (d.n > NODES_MAX)
		return d;
	cJSON **switches = calloc(d.n, sizeof(cJSON *));
	d.levels = calloc((size_t)d.n * d.n, 1);
	for (uint32_t i = 0; i < d.n && switches != NULL; i++)
		switches[i] = switches_of(s, i);
	if (switches == NULL || d.levels == NULL || !fill(&d, switches))
		distances_done(&d);
	for (uint32_t i = 0; i < d.n && switches != NULL; i++)
		cJSON_Delete(switches[i]);
	free(switches);
	return d;
}

void distances_done(struct distances *d)
{
	free(d->levels);
	d->levels = NULL;
	d->most = 1;
}

/* ---- cost ---- */

/* Blocking sends of one kind (within nodes, between nodes), and the sums that a fit of their time to number and bytes
 * needs: each signature is a point, weighed by its calls. */
struct sends {
	double calls, bytes, ns;
	double bytes2, bytes_ns; /* of single messages */
};

struct cost {
	struct sends within, between;
	double all_ns, between_ns; /* of all calls that move messages; part of those between nodes */
};

static void add_send(struct sends *s, const struct sig *sig, double ns)
{
	double n = (double)sig->calls, size = (double)sig->bytes;
	s->calls += n;
	s->bytes += n * size;
	s->ns += ns;
	s->bytes2 += n * size * size;
	s->bytes_ns += size * ns;
}

/* The share of a rank's bytes that goes to other nodes or comes from there: of its calls that name no partner. */
static double *shares_between(const struct analysis *a)
{
	const struct traffic *traffic[2] = {&a->p2p, &a->rma};
	double *sums = calloc(2 * (size_t)a->step->nranks + 1, sizeof(*sums));
	for (unsigned k = 0; k < 2 && sums != NULL; k++)
		for (size_t i = 0; i < traffic[k]->links.n; i++) {
			const struct link *x = &traffic[k]->links.at[i];
			bool between = a->step->ranks[x->src]->node != a->step->ranks[x->dst]->node;
			for (unsigned end = 0; end < 2; end++) {
				double *sum = &sums[2 * (size_t)(end == 0 ? x->src : x->dst)];
				sum[0] += (double)x->bytes;
				sum[1] += between ? (double)x->bytes : 0;
			}
		}
	for (uint32_t r = 0; r < a->step->nranks && sums != NULL; r++)
		sums[r] = sums[2 * (size_t)r] > 0 ? sums[2 * (size_t)r + 1] / sums[2 * (size_t)r] : 0;
	return sums;
}

static bool moves(const struct sig *sig)
{
	return sig->class == MPIX_P2P || sig->class == MPIX_RMA ||
	       (sig->class == MPIX_WAIT && (sig->call.flags & SIG_POLLS) == 0);
}

static void add_sig(const struct analysis *a, const struct process *p, const struct sig *sig, double share,
		    struct cost *c)
{
	const struct step *s = a->step;
	double ns = (double)sig->ticks * p->ns_per_tick;
	bool one_way = sig->defined && (sig->call.shape == SIG_SEND || sig->call.shape == SIG_RECV) && sig->peer >= 0 &&
		       (uint32_t)sig->peer < s->nranks;
	c->all_ns += ns;
	if (!one_way) {
		c->between_ns += ns * share;
		return;
	}
	bool between = s->ranks[sig->peer]->node != p->node;
	c->between_ns += between ? ns : 0;
	if (sig->call.shape == SIG_SEND && (sig->call.flags & SIG_STARTS_REQUEST) == 0 && sig->calls > 0)
		add_send(between ? &c->between : &c->within, sig, ns);
}

/* Least squares of a send's time within a node: ns = first + per_byte * bytes, neither below 0. */
static void fit(const struct sends *s, double *ret_first, double *ret_per_byte)
{
	double spread = s->bytes2 * s->calls - s->bytes * s->bytes;
	double slope = spread > 1e-6 * s->bytes2 * s->calls ? (s->bytes_ns * s->calls - s->bytes * s->ns) / spread : -1;
	double first = (s->ns - slope * s->bytes) / s->calls;
	if (slope < 0 || first < 0) { /* one size, or noise: by the byte, from the origin */
		slope = s->bytes > 0 ? s->ns / s->bytes : 0;
		first = s->bytes > 0 ? 0 : s->ns / s->calls;
	}
	*ret_first = first;
	*ret_per_byte = slope;
}

/* What sends between nodes would take within one, as a share of what they took, 0 to 1. */
static double share_within(const struct cost *c, bool *ret_measured)
{
	const struct sends *in = &c->within, *out = &c->between;
	double first, per_byte;
	*ret_measured = false;
	if (in->calls < 1 || out->calls < 1 || !(out->ns > 0))
		return 0;
	double size_in = in->bytes / in->calls + 1, size_out = out->bytes / out->calls + 1;
	if (size_in * SIZES_APART_MAX < size_out || size_out * SIZES_APART_MAX < size_in)
		return 0;
	fit(in, &first, &per_byte);
	*ret_measured = true;
	return fmin(1, (first * out->calls + per_byte * out->bytes) / out->ns);
}

double placement_cost(const struct analysis *a, bool *ret_measured)
{
	struct cost c = {.all_ns = 0};
	double *shares = shares_between(a);
	*ret_measured = false;
	for (uint32_t r = 0; r < a->step->nranks && shares != NULL; r++) {
		const struct process *p = a->step->ranks[r];
		for (size_t i = 0; i < p->sigs.n; i++)
			if (moves(&p->sigs.at[i]))
				add_sig(a, p, &p->sigs.at[i], shares[r], &c);
	}
	free(shares);
	/* Waiting is in no call's total, so it is taken from all of them alike. */
	double waited = (double)(a->tally.waits.total_ns[LATE_SENDER] + a->tally.waits.total_ns[LATE_RECEIVER] +
				 a->tally.waits.total_ns[LATE_PROGRESS]);
	double left = c.all_ns > waited ? 1 - waited / c.all_ns : 0;
	return c.between_ns * left * (1 - share_within(&c, ret_measured)) / 1e9;
}
