/* otf2_files.c - operations on files as OTF2's I/O records: a handle a file. Nonblocking ones are begun and issued by
 * one call, and completed by another. */
#include "reports/export/otf2.h"

/* Files: object - 1. */
static bool names_file(const struct otf2_call *a)
{
	return a->ev->call->object != 0 && a->ev->call->object <= a->x->defs.files.n;
}

static bool moves(const struct otf2_call *a)
{
	return a->kind.does == OP_FILE_READ || a->kind.does == OP_FILE_WRITE || a->kind.does == OP_FILE_FLUSH;
}

OTF2_ErrorCode otf2_file_start(const struct otf2_call *a)
{
	const struct mpix_event *call = a->ev->call;
	struct otf2 *o = a->x->state;
	if (!names_file(a))
		return otf2_left_out(a);
	if (!moves(a))
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

/* A file has at most one split operation under way. */
static OTF2_ErrorCode begin_split(const struct otf2_call *a, uint32_t file)
{
	struct otf2 *o = a->x->state;
	struct otf2_lane *l = &o->lanes[a->ev->lane];
	if (vec_push(&l->splits, (struct otf2_split){file, o->matching}) < 0)
		return OTF2_ERROR_MEM_ALLOC_FAILED;
	return OTF2_EvtWriter_IoOperationIssued(a->w, NULL, a->end, file, o->matching);
}

static OTF2_ErrorCode end_split(const struct otf2_call *a, uint32_t file)
{
	struct otf2_lane *l = &((struct otf2 *)a->x->state)->lanes[a->ev->lane];
	for (size_t i = 0; i < l->splits.n; i++)
		if (l->splits.at[i].file == file) {
			uint64_t matching = l->splits.at[i].matching;
			l->splits.at[i] = l->splits.at[--l->splits.n];
			return OTF2_EvtWriter_IoOperationComplete(a->w, NULL, a->end, file, a->ev->call->bytes,
								  matching);
		}
	return otf2_left_out(a); /* begun by another thread, or before what is exported */
}

OTF2_ErrorCode otf2_file_end(const struct otf2_call *a)
{
	const struct mpix_event *call = a->ev->call;
	const struct otf2 *o = a->x->state;
	uint32_t file = call->object - 1;
	if (!names_file(a))
		return OTF2_SUCCESS;
	switch (a->kind.does) {
	case OP_FILE_OPEN:
		return OTF2_EvtWriter_IoCreateHandle(a->w, NULL, a->end, file, access_of(a->x, file),
						     OTF2_IO_CREATION_FLAG_NONE, OTF2_IO_STATUS_FLAG_NONE);
	case OP_FILE_CLOSE:
		return OTF2_EvtWriter_IoDestroyHandle(a->w, NULL, a->end, file);
	case OP_FILE_END:
		return end_split(a, file);
	case OP_FILE_READ:
	case OP_FILE_WRITE:
	case OP_FILE_FLUSH:
		if (a->kind.blocking)
			return OTF2_EvtWriter_IoOperationComplete(a->w, NULL, a->end, file, call->bytes, o->matching);
		if (a->kind.split)
			return begin_split(a, file);
		return OTF2_EvtWriter_IoOperationIssued(a->w, NULL, a->end, file, o->matching);
	default:
		return OTF2_SUCCESS;
	}
}

struct otf2_started otf2_file_started(const struct otf2_call *a)
{
	const struct otf2 *o = a->x->state;
	if (!names_file(a) || !moves(a))
		return (struct otf2_started){.kind = OTF2_STARTED_NOTHING};
	return (struct otf2_started){.kind = OTF2_STARTED_FILE,
				     .object = a->ev->call->object - 1,
				     .received_bytes = a->ev->call->bytes,
				     .matching = o->matching};
}
