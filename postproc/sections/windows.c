/* windows.c - "windows": one-sided communication by window: who may reach it, what was moved, how it was
 * synchronised. Counts are of all ranks seen, exact from the totals. */
#include "postproc/analysis.h"

#include <math.h>

#define ROWS_MAX 4096u

struct use {
	uint64_t calls[RMA_KINDS];
	uint64_t bytes_to_target, bytes_from_target;
	double ns;
};

static void add_process(struct use *uses, const struct process *p)
{
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		if (!sig->defined || sig->call.shape != SIG_RMA || sig->object == NONE)
			continue;
		struct use *u = &uses[sig->object];
		u->calls[sig->call.rma] += sig->calls;
		if (sig->call.peer != SIG_PROC_NULL) {
			u->bytes_to_target += sig->calls * sig->call.bytes;
			u->bytes_from_target += sig->calls * sig->call.fetched_bytes;
		}
		u->ns += (double)sig->ticks * p->ns_per_tick;
	}
}

static void put_calls(cJSON *row, const struct use *u)
{
	static const char *const names[RMA_KINDS] = {
		[RMA_PUT] = "puts",
		[RMA_GET] = "gets",
		[RMA_ACCUMULATE] = "accumulates",
		[RMA_FETCH] = "fetches",
		[RMA_FENCE] = "fences",
		[RMA_POST] = "posts",
		[RMA_START] = "starts",
		[RMA_LOCK] = "locks",
		[RMA_FLUSH] = "flushes",
		[RMA_FLUSH_LOCAL] = "local_flushes",
	};
	for (int i = 0; i < RMA_KINDS; i++)
		if (names[i] != NULL)
			json_put(row, names[i], (double)u->calls[i]);
}

static void put_window(const struct step *s, cJSON *list, uint32_t id, const struct use *u)
{
	const struct object *o = &s->windows.at[id];
	cJSON *row = json_row(list);
	json_put(row, "id", id);
	json_put_text(row, "name", o->name);
	json_put_null_or(row, "communicator", o->comm == NONE ? NAN : s->comms.at[o->comm].same);
	json_put_text(row, "created_by", o->created_by == NONE ? NULL : s->ops.at[o->created_by]);
	json_put(row, "exposed_bytes", (double)o->bytes);
	put_calls(row, u);
	json_put(row, "bytes_to_target", (double)u->bytes_to_target);
	json_put(row, "bytes_from_target", (double)u->bytes_from_target);
	json_put(row, "time_s", u->ns / 1e9);
}

int analysis_windows(struct analysis *a)
{
	const struct step *s = a->step;
	struct use *uses = calloc(s->windows.n + 1, sizeof(*uses));
	if (uses == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			add_process(uses, s->ranks[r]);
	cJSON *list = json_array(a->root, "windows");
	for (uint32_t i = 0; i < s->windows.n && i < ROWS_MAX; i++)
		put_window(s, list, i, &uses[i]);
	json_put(a->root, "windows_left_out", s->windows.n > ROWS_MAX ? (double)(s->windows.n - ROWS_MAX) : 0);
	free(uses);
	return 0;
}
