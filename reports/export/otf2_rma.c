/* otf2_rma.c - one-sided calls as OTF2's RMA records. Each transfer has a number of its own; what completes it here,
 * and at its target, follows from the synchronisations that the same thread makes on the window (MPI 4.0, section
 * 12.5). */
#include "reports/export/otf2.h"

/* ---- locks and groups ---- */

struct wanted_group {
	const struct otf2 *o;
	const uint32_t *members;
	uint32_t n;
};

static bool same_group(const void *context, uint32_t at)
{
	const struct wanted_group *w = context;
	const struct otf2_group *g = &w->o->groups.at[at];
	return g->n == w->n && memcmp(w->o->members.at + g->first, w->members, w->n * sizeof(*w->members)) == 0;
}

/* The members that stand last become a group, or are one that is known. */
static int group_of(struct otf2 *o, uint32_t first, uint32_t *ret_group)
{
	uint32_t n = (uint32_t)o->members.n - first;
	struct wanted_group want = {o, o->members.at + first, n};
	uint64_t hash = index_hash(INDEX_SEED, want.members, n * sizeof(*want.members));
	*ret_group = index_find(&o->group_index, hash, same_group, &want);
	if (*ret_group != INDEX_NONE) {
		o->members.n = first;
		return 0;
	}
	*ret_group = (uint32_t)o->groups.n;
	return vec_push(&o->groups, (struct otf2_group){first, n}) < 0 ? -ENOMEM
								       : index_add(&o->group_index, hash, *ret_group);
}

static int keep_sync(void *context, const struct mpix_sync *sync)
{
	struct otf2 *o = context;
	struct otf2_sync kept = {sync->rank, sync->signature, sync->lock, DEFINITION_NONE};
	uint32_t first = (uint32_t)o->members.n;
	for (uint32_t i = 0; i < sync->nruns; i++)
		for (uint32_t k = 0; k < sync->runs[i].count; k++)
			if (vec_push(&o->members, sync->runs[i].first + (uint32_t)sync->runs[i].stride * k) < 0)
				return -ENOMEM;
	if (sync->nruns > 0 && group_of(o, first, &kept.group) < 0)
		return -ENOMEM;
	return vec_push(&o->syncs, kept);
}

int otf2_rma_begin(struct exporting *x)
{
	return mpix_each_sync(x->f, keep_sync, x->state, x->e);
}

void otf2_rma_done(struct exporting *x)
{
	struct otf2 *o = x->state;
	for (uint32_t i = 0; o->lanes != NULL && i < x->info->lanes; i++)
		otf2_lane_done(&o->lanes[i]);
	free(o->lanes);
	vec_done(&o->syncs);
	vec_done(&o->groups);
	vec_done(&o->members);
	index_done(&o->group_index);
}

static int by_signature(const void *a, const void *b)
{
	const struct otf2_sync *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->signature > y->signature) - (x->signature < y->signature);
}

/* NULL: nothing is known of it. */
static const struct otf2_sync *sync_of(const struct otf2_call *a)
{
	const struct otf2 *o = a->x->state;
	struct otf2_sync want = {.rank = a->ev->rank, .signature = a->ev->call->signature};
	return o->syncs.n == 0 ? NULL : bsearch(&want, o->syncs.at, o->syncs.n, sizeof(want), by_signature);
}

/* ---- windows ---- */

/* Windows: object - 1. */
static bool names_window(const struct otf2_call *a)
{
	return a->ev->call->object != 0 && a->ev->call->object <= a->x->defs.windows.n;
}

/* The target's rank on the window; OTF2_UNDEFINED_UINT32: all. */
static uint32_t remote_of(const struct otf2_call *a)
{
	uint32_t remote = OTF2_UNDEFINED_UINT32;
	if (a->ev->call->peer >= 0)
		otf2_comm_of(a->x, a->ev->call->comm, (uint32_t)a->ev->call->peer, &remote);
	return remote;
}

