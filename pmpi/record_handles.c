/* record_handles.c - see record_handles.h. */
#include "pmpi/record_handles.h"

#include "base/fnv.h"

void span_waits_comm(const struct call_span *s, uint32_t op, MPI_Comm comm)
{
	stream_define_op(s->stream, op);
	span_waits(s, op, SIG_COMM, 0, comm, -1, 0);
}

void record_comm_any(struct call_span *s, uint32_t op, MPI_Comm parent, MPI_Comm newcomm, int64_t salt)
{
	uint64_t w[3 + FRAMES_MAX];
	uint32_t parent_id = comm_id(parent);
	w[0] = sig_head((uint16_t)op, SIG_COMM, s->failed, 0, 0, 0);
	w[1] = s->address;
	w[2] = sig_pair(parent_id, comm_created(op, parent, newcomm, salt));
	span_end_once(s, w, 3);
}

int64_t tag_salt(const char *stringtag)
{
	return (int64_t)(fnv_text(FNV_SEED, stringtag) >> 20) | 1ll << 41;
}

void record_type_made(struct call_span *s, uint32_t op, MPI_Datatype oldtype, const MPI_Datatype *newtype)
{
	if (s->failed == 0)
		type_made(oldtype, *newtype);
	stream_slow(s->stream, s->exit);
	record_time(s, op);
}

void record_type_struct_made(struct call_span *s, uint32_t op, MPI_Count count, const void *blocklengths, bool wide,
			     const MPI_Datatype *types, const MPI_Datatype *newtype)
{
	if (s->failed == 0)
		type_made_struct(count, blocklengths, wide, types, *newtype);
	stream_slow(s->stream, s->exit);
	record_time(s, op);
}
