/* otf2.c - an OTF2 archive: a location a thread, a region a function of MPI, records of messages, collectives,
 * one-sided calls and files between Enter and Leave. Read by Vampir, Scalasca, otf2-print.
 * What a record means: the OTF2 manual, "OTF2 records". */
#include "export/otf2.h"

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
	int64_t first = mpix_window_start(x->f, 0);
	o->shift_ns = first < 0 ? -first : 0;
	o->world = find_world(x);
	o->writers = calloc(x->info->lanes + 1u, sizeof(OTF2_EvtWriter *));
	o->events = calloc(x->info->lanes + 1u, sizeof(*o->events));
	o->kinds = calloc(x->info->nops + 1u, sizeof(*o->kinds));
	o->attributes = OTF2_AttributeList_New();
	if (o->writers == NULL || o->events == NULL || o->kinds == NULL || o->attributes == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < x->info->nops; i++)
		o->kinds[i] = op_kind_of(x->info->ops[i]);
	x->counts.left_out_what = "one-sided synchronisations, and operations on files and windows not named, which "
				  "are regions only";
	return open_archive(x);
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

struct at {
	struct exporting *x;
	const struct export_event *ev;
	OTF2_EvtWriter *w;
	OTF2_TimeStamp start, end;
	struct op_kind kind;
};

/* A communicator and a partner's rank in it; what has none of ours is of MPI_COMM_WORLD. */
static uint32_t comm_of(const struct exporting *x, uint32_t comm, uint32_t rank, uint32_t *ret_rank)
{
	const struct otf2 *o = x->state;
	bool inter = comm < x->defs.comms.n && x->defs.members[comm].inter;
	uint32_t in_comm = inter ? DEFINITION_NONE : definitions_comm_rank(&x->defs, comm, rank);
	*ret_rank = in_comm == DEFINITION_NONE ? rank : in_comm;
	return in_comm == DEFINITION_NONE ? o->world : comm;
}

