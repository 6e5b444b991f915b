/* record_io.h - calls on files. */
#pragma once

#include "pmpi/record.h"

#define NO_OFFSET INT64_MIN

/* status: what was moved, NULL where only what was asked for is known. The offset differs from call to call, so it
 * goes with the event and not into the signature. */
void record_io(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_io kind, MPI_File file,
	       unsigned how, int64_t offset, uint64_t asked_bytes, const MPI_Status *status) HIDDEN;
void record_file_opened(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm,
			const char *name, int mode, const MPI_File *file) HIDDEN;
