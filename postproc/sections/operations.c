/* operations.c - "operations": calls, time and bytes by MPI function, exact from the totals; bytes.h says what
 * bytes are. */
#include "postproc/analysis.h"

struct op_total {
	uint32_t op;
	uint64_t calls, bytes;
	double ns;
};

static int by_time(const void *a, const void *b)
{
	const struct op_total *x = a, *y = b;
	return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : (x->op > y->op) - (x->op < y->op);
}

static void add_process(struct op_total *totals, const struct process *p)
{
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		if (sig->op == NONE)
			continue;
		struct op_total *t = &totals[sig->op];
		t->calls += sig->calls;
		t->ns += (double)sig->ticks * p->ns_per_tick;
		t->bytes += sig->moved_bytes;
	}
}

int analysis_operations(struct analysis *a)
{
	const struct step *s = a->step;
	struct op_total *totals = calloc(s->ops.n + 1, sizeof(*totals));
	if (totals == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->ops.n; i++)
		totals[i].op = i;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			add_process(totals, s->ranks[r]);
	qsort(totals, s->ops.n, sizeof(*totals), by_time);
	cJSON *list = json_array(a->root, "operations");
	for (size_t i = 0; i < s->ops.n; i++) {
		if (totals[i].calls == 0)
			continue;
		cJSON *row = json_row(list);
		json_put_text(row, "op", s->ops.at[totals[i].op]);
		json_put(row, "calls", (double)totals[i].calls);
		json_put(row, "time_s", totals[i].ns / 1e9);
		json_put(row, "bytes", (double)totals[i].bytes);
	}
	free(totals);
	return 0;
}
