/* otf2.c - an OTF2 archive: a location a thread, a region a function of MPI, records of messages, collectives,
 * one-sided calls and files between Enter and Leave. Read by Vampir, Scalasca, otf2-print.
 * What a record means: the OTF2 manual, "OTF2 records". */
#include "reports/export/otf2.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK_MIN (256u << 10) /* OTF2's */
#define CHUNK_MAX (4u << 20)
#define EVENT_BYTES 64u	 /* about, with its messages */
#define MEMBER_BYTES 16u /* of a communicator, at most: a record has to fit in a chunk */

int otf2_check(struct exporting *x, OTF2_ErrorCode code)
{
	if (code == OTF2_SUCCESS)
		return 0;
	return fail(x->e, -EIO, "%s: cannot write: %s; nothing was left behind", x->choice->path,
		    OTF2_Error_GetDescription(code));
}

/* The library would print. */
static OTF2_ErrorCode be_silent(void *context, const char *file, uint64_t line, const char *function,
				OTF2_ErrorCode code, const char *format, va_list list)
{
	(void)context;
	(void)file;
	(void)line;
	(void)function;
	(void)format;
	(void)list;
	return code;
}

static OTF2_FlushType before_flush(void *context, OTF2_FileType type, OTF2_LocationRef location, void *caller,
				   bool final)
{
	(void)context;
	(void)type;
	(void)location;
	(void)caller;
	(void) final;
	return OTF2_FLUSH;
}

/* The library clears a chunk for each location: no larger than it takes. */
static uint64_t chunk_bytes(uint64_t bytes)
{
	return bytes < CHUNK_MIN ? CHUNK_MIN : bytes > CHUNK_MAX ? CHUNK_MAX : bytes;
}

static int open_archive(struct exporting *x)
{
	struct otf2 *o = x->state;
	static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};
	OTF2_Error_RegisterCallback(be_silent, NULL);
	uint64_t events = chunk_bytes(x->expected / x->info->lanes * EVENT_BYTES);
	uint64_t definitions = chunk_bytes(CHUNK_MIN / 2 + (uint64_t)x->info->ranks * MEMBER_BYTES);
	o->archive = OTF2_Archive_Open(x->directory, "traces", OTF2_FILEMODE_WRITE, events, definitions,
				       OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (o->archive == NULL)
		return fail(x->e, -EIO, "%s: cannot begin an archive there", x->choice->path);
	int rc = otf2_check(x, OTF2_Archive_SetFlushCallbacks(o->archive, &flush, NULL));
	if (rc == 0)
		rc = otf2_check(x, OTF2_Archive_SetSerialCollectiveCallbacks(o->archive));
	if (rc == 0)
		rc = otf2_check(x, OTF2_Archive_SetCreator(o->archive, "mpitrace"));
	return rc == 0 ? otf2_check(x, OTF2_Archive_OpenEvtFiles(o->archive)) : rc;
}

static uint32_t find_world(const struct exporting *x)
{
	for (uint32_t i = 0; i < x->defs.comms.n; i++)
		if (x->defs.members[i].n == x->info->ranks && x->defs.members[i].rank_of == NULL)
			return i;
	return x->defs.comms.n; /* one of our own */
}