/* NULL without memory. */
static struct otf2_window *window_of(const struct otf2_call *a)
{
	struct otf2_lane *l = &((struct otf2 *)a->x->state)->lanes[a->ev->lane];
	uint32_t id = a->ev->call->object - 1;
	for (size_t i = 0; i < l->windows.n; i++)
		if (l->windows.at[i].id == id)
			return &l->windows.at[i];
	struct otf2_window fresh = {.id = id, .access = DEFINITION_NONE, .exposure = DEFINITION_NONE};
	return vec_push(&l->windows, fresh) < 0 ? NULL : &l->windows.at[l->windows.n - 1];
}

static void forget_window(const struct otf2_call *a)
{
	struct otf2_lane *l = &((struct otf2 *)a->x->state)->lanes[a->ev->lane];
	for (size_t i = 0; i < l->windows.n; i++)
		if (l->windows.at[i].id == a->ev->call->object - 1) {
			vec_done(&l->windows.at[i].transfers);
			l->windows.at[i] = l->windows.at[--l->windows.n];
			return;
		}
}

/* ---- transfers ---- */

/* What goes nowhere, to MPI_PROC_NULL, is no transfer. */
static OTF2_ErrorCode put_transfer(const struct otf2_call *a)
{
	const struct mpix_event *call = a->ev->call;
	struct otf2 *o = a->x->state;
	uint32_t window = call->object - 1, remote = remote_of(a);
	uint64_t id = ++o->matching;
	struct otf2_window *w = window_of(a);
	if (w == NULL || (call->peer >= 0 && vec_push(&w->transfers, (struct otf2_transfer){id, remote, false}) < 0))
		return OTF2_ERROR_MEM_ALLOC_FAILED;
	switch (a->kind.does) {
	case OP_PUT:
		return OTF2_EvtWriter_RmaPut(a->w, NULL, a->start, window, remote, call->bytes, id);
	case OP_GET:
		return OTF2_EvtWriter_RmaGet(a->w, NULL, a->start, window, remote, call->bytes, id);
	case OP_ACCUMULATE:
		return OTF2_EvtWriter_RmaAtomic(a->w, NULL, a->start, window, remote, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE,
						call->bytes, 0, id);
	default:
		return OTF2_EvtWriter_RmaAtomic(a->w, NULL, a->start, window, remote,
						OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE,
						call->bytes - call->came_bytes, call->came_bytes, id);
	}
}

/* Transfers to one target, or to all, are complete: here only, or at the target too, which includes that. */
static OTF2_ErrorCode complete(const struct otf2_call *a, bool remotely, bool forget)
{
	struct otf2_window *w = window_of(a);
	uint32_t remote = remote_of(a);
	OTF2_ErrorCode rc = OTF2_SUCCESS;
	size_t kept = 0;
	if (w == NULL)
		return OTF2_ERROR_MEM_ALLOC_FAILED;
	for (size_t i = 0; i < w->transfers.n && rc == OTF2_SUCCESS; i++) {
		struct otf2_transfer *t = &w->transfers.at[i];
		bool meant = remote == OTF2_UNDEFINED_UINT32 || t->remote == remote;
		if (meant && remotely)
			rc = OTF2_EvtWriter_RmaOpCompleteRemote(a->w, NULL, a->end, w->id, t->matching);
		else if (meant && !t->local)
			rc = OTF2_EvtWriter_RmaOpCompleteBlocking(a->w, NULL, a->end, w->id, t->matching);
		t->local |= meant;
		if (!meant || !forget)
			w->transfers.at[kept++] = *t;
	}
	w->transfers.n = kept;
	return rc;
}

struct otf2_started otf2_rma_started(const struct otf2_call *a)
{
	const struct otf2 *o = a->x->state;
	if (!names_window(a) || a->kind.does < OP_PUT || a->kind.does > OP_FETCH)
		return (struct otf2_started){.kind = OTF2_STARTED_NOTHING};
	return (struct otf2_started){
		.kind = OTF2_STARTED_RMA, .object = a->ev->call->object - 1, .matching = o->matching};
}

