/* calls_io.c - files are opened and closed. Each opening is a file of its own. */
#include "format/mpic_defs.h"
#include "pmpi/record_io.h"
#include "pmpi/redact.h"

#include <string.h>

void record_io(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_io kind, MPI_File file,
	       unsigned how, int64_t offset, uint64_t asked_bytes, const MPI_Status *status)
{
	uint64_t w[4 + FRAMES_MAX], extra = (uint64_t)offset;
	w[0] = sig_head((uint16_t)op, SIG_IO, flags | s->failed | (status != NULL ? SIG_SIZED : 0), 0, 0, kind);
	w[1] = s->address;
	w[2] = sig_pair(object_find(&files, (uint64_t)(uintptr_t)file), how);
	w[3] = status != NULL ? status_bytes(status) : asked_bytes;
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, kind == IO_READ ? REQUEST_WANTS_STATUS : 0, request);
	span_end_extra(s, w, 4, &extra, offset != NO_OFFSET);
}

static uint32_t mode_of(int mode)
{
	static const struct {
		int mpi;
		uint32_t ours;
	} rows[] = {
		{MPI_MODE_RDONLY, MPIC_MODE_READ},
		{MPI_MODE_WRONLY, MPIC_MODE_WRITE},
		{MPI_MODE_RDWR, MPIC_MODE_READ | MPIC_MODE_WRITE},
		{MPI_MODE_CREATE, MPIC_MODE_CREATE},
		{MPI_MODE_APPEND, MPIC_MODE_APPEND},
		{MPI_MODE_DELETE_ON_CLOSE, MPIC_MODE_DELETE_ON_CLOSE},
		{MPI_MODE_SEQUENTIAL, MPIC_MODE_SEQUENTIAL},
		{MPI_MODE_EXCL, MPIC_MODE_EXCLUSIVE},
		{MPI_MODE_UNIQUE_OPEN, MPIC_MODE_UNIQUE},
	};
	uint32_t ours = 0;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((mode & rows[i].mpi) != 0)
			ours |= rows[i].ours;
	return ours;
}

static uint32_t enter(uint32_t op, MPI_Comm comm, const char *name, int mode, MPI_File file)
{
	struct mpic_object_head def = {.created_by = op, .mode = mode_of(mode)};
	struct stream *stream = stream_mine;
	char hidden[MPIC_NAME_MAX + 1];
	name = redact_path(name, hidden, sizeof(hidden));
	def.global_id = comm_next_object(comm, &def.comm);
	def.id = object_created(&files, (uint64_t)(uintptr_t)file);
	if (stream != NULL && def.id != MPIC_NO_OBJECT)
		stream_put_def(stream, MPIC_DEF_FILE, &def, sizeof(def), name, (uint32_t)strnlen(name, MPIC_NAME_MAX));
	return def.id;
}

static void record_file(struct call_span *s, uint32_t op, enum sig_io kind, uint32_t id)
{
	uint64_t w[4 + FRAMES_MAX] = {sig_head((uint16_t)op, SIG_IO, s->failed, 0, 0, kind), s->address,
				      sig_pair(id, IO_COLLECTIVE), 0};
	span_end(s, w, 4);
}

void record_file_opened(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm,
			const char *name, int mode, const MPI_File *file)
{
	(void)flags, (void)request;
	record_file(s, op, IO_OPEN, s->failed ? MPIC_NO_OBJECT : enter(op, comm, name, mode, *file));
}

int wrap_MPI_File_close(MPI_File *file)
{
	struct call_span s;
	bool traced = SPAN_OPEN(&s, OP_MPI_File_close);
	uint64_t handle = file != NULL ? (uint64_t)(uintptr_t)*file : 0;
	uint32_t id = object_leaves(&files, handle);
	if (traced)
		span_start(&s);
	int rc = next.MPI_File_close(file);
	if (traced && !span_stop(&s, rc))
		return rc;
	if (rc != MPI_SUCCESS)
		object_stays(&files, handle, id);
	if (traced)
		record_file(&s, OP_MPI_File_close, IO_CLOSE, id);
	return rc;
}
