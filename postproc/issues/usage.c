/* usage.c - issues about what the nodes gave the ranks: memory up to the limit, a processor clock below the others'.
 * In: what was sampled while the step ran (totals/usage.h). */
#include "base/sort.h"
#include "postproc/issues/issues.h"
#include "postproc/read/exits.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define NEARLY_FULL 0.9
#define FULL_SEVERITY 0.3
#define KILLED_SEVERITY 0.99
#define SLOWER 0.9

/* ---- memory ---- */

static bool was_killed(const struct process *p)
{
	return p != NULL && p->have_exit && WIFSIGNALED(p->exit_status) && WTERMSIG(p->exit_status) == SIGKILL;
}

static double fullness(const struct node_usage *n)
{
	return n->limit_bytes > 0 ? n->used_most_bytes / n->limit_bytes : 0;
}

/* Nobody else ended them: neither who stopped the job, nor whoever ended all ranks in one way. */
static bool may_lack_memory(const struct step *s)
{
	bool one_way = s->nranks > 1;
	for (uint32_t r = 0; r < s->nranks; r++)
		one_way &= was_killed(s->ranks[r]);
	return s->outcome.state == OUTCOME_OUT_OF_MEMORY || (!one_way && !outcome_is_stop(&s->outcome));
}

/* The ranks of nodes that were nearly full; the killed among them, plus 1, or 0. */
static uint32_t name_ranks(const struct analysis *a, struct issue *f)
{
	uint32_t killed = 0;
	bool may = may_lack_memory(a->step);
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		if (p == NULL || fullness(&a->usage.nodes[p->node]) < NEARLY_FULL)
			continue;
		issue_add_rank(f, r);
		if (may && was_killed(p) && killed == 0)
			killed = r + 1;
	}
	return killed;
}

static uint32_t largest_on(const struct analysis *a, uint32_t node)
{
	uint32_t largest = NONE;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (a->step->ranks[r] != NULL && a->step->ranks[r]->node == node &&
		    (largest == NONE ||
		     a->usage.ranks[r].resident_max_bytes > a->usage.ranks[largest].resident_max_bytes))
			largest = r;
	return largest;
}

static void name_memory(const struct analysis *a, uint32_t fullest, uint32_t nodes, struct issue *f)
{
	const struct node_usage *n = &a->usage.nodes[fullest];
	char more[64] = "", largest[128] = "", rank[32], used[32], limit[32], at_first[32];
	uint32_t most = largest_on(a, fullest);
	if (nodes > 1)
		snprintf(more, sizeof(more), " So had %u more node%s.", nodes - 1, nodes == 2 ? "" : "s");
	if (most != NONE && a->usage.ranks[most].resident_max_bytes > 0)
		snprintf(largest, sizeof(largest), " The largest rank there, %u, had %s.", most,
			 bytes_text(a->usage.ranks[most].resident_max_bytes, rank));
	snprintf(f->what, sizeof(f->what),
		 "On node %.64s the job had %s of the %s of memory that it may have, %.0f %%; at the first sample it "
		 "was %s.%s%s",
		 a->step->nodes.at[fullest].name, bytes_text(n->used_most_bytes, used),
		 bytes_text(n->limit_bytes, limit), 100 * fullness(n), bytes_text(n->used_first_bytes, at_first),
		 largest, more);
	snprintf(f->next, sizeof(f->next),
		 "Ask for more (srun --mem or --mem-per-cpu), use more nodes, or see what grows: buffers of messages "
		 "that wait to be received, requests and communicators that are never freed, the program's own data.");
	f->metric = "memory used of what the job may have on a node";
	f->value = fullness(n);
	f->threshold = NEARLY_FULL;
}

/* Nodes that were nearly full. Returns the killed rank on them plus 1, or 0. */
static uint32_t find_full(const struct analysis *a, struct issue *f, uint32_t *ret_nodes)
{
	uint32_t fullest = 0, nodes = 0;
	for (uint32_t i = 0; i < a->step->nodes.n; i++) {
		nodes += fullness(&a->usage.nodes[i]) >= NEARLY_FULL;
		if (fullness(&a->usage.nodes[i]) > fullness(&a->usage.nodes[fullest]))
			fullest = i;
	}
	*ret_nodes = nodes;
	if (nodes == 0)
		return 0;
	name_memory(a, fullest, nodes, f);
	return name_ranks(a, f);
}

