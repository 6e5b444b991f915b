/* calls_partitioned.c - calls about single partitions of a partitioned request. */
#include "pmpi/record_partitioned.h"

void record_partitioned(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_shape shape,
			MPI_Comm comm, int peer, int tag, MPI_Datatype type, uint64_t count, int partitions)
{
	uint64_t w[5 + FRAMES_MAX];
	struct type_view t = type_find(type);
	w[0] = sig_head((uint16_t)op, shape, flags | wildcards(peer, tag) | s->failed, 0, 0, 1);
	w[1] = s->address;
	w[2] = sig_pair(comm_id(comm), peer_of(peer));
	w[3] = sig_pair((uint32_t)tag, t.id);
	w[4] = count_of(t, count * (uint64_t)partitions);
	request_begin(s, flags, 0, request);
	span_end(s, w, 5);
}

void record_partition(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Request handle,
		      int first, int count, const int *flag)
{
	uint64_t w[5 + FRAMES_MAX], extra[2] = {(uint64_t)first, (uint64_t)count};
	uint32_t n = 3;
	struct request r;
	bool absent = flag != NULL && *flag == 0;
	(void)request;
	w[1] = s->address;
	w[2] = sig_pair(0, 1);
	if (request_get(handle, &r)) {
		bool other = r.thread != s->stream->thread;
		w[2] = sig_pair(1, 1);
		w[n++] = sig_run_word(r.serial, 1, SIG_RUN_ABSOLUTE | (other ? SIG_RUN_OTHER_THREAD : 0));
		if (other)
			w[n++] = r.thread;
	}
	w[0] = sig_head((uint16_t)op, SIG_REQUEST, flags | s->failed | (absent ? SIG_POLLS : 0), 0, 0, 0);
	if (absent)
		span_end_poll(s, w, n);
	else
		span_end_extra(s, w, n, extra, 2);
}
