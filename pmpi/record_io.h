/* record_io.h - calls on files. Part of record.h. */
#pragma once

#include "pmpi/record.h"

#define NO_OFFSET INT64_MIN

/* status: what was moved, NULL where only what was asked for is known. The offset differs from call to call, so it
 * goes with the event and not into the signature. */
INLINE void record_io(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_io kind,
		      MPI_File file, unsigned how, int64_t offset, uint64_t asked_bytes, const MPI_Status *status)
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

void record_file_opened(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm,
			const char *name, int mode, const MPI_File *file) HIDDEN;