static OTF2_ErrorCode put_start(const struct at *a, const struct export_note *n)
{
	uint32_t rank, comm = comm_of(a->x, n->comm, mpix_rank_of_lane(a->x->f, n->other_lane), &rank);
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

static OTF2_ErrorCode put_end(const struct at *a, const struct export_note *n)
{
	uint32_t rank, comm = comm_of(a->x, n->comm, mpix_rank_of_lane(a->x->f, n->other_lane), &rank);
	switch (n->role) {
	case EXPORT_SEND_ENDS:
		return OTF2_EvtWriter_MpiIsendComplete(a->w, NULL, a->end, n->message * 2);
	case EXPORT_RECEIVES:
		return OTF2_EvtWriter_MpiRecv(a->w, NULL, a->end, rank, comm, (uint32_t)n->tag, n->bytes);
	case EXPORT_RECEIVE_ENDS:
		return OTF2_EvtWriter_MpiIrecv(a->w, NULL, a->end, rank, comm, (uint32_t)n->tag, n->bytes,
					       n->message * 2 + 1);
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

static OTF2_ErrorCode put_collective(const struct at *a)
{
	const struct mpix_event *call = a->ev->call;
	const struct definitions *d = &a->x->defs;
	uint32_t rank, root = OTF2_UNDEFINED_UINT32, size = definitions_comm_size(d, call->comm);
	uint32_t comm = comm_of(a->x, call->comm, a->ev->rank, &rank);
	if (call->peer >= 0)
		comm_of(a->x, call->comm, (uint32_t)call->peer, &root);
	uint64_t sent = op_bytes_sent(a->kind, call->bytes, rank, root, size);
	return OTF2_EvtWriter_MpiCollectiveEnd(a->w, NULL, a->end, collective_of(a->kind.does), comm, root, sent,
					       call->bytes - sent);
}

static OTF2_ErrorCode left_out(const struct at *a)
{
	a->x->counts.left_out++;
	return OTF2_SUCCESS;
}

/* What begins with the call. Windows: object - 1. */
static OTF2_ErrorCode put_rma_start(const struct at *a)
{
	const struct mpix_event *call = a->ev->call;
	uint32_t window = call->object - 1, remote = OTF2_UNDEFINED_UINT32;
	if (call->object == 0 || window >= a->x->defs.windows.n)
		return left_out(a);
	if (call->peer >= 0)
		comm_of(a->x, call->comm, (uint32_t)call->peer, &remote);
	uint64_t id = ++((struct otf2 *)a->x->state)->matching;
	switch (a->kind.does) {
	case OP_PUT:
		return OTF2_EvtWriter_RmaPut(a->w, NULL, a->start, window, remote, call->bytes, id);
	case OP_GET:
		return OTF2_EvtWriter_RmaGet(a->w, NULL, a->start, window, remote, call->bytes, id);
	case OP_ACCUMULATE:
		return OTF2_EvtWriter_RmaAtomic(a->w, NULL, a->start, window, remote, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE,
						call->bytes, 0, id);
	case OP_FETCH:
		return OTF2_EvtWriter_RmaAtomic(a->w, NULL, a->start, window, remote,
						OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE,
						call->bytes - call->came_bytes, call->came_bytes, id);
	case OP_FENCE:
		return OTF2_EvtWriter_RmaCollectiveBegin(a->w, NULL, a->start);
	case OP_FLUSH:
		return remote != OTF2_UNDEFINED_UINT32
			       ? OTF2_EvtWriter_RmaSync(a->w, NULL, a->start, window, remote, OTF2_RMA_SYNC_TYPE_MEMORY)
			       : left_out(a);
	case OP_WIN_CREATE:
	case OP_WIN_FREE:
		return OTF2_SUCCESS;
	default:
		return left_out(a);
	}
}

static OTF2_ErrorCode put_rma_end(const struct at *a)
{
	uint32_t window = a->ev->call->object - 1;
	if (a->ev->call->object == 0 || window >= a->x->defs.windows.n)
		return OTF2_SUCCESS;
	switch (a->kind.does) {
	case OP_WIN_CREATE:
		return OTF2_EvtWriter_RmaWinCreate(a->w, NULL, a->end, window);
	case OP_WIN_FREE:
		return OTF2_EvtWriter_RmaWinDestroy(a->w, NULL, a->end, window);
	case OP_FENCE:
		return OTF2_EvtWriter_RmaCollectiveEnd(a->w, NULL, a->end, OTF2_COLLECTIVE_OP_BARRIER,
						       OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY, window,
						       OTF2_UNDEFINED_UINT32, 0, 0);
	default:
		return OTF2_SUCCESS;
	}
}

static OTF2_ErrorCode put_file_start(const struct at *a)
{
	const struct mpix_event *call = a->ev->call;
	struct otf2 *o = a->x->state;
	bool moves = a->kind.does == OP_FILE_READ || a->kind.does == OP_FILE_WRITE || a->kind.does == OP_FILE_FLUSH;
	if (call->object == 0 || call->object > a->x->defs.files.n)
		return left_out(a);
	if (!moves)
		return OTF2_SUCCESS;
	OTF2_IoOperationMode mode = a->kind.does == OP_FILE_READ    ? OTF2_IO_OPERATION_MODE_READ
				    : a->kind.does == OP_FILE_WRITE ? OTF2_IO_OPERATION_MODE_WRITE
								    : OTF2_IO_OPERATION_MODE_FLUSH;
	OTF2_IoOperationFlag flags =
		(OTF2_IoOperationFlag)((a->kind.blocking ? 0 : OTF2_IO_OPERATION_FLAG_NON_BLOCKING) |
				       (a->kind.collective ? OTF2_IO_OPERATION_FLAG_COLLECTIVE : 0));
	return OTF2_EvtWriter_IoOperationBegin(a->w, NULL, a->start, call->object - 1, mode, flags, call->bytes,
					       ++o->matching);
}

static OTF2_IoAccessMode access_of(const struct exporting *x, uint32_t file)
{
	bool reads = false, writes = false;
	for (const cJSON *m = json_first(definition(&x->defs.files, file), "mode"); m != NULL; m = m->next) {
		reads |= cJSON_IsString(m) && strcmp(m->valuestring, "read") == 0;
		writes |= cJSON_IsString(m) && strcmp(m->valuestring, "write") == 0;
	}
	return reads == writes ? OTF2_IO_ACCESS_MODE_READ_WRITE
	       : reads	       ? OTF2_IO_ACCESS_MODE_READ_ONLY
			       : OTF2_IO_ACCESS_MODE_WRITE_ONLY;
}

/* When a nonblocking operation was complete the trace does not tell. */
static OTF2_ErrorCode put_file_end(const struct at *a)
{
	const struct mpix_event *call = a->ev->call;
	const struct otf2 *o = a->x->state;
	uint32_t file = call->object - 1;
	if (call->object == 0 || file >= a->x->defs.files.n)
		return OTF2_SUCCESS;
	switch (a->kind.does) {
	case OP_FILE_OPEN:
		return OTF2_EvtWriter_IoCreateHandle(a->w, NULL, a->end, file, access_of(a->x, file),
						     OTF2_IO_CREATION_FLAG_NONE, OTF2_IO_STATUS_FLAG_NONE);
	case OP_FILE_CLOSE:
		return OTF2_EvtWriter_IoDestroyHandle(a->w, NULL, a->end, file);
	case OP_FILE_READ:
	case OP_FILE_WRITE:
	case OP_FILE_FLUSH:
		return a->kind.blocking
			       ? OTF2_EvtWriter_IoOperationComplete(a->w, NULL, a->end, file, call->bytes, o->matching)
			       : OTF2_EvtWriter_IoOperationIssued(a->w, NULL, a->end, file, o->matching);
	default:
		return OTF2_SUCCESS;
	}
}

static OTF2_ErrorCode put_starts(const struct at *a)
{
	OTF2_ErrorCode rc = OTF2_SUCCESS;
	for (uint32_t i = 0; i < a->ev->nnotes && rc == OTF2_SUCCESS; i++)
		rc = put_start(a, &a->ev->notes[i]);
	if (rc == OTF2_SUCCESS && a->kind.collective && a->kind.does <= OP_EXSCAN)
		rc = OTF2_EvtWriter_MpiCollectiveBegin(a->w, NULL, a->start);
	if (rc == OTF2_SUCCESS && a->ev->call->class == MPIX_RMA)
		rc = put_rma_start(a);
	if (rc == OTF2_SUCCESS && a->ev->call->class == MPIX_IO)
		rc = put_file_start(a);
	return rc;
}

static OTF2_ErrorCode put_ends(const struct at *a)
{
	OTF2_ErrorCode rc = OTF2_SUCCESS;
	for (uint32_t i = 0; i < a->ev->nnotes && rc == OTF2_SUCCESS; i++)
		rc = put_end(a, &a->ev->notes[i]);
	if (rc == OTF2_SUCCESS && a->kind.collective && a->kind.does <= OP_EXSCAN)
		rc = put_collective(a);
	if (rc == OTF2_SUCCESS && a->ev->call->class == MPIX_RMA)
		rc = put_rma_end(a);
	if (rc == OTF2_SUCCESS && a->ev->call->class == MPIX_IO)
		rc = put_file_end(a);
	return rc;
}

static OTF2_ErrorCode put_enter(const struct at *a)
{
	struct otf2 *o = a->x->state;
	const struct mpix_event *call = a->ev->call;
	if (call->callsite < a->x->defs.callsites.n)
		OTF2_AttributeList_AddSourceCodeLocationRef(o->attributes, OTF2_CALLSITE, call->callsite);
	if (call->wait_ns > 0)
		OTF2_AttributeList_AddUint64(o->attributes, OTF2_WAIT, (uint64_t)call->wait_ns);
	if (call->calls != 1)
		OTF2_AttributeList_AddUint64(o->attributes, OTF2_POLLS, call->calls);
	return OTF2_EvtWriter_Enter(a->w, o->attributes, a->start, call->op); /* empties the list */
}

static int otf2_event(struct exporting *x, const struct export_event *ev)
{
	struct otf2 *o = x->state;
	const struct mpix_event *call = ev->call;
	struct at a = {.x = x,
		       .ev = ev,
		       .w = writer_of(x, ev->lane, ev->rank),
		       .start = (uint64_t)(call->start_ns + o->shift_ns),
		       .end = (uint64_t)(call->end_ns + o->shift_ns),
		       .kind = o->kinds[call->op]};
	if (a.w == NULL)
		return otf2_check(x, OTF2_ERROR_MEM_FAULT);
	OTF2_ErrorCode rc = put_enter(&a);
	if (rc == OTF2_SUCCESS)
		rc = put_starts(&a);
	if (rc == OTF2_SUCCESS)
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
	free(o->writers);
	free(o->events);
	free(o->kinds);
	free(o);
}

const struct export_format export_otf2 = {.name = "otf2",
					  .directory = true,
					  .roles = EXPORT_ENDS | EXPORT_ROLE(EXPORT_WAITS),
					  .begin = otf2_begin,
					  .event = otf2_event,
					  .end = otf2_end,
					  .done = otf2_done};
