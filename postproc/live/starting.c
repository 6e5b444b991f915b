/* starting.c - processes that are inside of MPI_Init, see snapshot.h. In: the files of a step, whose ranks nobody knows
 * yet, or not all.  Out: how many have called it, and since when. */
#include "postproc/live/snapshot.h"

#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH (-ECANCELED) /* what there is to know does not need the step's ranks */

static void add_process(const struct live_process *p, struct starting *x)
{
	if (p->first_ns == 0)
		return;
	x->called++;
	if (!p->seen || p->state != SAMPLE_STARTING)
		return;
	double since = (double)p->first_ns / 1e9;
	x->since = x->inside == 0 || since > x->since ? since : x->since;
	x->inside++;
	for (size_t i = 0; i < p->threads.n; i++)
		x->held |= verdict_holds(&p->threads.at[i]);
}

static int add_node(const struct node *n, struct starting *x)
{
	struct live_node live;
	int code = replay_node(n, &live);
	if (code < 0)
		return code;
	for (size_t i = 0; i < live.processes.n; i++)
		add_process(&live.processes.at[i], x);
	double now = (double)live.realtime_ns / 1e9;
	x->now = now > x->now ? now : x->now;
	if (x->wanted == 0)
		x->wanted = (uint32_t)json_int(n->meta, "ntasks", 0);
	replay_done(&live);
	return 0;
}

static int visit_step(void *context, struct step *s)
{
	struct starting *x = context;
	int code = 0;
	for (size_t i = 0; i < s->nodes.n && code == 0; i++)
		code = add_node(&s->nodes.at[i], x);
	if (code < 0)
		return code;
	x->live_json = live_json_of_job(&s->nodes.at[0], x);
	x->node = strdup(s->nodes.at[0].name);
	return x->live_json != NULL && x->node != NULL ? ENOUGH : -ENOMEM;
}

int snapshot_starting(char *const *paths, size_t npaths, struct starting *ret_x, struct error *e)
{
	struct starting x = {0};
	struct step s;
	struct step_how how = {.loaded = visit_step, .context = &x};
	int code = step_load_with(paths, npaths, &how, &s, e);
	if (code == ENOUGH)
		*ret_x = x;
	else
		starting_done(&x);
	return code == ENOUGH ? 0 : code;
}

void starting_done(struct starting *x)
{
	free(x->live_json);
	free(x->node);
}
