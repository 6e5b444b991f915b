/* analysis.c - the order of work, and the table of parts. */
#include "postproc/analysis.h"
#include "base/progress.h"
#include "postproc/replay.h"

static int (*const parts[])(struct analysis *a) = {
#define ROW(name) part_##name,
	PARTS(ROW)
#undef ROW
};

#define NPARTS (sizeof(parts) / sizeof(parts[0]))

static int compute(struct analysis *a, struct error *e)
{
	int code = clock_to_ns(a->step, e);
	if (code == 0)
		code = ops_replay(a->step, &a->ops);
	if (code == 0)
		code = match_all(a->step, &a->ops, &a->matching);
	if (code == 0)
		code = clock_align(a->step, &a->ops, &a->matching, &a->clock, e);
	if (code == 0)
		code = repair_times(a);
	if (code == 0)
		code = waits_find(a->step, &a->ops, &a->matching, &a->waits);
	if (code == 0)
		code = traffic_p2p(a->step, &a->ops, &a->p2p);
	if (code == 0)
		code = traffic_collective(a->step, &a->ops, &a->coll);
	if (code == 0)
		code = traffic_rma(a->step, &a->rma);
	if (code == 0)
		code = bytes_count(a->step, &a->ops, &a->matching, &a->moved);
	return code == 0 ? ranks_total(a) : code;
}

int analysis_run(struct analysis *a, struct error *e)
{
	struct progress p;
	int code = compute(a, e);
	a->root = cJSON_CreateObject();
	if (code == 0 && a->root == NULL)
		code = -ENOMEM;
	progress_begin(&p, "analysing", NPARTS);
	for (size_t i = 0; i < NPARTS && code == 0; i++) {
		code = parts[i](a);
		progress_at(&p, i);
	}
	progress_end(&p);
	return code == -ENOMEM ? fail(e, code, "out of memory while analysing") : code;
}

void analysis_done(struct analysis *a)
{
	cJSON_Delete(a->root);
	ops_done(&a->ops);
	matching_done(&a->matching);
	waits_done(&a->waits);
	traffic_done(&a->p2p);
	traffic_done(&a->coll);
	traffic_done(&a->rma);
	moved_done(&a->moved);
	free(a->ranks);
	memset(a, 0, sizeof(*a));
}