void issue_out_of_memory(const struct analysis *a, struct issue *f)
{
	uint32_t nodes, killed = find_full(a, f, &nodes);
	f->found = killed > 0;
	f->severity = KILLED_SEVERITY;
	snprintf(
		f->why, sizeof(f->why),
		"Rank %u there was ended by SIGKILL, as the kernel ends one where the limit is reached and nothing can "
		"be taken back. The others end with it.",
		killed - 1);
}

void issue_memory_limit(const struct analysis *a, struct issue *f)
{
	uint32_t nodes, killed = find_full(a, f, &nodes);
	f->found = nodes > 0 && killed == 0;
	f->severity = FULL_SEVERITY;
	snprintf(f->why, sizeof(f->why),
		 "At the limit the kernel first takes back what it keeps of files, so that they are read again, and "
		 "then ends a process, and with it the job. Samples are taken now and then: between two of them it may "
		 "have been more.");
}

/* ---- clock frequency ---- */

/* Of nodes whose frequency is known; 0: of fewer than two. */
static double median_hz(const struct analysis *a)
{
	double *hz = calloc(a->step->nodes.n + 1, sizeof(*hz)), median = 0;
	size_t n = 0;
	for (uint32_t i = 0; hz != NULL && i < a->step->nodes.n; i++) {
		hz[n] = usage_of_node_hz(a, i);
		n += !isnan(hz[n]);
	}
	if (n >= 2) {
		qsort(hz, n, sizeof(*hz), sort_by_double);
		median = hz[n / 2];
	}
	free(hz);
	return median;
}

static void name_slow(const struct analysis *a, uint32_t node, double ratio, struct issue *f)
{
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (a->step->ranks[r] != NULL && a->step->ranks[r]->node == node) {
			issue_add_rank(f, r);
			f->loss_s += a->ranks[r].useful_ns / 1e9 * (1 - ratio);
		}
}

void issue_slow_clock(const struct analysis *a, struct issue *f)
{
	double median = median_hz(a), slowest_hz = median;
	uint32_t slow = 0, slowest = 0;
	char more[64] = "";
	for (uint32_t i = 0; i < a->step->nodes.n && median > 0; i++) {
		double hz = usage_of_node_hz(a, i);
		if (isnan(hz) || hz >= SLOWER * median)
			continue;
		slow++;
		name_slow(a, i, hz / median, f);
		if (hz < slowest_hz) {
			slowest = i;
			slowest_hz = hz;
		}
	}
	f->metric = "a node's clock frequency as a share of the nodes' median";
	f->value = median > 0 ? slowest_hz / median : 1;
	f->threshold = SLOWER;
	f->found = slow > 0;
	if (!f->found)
		return;
	if (slow > 1)
		snprintf(more, sizeof(more), " %u more node%s slow as well.", slow - 1, slow == 2 ? " was" : "s were");
	snprintf(f->what, sizeof(f->what),
		 "Node %.64s ran at %.0f %% of the others' clock frequency: %.2f GHz, their median is %.2f GHz.%s",
		 a->step->nodes.at[slowest].name, 100 * f->value, slowest_hz / 1e9, median / 1e9, more);
	snprintf(
		f->why, sizeof(f->why),
		"Its ranks compute longer for the same work, and the others wait for them. The processor counted these "
		"cycles while the ranks ran in user mode, so it is not that others had the processor. The loss is what "
		"their computing took longer, if it is as fast as the clock.");
	snprintf(f->next, sizeof(f->next),
		 "Tell the administrators: its power limit, temperature and frequency governor (turbostat, cpupower "
		 "frequency-info) against another node's. Leave it out until then: srun --exclude=%.64s.",
		 a->step->nodes.at[slowest].name);
}
