/* calls_rma.c - windows: made, named, freed; groups of general active target synchronisation. */
#include "format/mpic_defs.h"
#include "pmpi/record_rma.h"

#include <string.h>

#define GROUP_WORDS_MAX 1024u /* runs recorded of one group; neighbours of a grid are a handful */

void span_waits_window(const struct call_span *s, uint32_t op, enum sig_rma kind, MPI_Win win, int target,
		       int assertion, int lock_type)
{
	struct open_words *w = stream_open_words(s->stream);
	stream_define_op(s->stream, op);
	s->stream->open.sig = open_by_name(op, SIG_RMA, kind);
	w->address = s->address;
	w->comm = win_find(win);
	w->peer = target;
	w->tag = assertion;
	w->recv_tag = lock_type == MPI_LOCK_SHARED ? 1 : lock_type == MPI_LOCK_EXCLUSIVE ? 2 : 0;
}

void span_waits_start(const struct call_span *s, uint32_t op, MPI_Win win, MPI_Group group, int assertion)
{
	struct open_words *w = stream_open_words(s->stream);
	uint64_t list[OPEN_GROUP_MAX + 1];
	uint32_t n = group_words(group, list, OPEN_GROUP_MAX + 1);
	span_waits_window(s, op, RMA_START, win, MPI_ANY_SOURCE, assertion, NO_LOCK);
	w->nrequests = n <= OPEN_GROUP_MAX ? n : 0;
	memcpy(w->requests, list, w->nrequests * sizeof(list[0]));
}

void record_rma(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_rma kind, MPI_Win win,
		int target, uint64_t to_target, uint64_t from_target)
{
	uint64_t w[5 + FRAMES_MAX];
	w[0] = sig_head((uint16_t)op, SIG_RMA, flags | s->failed, 0, 0, kind);
	w[1] = s->address;
	w[2] = sig_pair(win_find(win), peer_of(target));
	w[3] = to_target;
	w[4] = from_target;
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, 0, request);
	span_end(s, w, 5);
}

void record_epoch_group(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_rma kind,
			MPI_Win win, MPI_Group group, int assertion)
{
	uint64_t few[5 + FRAMES_MAX], *w = stream_scratch(s->stream, SCRATCH_WORDS, 5 + GROUP_WORDS_MAX + FRAMES_MAX);
	uint32_t list = s->failed || w == NULL ? 0 : group_words(group, w + 5, GROUP_WORDS_MAX);
	(void)request;
	w = w != NULL ? w : few;
	w[0] = sig_head((uint16_t)op, SIG_RMA, flags | s->failed, list, 0, kind);
	w[1] = s->address;
	w[2] = sig_pair(win_find(win), (uint32_t)SIG_ANY);
	w[3] = sig_pair((uint32_t)assertion, 0);
	w[4] = 0;
	span_end(s, w, 5 + list);
}

void record_win_test(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Win win,
		     const int *flag)
{
	bool still = s->failed == 0 && *flag == 0;
	uint64_t w[5 + FRAMES_MAX] = {
		sig_head((uint16_t)op, SIG_RMA, flags | s->failed | (still ? SIG_POLLS : 0), 0, 0, RMA_WAIT),
		s->address, sig_pair(win_find(win), (uint32_t)SIG_ANY), 0, 0};
	(void)request;
	if (still)
		span_end_poll(s, w, 5);
	else
		span_end(s, w, 5);
}

static uint32_t enter(uint32_t op, MPI_Comm comm, uint64_t bytes, MPI_Win win)
{
	struct mpic_object_head def = {.created_by = op};
	struct stream *stream = stream_mine;
	def.global_id = comm_next_object(comm, &def.comm);
	def.id = object_created(&windows, (uint64_t)(uintptr_t)win);
	if (stream != NULL && def.id != MPIC_NO_OBJECT)
		stream_put_def(stream, MPIC_DEF_WINDOW, &def, sizeof(def), &bytes, sizeof(bytes));
	return def.id;
}

static void record_window(struct call_span *s, uint32_t op, enum sig_rma kind, uint32_t id)
{
	uint64_t w[5 + FRAMES_MAX] = {sig_head((uint16_t)op, SIG_RMA, s->failed, 0, 0, kind), s->address,
				      sig_pair(id, (uint32_t)SIG_ANY), 0, 0};
	span_end(s, w, 5);
}

void record_win_created(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm,
			int64_t bytes, const MPI_Win *win)
{
	(void)flags, (void)request;
	record_window(s, op, RMA_CREATE, s->failed ? MPIC_NO_OBJECT : enter(op, comm, (uint64_t)bytes, *win));
}

int wrap_MPI_Win_free(MPI_Win *win)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Win_free))
		return next.MPI_Win_free(win);
	MPI_Win handle = win != NULL ? *win : MPI_WIN_NULL;
	span_waits_window(&s, OP_MPI_Win_free, RMA_FREE, handle, MPI_ANY_SOURCE, 0, NO_LOCK);
	/* Before the library can give the handle to another thread. */
	uint32_t id = object_leaves(&windows, (uint64_t)(uintptr_t)handle);
	int rc = next.MPI_Win_free(win);
	if (!span_stop(&s, rc))
		return rc;
	if (rc != MPI_SUCCESS)
		object_stays(&windows, (uint64_t)(uintptr_t)handle, id);
	record_window(&s, OP_MPI_Win_free, RMA_FREE, id);
	return rc;
}

int wrap_MPI_Win_set_name(MPI_Win win, const char *name)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Win_set_name))
		return next.MPI_Win_set_name(win, name);
	int rc = next.MPI_Win_set_name(win, name);
	if (!span_stop(&s, rc))
		return rc;
	uint32_t id = win_find(win);
	if (rc == MPI_SUCCESS && id != MPIC_NO_OBJECT)
		stream_put_def(s.stream, MPIC_DEF_WINDOW_NAME, &id, 4, name,
			       (uint32_t)strnlen(name, MPI_MAX_OBJECT_NAME));
	record_window(&s, OP_MPI_Win_set_name, RMA_OTHER, id);
	return rc;
}
