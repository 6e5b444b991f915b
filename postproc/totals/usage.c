/* usage.c - see usage.h. In: SAMPLE blocks.  Out: sums. */
#include "postproc/totals/usage.h"
#include "base/json.h"
#include "format/mpic_sample.h"

#include <math.h>

#define COUNTED_MIN_NS 1e9

/* Ready and without a processor, so far: a whole sample counts from the start. */
struct thread_sum {
	uint64_t wait_ns;
};

struct of_process {
	const struct process *p; /* NULL: not of the analysed world */
	VEC(struct thread_sum) threads;
};

struct of_node {
	const struct step *s;
	struct usage_totals *u;
	uint32_t node;
	VEC(struct of_process) processes; /* by index in the file */
};

static int find_processes(struct of_node *n)
{
	for (uint32_t r = 0; r < n->s->nranks; r++) {
		const struct process *p = n->s->ranks[r];
		if (p == NULL || p->node != n->node)
			continue;
		if (vec_reach(&n->processes, p->index) < 0)
			return -ENOMEM;
		n->processes.at[p->index].p = p;
	}
	return 0;
}

static void add_memory(struct node_usage *m, const struct mpic_sample_item *item, int64_t realtime_ns)
{
	double used = (double)item->used_bytes;
	if (m->first_ns == 0) {
		m->used_first_bytes = used;
		m->first_ns = realtime_ns;
	}
	m->limit_bytes = (double)item->limit_bytes;
	if (used > m->used_most_bytes) {
		m->used_most_bytes = used;
		m->most_ns = realtime_ns;
	}
}

static int add_system(struct of_process *x, struct rank_usage *r, const struct mpic_sample_item *item, bool whole)
{
	if (item->thread >= x->p->threads.n && item->thread > 0)
		return 0;
	if (vec_reach(&x->threads, item->thread) < 0)
		return -ENOMEM;
	struct thread_sum *t = &x->threads.at[item->thread];
	uint64_t wait_ns = item->system.wait_ns;
	if (whole)
		wait_ns = wait_ns > t->wait_ns ? wait_ns - t->wait_ns : 0;
	t->wait_ns += wait_ns;
	r->off_processor_ns += (double)wait_ns;
	r->threads = fmax(r->threads, item->thread + 1.0);
	r->known = true;
	return 0;
}

static int add_item(struct of_node *n, const struct mpic_sample_item *item, const struct mpic_sample *head)
{
	if (item->type == MPIC_SAMPLE_MEMORY)
		add_memory(&n->u->nodes[n->node], item, head->realtime_ns);
	if (item->type == MPIC_SAMPLE_MEMORY || item->process >= n->processes.n ||
	    n->processes.at[item->process].p == NULL)
		return 0;
	struct of_process *x = &n->processes.at[item->process];
	struct rank_usage *r = &n->u->ranks[x->p->rank];
	switch (item->type) {
	case MPIC_SAMPLE_PROCESS:
		r->resident_max_bytes = fmax(r->resident_max_bytes, (double)item->resident_bytes);
		return 0;
	case MPIC_SAMPLE_SYSTEM:
		return add_system(x, r, item, head->whole);
	case MPIC_SAMPLE_COUNTERS:
		r->cycles += (double)item->counters.cycles;
		r->instructions += (double)item->counters.instructions;
		r->user_ns += (double)item->counters.user_ns;
		return 0;
	default:
		return 0;
	}
}

static int add_sample(struct of_node *n, const struct buf *payload)
{
	struct mpic_sample head;
	struct mpic_sample_reader r;
	struct mpic_sample_item item;
	int code = 0;
	if (mpic_sample_begin(cursor_over(payload->data, payload->len_bytes), &head, &r) < 0)
		return 0;
	while (code == 0 && mpic_sample_next(&r, &item) == 1)
		code = add_item(n, &item, &head);
	return code;
}

static int add_node(struct of_node *n)
{
	_cleanup_buf_ struct buf payload = {0};
	const struct mpic_file *file = &n->s->nodes.at[n->node].file;
	int code = find_processes(n);
	for (size_t i = 0; i < file->nblocks && code == 0; i++) {
		const struct mpic_block *b = &file->blocks[i];
		if (b->kind == MPIC_SAMPLE && b->process == MPIC_NODE && mpic_read(file, b, &payload, NULL) == 0)
			code = add_sample(n, &payload);
	}
	for (size_t i = 0; i < n->processes.n; i++)
		vec_done(&n->processes.at[i].threads);
	vec_done(&n->processes);
	return code;
}

int usage_total(const struct step *s, struct usage_totals *ret_usage)
{
	struct usage_totals u = {.ranks = calloc(s->nranks + 1, sizeof(*u.ranks)),
				 .nodes = calloc(s->nodes.n + 1, sizeof(*u.nodes))};
	int code = u.ranks == NULL || u.nodes == NULL ? -ENOMEM : 0;
	for (uint32_t i = 0; i < s->nodes.n && code == 0; i++) {
		struct of_node n = {.s = s, .u = &u, .node = i};
		code = add_node(&n);
	}
	for (uint32_t r = 0; r < s->nranks && u.counters_absent == NULL; r++)
		if (s->ranks[r] != NULL)
			u.counters_absent = json_text(s->ranks[r]->meta, "counters_absent", NULL);
	if (code < 0)
		usage_totals_done(&u);
	else
		*ret_usage = u;
	return code;
}

void usage_totals_done(struct usage_totals *u)
{
	free(u->ranks);
	free(u->nodes);
	*u = (struct usage_totals){0};
}

double usage_frequency_hz(double cycles, double user_ns)
{
	return cycles > 0 && user_ns >= COUNTED_MIN_NS ? cycles / user_ns * 1e9 : NAN;
}