static int otf2_begin(struct exporting *x)
{
	struct otf2 *o = x->state = calloc(1, sizeof(*o));
	if (o == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	o->shift_ns = x->first_ns < 0 ? -x->first_ns : 0;
	o->world = find_world(x);
	o->writers = calloc(x->info->lanes + 1u, sizeof(OTF2_EvtWriter *));
	o->events = calloc(x->info->lanes + 1u, sizeof(*o->events));
	o->kinds = calloc(x->info->nops + 1u, sizeof(*o->kinds));
	o->lanes = calloc(x->info->lanes + 1u, sizeof(*o->lanes));
	o->attributes = OTF2_AttributeList_New();
	if (o->writers == NULL || o->events == NULL || o->kinds == NULL || o->lanes == NULL || o->attributes == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < x->info->nops; i++)
		o->kinds[i] = op_kind_of(x->info->ops[i]);
	x->counts.left_out_what =
		"persistent and neighbourhood collectives, and operations on files and windows not named, "
		"which are regions only";
	int rc = otf2_rma_begin(x);
	return rc == 0 ? open_archive(x) : rc;
}

/* ---- locations ---- */

/* Lanes before lane stay behind: no events of them come any more. */
static int close_lanes(struct exporting *x, uint32_t lane)
{
	struct otf2 *o = x->state;
	int rc = 0;
	for (; o->group_begin < lane && rc == 0; o->group_begin++) {
		OTF2_EvtWriter *w = o->writers[o->group_begin];
		if (w == NULL) /* readers want a file of each */
			w = OTF2_Archive_GetEvtWriter(o->archive, o->group_begin);
		if (w == NULL)
			return otf2_check(x, OTF2_ERROR_MEM_FAULT);
		OTF2_EvtWriter_GetNumberOfEvents(w, &o->events[o->group_begin]);
		rc = otf2_check(x, OTF2_Archive_CloseEvtWriter(o->archive, w));
		o->writers[o->group_begin] = NULL;
		otf2_lane_done(&o->lanes[o->group_begin]);
	}
	return rc;
}

static OTF2_EvtWriter *writer_of(struct exporting *x, uint32_t lane, uint32_t rank)
{
	struct otf2 *o = x->state;
	uint32_t first, end;
	if (o->writers[lane] != NULL)
		return o->writers[lane];
	mpix_group_ranks(x->f, 0, &first, &end);
	uint32_t group_first = mpix_first_lane(x->f, rank / (end - first) * (end - first));
	if (close_lanes(x, group_first) == 0)
		o->writers[lane] = OTF2_Archive_GetEvtWriter(o->archive, lane);
	return o->writers[lane];
}

/* ---- records ---- */

/* A communicator and a partner's rank in it; what has none of ours is of MPI_COMM_WORLD. */
uint32_t otf2_comm_of(const struct exporting *x, uint32_t comm, uint32_t rank, uint32_t *ret_rank)
{
	const struct otf2 *o = x->state;
	bool inter = comm < x->defs.comms.n && x->defs.members[comm].inter;
	uint32_t in_comm = inter ? DEFINITION_NONE : definitions_comm_rank(&x->defs, comm, rank);
	*ret_rank = in_comm == DEFINITION_NONE ? rank : in_comm;
	return in_comm == DEFINITION_NONE ? o->world : comm;
}

static OTF2_ErrorCode put_start(const struct otf2_call *a, const struct export_note *n)
{
	uint32_t rank, comm = otf2_comm_of(a->x, n->comm, mpix_rank_of_lane(a->x->f, n->other_lane), &rank);
	switch (n->role) {
	case EXPORT_SENDS:
		return OTF2_EvtWriter_MpiSend(a->w, NULL, a->start, rank, comm, (uint32_t)n->tag, n->bytes);
	case EXPORT_SEND_STARTS:
		return OTF2_EvtWriter_MpiIsend(a->w, NULL, a->start, rank, comm, (uint32_t)n->tag, n->bytes,
					       n->message * 2);
	case EXPORT_RECEIVE_STARTS:
		return OTF2_EvtWriter_MpiIrecvRequest(a->w, NULL, a->start, n->message * 2 + 1);
	default:
		return OTF2_SUCCESS;
	}
}

static OTF2_CollectiveOp collective_of(enum op_does does)
{
	static const OTF2_CollectiveOp ops[] = {
		[OP_BARRIER] = OTF2_COLLECTIVE_OP_BARRIER,
		[OP_BCAST] = OTF2_COLLECTIVE_OP_BCAST,
		[OP_GATHER] = OTF2_COLLECTIVE_OP_GATHER,
		[OP_GATHERV] = OTF2_COLLECTIVE_OP_GATHERV,
		[OP_SCATTER] = OTF2_COLLECTIVE_OP_SCATTER,
		[OP_SCATTERV] = OTF2_COLLECTIVE_OP_SCATTERV,
		[OP_ALLGATHER] = OTF2_COLLECTIVE_OP_ALLGATHER,
		[OP_ALLGATHERV] = OTF2_COLLECTIVE_OP_ALLGATHERV,
		[OP_ALLTOALL] = OTF2_COLLECTIVE_OP_ALLTOALL,
		[OP_ALLTOALLV] = OTF2_COLLECTIVE_OP_ALLTOALLV,
		[OP_ALLTOALLW] = OTF2_COLLECTIVE_OP_ALLTOALLW,
		[OP_ALLREDUCE] = OTF2_COLLECTIVE_OP_ALLREDUCE,
		[OP_REDUCE] = OTF2_COLLECTIVE_OP_REDUCE,
		[OP_REDUCE_SCATTER] = OTF2_COLLECTIVE_OP_REDUCE_SCATTER,
		[OP_REDUCE_SCATTER_BLOCK] = OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK,
		[OP_SCAN] = OTF2_COLLECTIVE_OP_SCAN,
		[OP_EXSCAN] = OTF2_COLLECTIVE_OP_EXSCAN,
	};
	return ops[does];
}

/* What the end of a collective says, and where that is. */
static struct otf2_started collective(const struct otf2_call *a)
{
	const struct mpix_event *call = a->ev->call;
	uint32_t rank, size = definitions_comm_size(&a->x->defs, call->comm);
	struct otf2_started s = {.kind = OTF2_STARTED_COLLECTIVE, .root = OTF2_UNDEFINED_UINT32};
	s.object = otf2_comm_of(a->x, call->comm, a->ev->rank, &rank);
	if (call->peer >= 0)
		otf2_comm_of(a->x, call->comm, (uint32_t)call->peer, &s.root);
	s.op = collective_of(a->kind.does);
	s.sent_bytes = op_bytes_sent(a->kind, call->bytes, rank, s.root, size);
	s.received_bytes = call->bytes - s.sent_bytes;
	return s;
}

static OTF2_ErrorCode put_collective(const struct otf2_call *a)
{
	struct otf2_started s = collective(a);
	return OTF2_EvtWriter_MpiCollectiveEnd(a->w, NULL, a->end, s.op, s.object, s.root, s.sent_bytes,
					       s.received_bytes);
}

OTF2_ErrorCode otf2_left_out(const struct otf2_call *a)
{
	a->x->counts.left_out++;
	return OTF2_SUCCESS;
}

/* ---- operations that another call completes ---- */

static OTF2_ErrorCode put_begun(const struct otf2_call *a, const struct export_note *n)
{
	struct otf2 *o = a->x->state;
	struct otf2_started s = {.kind = OTF2_STARTED_NOTHING};
	OTF2_ErrorCode rc = OTF2_SUCCESS;
	if (a->kind.collective && a->kind.does <= OP_EXSCAN) {
		s = collective(a);
		rc = OTF2_EvtWriter_NonBlockingCollectiveRequest(a->w, NULL, a->end, n->message);
	} else if (a->ev->call->class == MPIX_RMA) {
		s = otf2_rma_started(a);
	} else if (a->ev->call->class == MPIX_IO) {
		s = otf2_file_started(a);
	}
	if (s.kind == OTF2_STARTED_NOTHING)
		return otf2_left_out(a);
	s.number = n->message;
	s.lane = a->ev->lane;
	return rc == OTF2_SUCCESS && otf2_started_add(&o->started, &s) < 0 ? OTF2_ERROR_MEM_ALLOC_FAILED : rc;
}

/* What was begun outside of what is exported is not known; what another thread began is not this location's. */
static OTF2_ErrorCode put_completed(const struct otf2_call *a, const struct export_note *n)
{
	struct otf2 *o = a->x->state;
	struct otf2_started s;
	if (!otf2_started_take(&o->started, n->message, &s))
		return OTF2_SUCCESS;
	if (s.lane != a->ev->lane)
		return otf2_left_out(a);
	switch (s.kind) {
	case OTF2_STARTED_COLLECTIVE:
		return OTF2_EvtWriter_NonBlockingCollectiveComplete(a->w, NULL, a->end, s.op, s.object, s.root,
								    s.sent_bytes, s.received_bytes, s.number);
	case OTF2_STARTED_RMA:
		return otf2_rma_completed(a, &s);
	case OTF2_STARTED_FILE:
		return OTF2_EvtWriter_IoOperationComplete(a->w, NULL, a->end, s.object, s.received_bytes, s.matching);
	default:
		return OTF2_SUCCESS;
	}
}

static OTF2_ErrorCode put_end(const struct otf2_call *a, const struct export_note *n)
{
	uint32_t rank, comm = otf2_comm_of(a->x, n->comm, mpix_rank_of_lane(a->x->f, n->other_lane), &rank);
	switch (n->role) {
	case EXPORT_SEND_ENDS:
		return OTF2_EvtWriter_MpiIsendComplete(a->w, NULL, a->end, n->message * 2);
	case EXPORT_RECEIVES:
		return OTF2_EvtWriter_MpiRecv(a->w, NULL, a->end, rank, comm, (uint32_t)n->tag, n->bytes);
	case EXPORT_RECEIVE_ENDS:
		return OTF2_EvtWriter_MpiIrecv(a->w, NULL, a->end, rank, comm, (uint32_t)n->tag, n->bytes,
					       n->message * 2 + 1);
	case EXPORT_BEGINS:
		return put_begun(a, n);
	case EXPORT_COMPLETES:
		return put_completed(a, n);
	default:
		return OTF2_SUCCESS;
	}
}

/* Also fences and other synchronisations, which are of another class. */
static bool is_one_sided(const struct otf2_call *a)
{
	return a->ev->call->class == MPIX_RMA || (a->kind.does >= OP_WIN_CREATE && a->kind.does <= OP_WIN_SYNC);
}

static bool is_blocking_collective(const struct otf2_call *a)
{
	return a->kind.collective && a->kind.blocking && a->kind.does <= OP_EXSCAN;
}

static OTF2_ErrorCode put_starts(const struct otf2_call *a)
{
	OTF2_ErrorCode rc = OTF2_SUCCESS;
	for (uint32_t i = 0; i < a->ev->nnotes && rc == OTF2_SUCCESS; i++)
		rc = put_start(a, &a->ev->notes[i]);
	if (rc == OTF2_SUCCESS && is_blocking_collective(a))
		rc = OTF2_EvtWriter_MpiCollectiveBegin(a->w, NULL, a->start);
	if (rc == OTF2_SUCCESS && is_one_sided(a))
		rc = otf2_rma_start(a);
	if (rc == OTF2_SUCCESS && a->ev->call->class == MPIX_IO)
		rc = otf2_file_start(a);
	return rc;
}

static OTF2_ErrorCode put_ends(const struct otf2_call *a)
{
	OTF2_ErrorCode rc = OTF2_SUCCESS;
	for (uint32_t i = 0; i < a->ev->nnotes && rc == OTF2_SUCCESS; i++)
		rc = put_end(a, &a->ev->notes[i]);
	if (rc == OTF2_SUCCESS && is_blocking_collective(a))
		rc = put_collective(a);
	if (rc == OTF2_SUCCESS && is_one_sided(a))
		rc = otf2_rma_end(a);
	if (rc == OTF2_SUCCESS && a->ev->call->class == MPIX_IO)
		rc = otf2_file_end(a);
	return rc;
}

static OTF2_ErrorCode put_enter(const struct otf2_call *a)
{
	struct otf2 *o = a->x->state;
	const struct mpix_event *call = a->ev->call;
	if (call->callsite < a->x->defs.callsites.n)
		OTF2_AttributeList_AddSourceCodeLocationRef(o->attributes, OTF2_CALLSITE, call->callsite);
	if (call->wait_ns > 0)
		OTF2_AttributeList_AddUint64(o->attributes, OTF2_WAIT, (uint64_t)call->wait_ns);
	if (call->calls != 1)
		OTF2_AttributeList_AddUint64(o->attributes, OTF2_POLLS, call->calls);
	if (opens_has(call))
		OTF2_AttributeList_AddUint64(o->attributes, OTF2_OPEN_CALL, 1);
	return OTF2_EvtWriter_Enter(a->w, o->attributes, a->start, call->op); /* empties the list */
}

static int otf2_event(struct exporting *x, const struct export_event *ev)
{
	struct otf2 *o = x->state;
	const struct mpix_event *call = ev->call;
	struct otf2_call a = {.x = x,
			      .ev = ev,
			      .w = writer_of(x, ev->lane, ev->rank),
			      .start = (uint64_t)(call->start_ns + o->shift_ns),
			      .end = (uint64_t)(call->end_ns + o->shift_ns),
			      .kind = o->kinds[call->op]};
	if (a.w == NULL)
		return otf2_check(x, OTF2_ERROR_MEM_FAULT);
	if (opens_has(call) && a.start < o->lanes[ev->lane].until) /* OTF2 wants order */
		a.start = o->lanes[ev->lane].until;
	if (a.end < a.start)
		a.end = a.start;
	o->lanes[ev->lane].until = a.end;
	OTF2_ErrorCode rc = put_enter(&a);
	if (rc == OTF2_SUCCESS && !opens_has(call)) /* else what it was to do did not come about */
		rc = put_starts(&a);
	if (rc == OTF2_SUCCESS && !opens_has(call))
		rc = put_ends(&a);
	if (rc == OTF2_SUCCESS)
		rc = OTF2_EvtWriter_Leave(a.w, NULL, a.end, call->op);
	return otf2_check(x, rc);
}

/* ---- the end ---- */

/* A file of definitions of each location, which has none of its own. */
static int write_local_definitions(struct exporting *x)
{
	struct otf2 *o = x->state;
	int rc = otf2_check(x, OTF2_Archive_OpenDefFiles(o->archive));
	for (uint32_t i = 0; i < x->info->lanes && rc == 0; i++) {
		OTF2_DefWriter *w = OTF2_Archive_GetDefWriter(o->archive, i);
		rc = otf2_check(x, w != NULL ? OTF2_Archive_CloseDefWriter(o->archive, w) : OTF2_ERROR_MEM_FAULT);
	}
	return rc == 0 ? otf2_check(x, OTF2_Archive_CloseDefFiles(o->archive)) : rc;
}

static int otf2_end(struct exporting *x)
{
	struct otf2 *o = x->state;
	int rc = close_lanes(x, x->info->lanes);
	if (rc == 0)
		rc = otf2_check(x, OTF2_Archive_CloseEvtFiles(o->archive));
	if (rc == 0)
		rc = write_local_definitions(x);
	if (rc == 0)
		rc = otf2_define(x);
	if (rc < 0)
		return rc;
	rc = otf2_check(x, OTF2_Archive_Close(o->archive));
	o->archive = NULL;
	return rc;
}

static void otf2_done(struct exporting *x)
{
	struct otf2 *o = x->state;
	if (o == NULL)
		return;
	if (o->archive != NULL)
		OTF2_Archive_Close(o->archive);
	OTF2_AttributeList_Delete(o->attributes);
	otf2_rma_done(x);
	otf2_started_done(&o->started);
	free(o->writers);
	free(o->events);
	free(o->kinds);
	free(o);
}

const struct export_format export_otf2 = {.name = "otf2",
					  .directory = true,
					  .roles = EXPORT_ENDS | EXPORT_OPERATIONS | EXPORT_ROLE(EXPORT_WAITS),
					  .begin = otf2_begin,
					  .event = otf2_event,
					  .end = otf2_end,
					  .done = otf2_done};