static int by_matching(const void *a, const void *b)
{
	const struct otf2_transfer *x = a, *y = b;
	return (x->matching > y->matching) - (x->matching < y->matching);
}

OTF2_ErrorCode otf2_rma_completed(const struct otf2_call *a, const struct otf2_started *s)
{
	struct otf2_lane *l = &((struct otf2 *)a->x->state)->lanes[a->ev->lane];
	struct otf2_transfer want = {.matching = s->matching}, *t = NULL;
	for (size_t i = 0; i < l->windows.n; i++)
		if (l->windows.at[i].id == s->object && l->windows.at[i].transfers.n > 0)
			t = bsearch(&want, l->windows.at[i].transfers.at, l->windows.at[i].transfers.n, sizeof(want),
				    by_matching);
	if (t == NULL || t->local) /* a synchronisation said so before */
		return OTF2_SUCCESS;
	t->local = true;
	return OTF2_EvtWriter_RmaOpCompleteNonBlocking(a->w, NULL, a->end, s->object, s->matching);
}

/* ---- synchronisations ---- */

static OTF2_ErrorCode put_group(const struct otf2_call *a, OTF2_RmaSyncLevel level, uint32_t group)
{
	if (group == DEFINITION_NONE)
		return otf2_left_out(a);
	return OTF2_EvtWriter_RmaGroupSync(a->w, NULL, a->end, level, a->ev->call->object - 1,
					   otf2_first_group(a->x) + group);
}

/* Post and Start open epochs, Complete and Wait close them. */
static OTF2_ErrorCode put_epoch(const struct otf2_call *a)
{
	const struct otf2_sync *sync = sync_of(a);
	uint32_t group = sync != NULL ? sync->group : DEFINITION_NONE;
	struct otf2_window *w = window_of(a);
	if (w == NULL)
		return OTF2_ERROR_MEM_ALLOC_FAILED;
	OTF2_RmaSyncLevel both = OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY;
	switch (a->kind.does) {
	case OP_POST:
		w->exposure = group;
		return put_group(a, OTF2_RMA_SYNC_LEVEL_NONE, group);
	case OP_START:
		w->access = group;
		return put_group(a, OTF2_RMA_SYNC_LEVEL_PROCESS, group);
	case OP_COMPLETE:
		group = w->access;
		w->access = DEFINITION_NONE;
		break;
	default:
		group = w->exposure;
		w->exposure = DEFINITION_NONE;
		break;
	}
	OTF2_ErrorCode rc = a->kind.does == OP_COMPLETE ? complete(a, false, true) : OTF2_SUCCESS;
	return rc == OTF2_SUCCESS ? put_group(a, both, group) : rc;
}

static OTF2_ErrorCode put_lock(const struct otf2_call *a)
{
	const struct otf2_sync *sync = sync_of(a);
	if (sync == NULL || sync->lock == MPIX_LOCK_NONE)
		return otf2_left_out(a);
	return OTF2_EvtWriter_RmaRequestLock(a->w, NULL, a->start, a->ev->call->object - 1, remote_of(a), 0,
					     sync->lock == MPIX_LOCK_EXCLUSIVE ? OTF2_LOCK_EXCLUSIVE
									       : OTF2_LOCK_SHARED);
}

static OTF2_ErrorCode put_unlock(const struct otf2_call *a)
{
	OTF2_ErrorCode rc = complete(a, true, true);
	return rc == OTF2_SUCCESS
		       ? OTF2_EvtWriter_RmaReleaseLock(a->w, NULL, a->end, a->ev->call->object - 1, remote_of(a), 0)
		       : rc;
}

static OTF2_ErrorCode put_collective(const struct otf2_call *a, OTF2_CollectiveOp op)
{
	bool barrier = op == OTF2_COLLECTIVE_OP_BARRIER;
	return OTF2_EvtWriter_RmaCollectiveEnd(a->w, NULL, a->end, op,
					       barrier ? OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY
						       : OTF2_RMA_SYNC_LEVEL_PROCESS,
					       a->ev->call->object - 1, OTF2_UNDEFINED_UINT32, 0, 0);
}

