/* requests.c - see requests.h. */
#include "postproc/requests.h"

struct request *requests_start(struct requests *r, uint32_t thread)
{
	struct request fresh = {.send = NONE, .recv = NONE, .coll = NONE, .sig = NONE};
	if (vec_reach(&r->threads, thread) < 0 || vec_push(&r->threads.at[thread].list, fresh) < 0)
		return NULL;
	return &r->threads.at[thread].list.at[r->threads.at[thread].list.n - 1];
}

static uint64_t count(const struct requests *r, uint32_t thread)
{
	return thread < r->threads.n ? r->threads.at[thread].list.n : 0;
}

static struct request *find(struct requests *r, uint32_t thread, uint64_t serial)
{
	if (serial >= count(r, thread))
		return NULL;
	return &r->threads.at[thread].list.at[serial];
}

/* Serial of the first request of a run. A hostile value wraps around and is not found. */
static uint64_t first_serial(const struct requests *r, uint32_t thread, const struct sig_run *run)
{
	return run->absolute || run->other_thread ? run->value : count(r, thread) - run->value;
}

int requests_visit(struct requests *r, uint32_t thread, const struct sig_call *call,
		   int (*visit)(void *context, uint32_t i, struct request *request), void *context)
{
	struct sig_run run;
	uint32_t index = 0, i = 0;
	int code = 0;
	while (code == 0 && sig_next_run(call, &index, &run) == 1) {
		uint32_t owner = run.other_thread ? run.thread : thread;
		uint64_t first = first_serial(r, thread, &run), known = count(r, owner);
		for (uint32_t k = 0; k < run.count && k <= known && code == 0; k++)
			code = visit(context, i++, find(r, owner, run.descending ? first - k : first + k));
	}
	return code;
}

void requests_done(struct requests *r)
{
	for (size_t i = 0; i < r->threads.n; i++)
		vec_done(&r->threads.at[i].list);
	vec_done(&r->threads);
}