static OTF2_ErrorCode put_created(const struct otf2_call *a)
{
	OTF2_ErrorCode rc = OTF2_EvtWriter_RmaWinCreate(a->w, NULL, a->end, a->ev->call->object - 1);
	if (rc != OTF2_SUCCESS)
		return rc;
	return put_collective(a, a->kind.does == OP_WIN_ALLOCATE ? OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE
								 : OTF2_COLLECTIVE_OP_CREATE_HANDLE);
}

static OTF2_ErrorCode put_freed(const struct otf2_call *a)
{
	uint32_t window = a->ev->call->object - 1;
	const char *by = json_text(definition(&a->x->defs.windows, window), "created_by", "");
	bool allocated = op_kind_of(by).does == OP_WIN_ALLOCATE;
	OTF2_ErrorCode rc = OTF2_EvtWriter_RmaWinDestroy(a->w, NULL, a->end, window);
	forget_window(a);
	if (rc != OTF2_SUCCESS)
		return rc;
	return put_collective(a, allocated ? OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE
					   : OTF2_COLLECTIVE_OP_DESTROY_HANDLE);
}

static OTF2_ErrorCode put_fence(const struct otf2_call *a)
{
	OTF2_ErrorCode rc = complete(a, true, true);
	return rc == OTF2_SUCCESS ? put_collective(a, OTF2_COLLECTIVE_OP_BARRIER) : rc;
}

/* With memory: of a target, or with Win_sync of the rank itself. */
static OTF2_ErrorCode put_memory_sync(const struct otf2_call *a, uint32_t remote)
{
	if (remote == OTF2_UNDEFINED_UINT32)
		return OTF2_SUCCESS;
	return OTF2_EvtWriter_RmaSync(a->w, NULL, a->end, a->ev->call->object - 1, remote, OTF2_RMA_SYNC_TYPE_MEMORY);
}

OTF2_ErrorCode otf2_rma_start(const struct otf2_call *a)
{
	if (!names_window(a))
		return otf2_left_out(a);
	switch (a->kind.does) {
	case OP_PUT:
	case OP_GET:
	case OP_ACCUMULATE:
	case OP_FETCH:
		return put_transfer(a);
	case OP_LOCK:
	case OP_LOCK_ALL:
		return put_lock(a);
	case OP_FENCE:
	case OP_WIN_CREATE:
	case OP_WIN_ALLOCATE:
	case OP_WIN_FREE:
		return OTF2_EvtWriter_RmaCollectiveBegin(a->w, NULL, a->start);
	default:
		return OTF2_SUCCESS;
	}
}

OTF2_ErrorCode otf2_rma_end(const struct otf2_call *a)
{
	OTF2_ErrorCode rc;
	uint32_t own;
	if (!names_window(a))
		return OTF2_SUCCESS;
	switch (a->kind.does) {
	case OP_WIN_CREATE:
	case OP_WIN_ALLOCATE:
		return put_created(a);
	case OP_WIN_FREE:
		return put_freed(a);
	case OP_FENCE:
		return put_fence(a);
	case OP_WAIT_WINDOW: /* an unsuccessful test closes nothing */
		return (a->ev->call->flags & MPIX_POLLS) != 0 ? OTF2_SUCCESS : put_epoch(a);
	case OP_POST:
	case OP_START:
	case OP_COMPLETE:
		return put_epoch(a);
	case OP_UNLOCK:
	case OP_UNLOCK_ALL:
		return put_unlock(a);
	case OP_FLUSH:
		rc = complete(a, true, true);
		return rc == OTF2_SUCCESS ? put_memory_sync(a, remote_of(a)) : rc;
	case OP_FLUSH_LOCAL:
		return complete(a, false, false);
	case OP_WIN_SYNC:
		otf2_comm_of(a->x, a->ev->call->comm, a->ev->rank, &own);
		return put_memory_sync(a, own);
	default:
		return OTF2_SUCCESS;
	}
}
