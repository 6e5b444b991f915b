/* atomic_file.h - write a file under a temporary name beside it; it appears whole or not at all. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

struct atomic_file {
	FILE *stream; /* write here */
	char *path;
	char *temporary; /* NULL: a device or standard output, written to as it is */
	bool unsynced;	 /* set before the commit: it can be made again, so no fsync; one of thousands */
};

/* "-": standard output.
 * Else open a temporary file (mode 0644 less umask, O_CLOEXEC) in the directory of path; a character device itself. 0,
 * or -errno with text; -EINVAL for directories, sockets and other disks. */
int atomic_file_open(struct atomic_file *ret_f, const char *path, struct error *e);
/* For an analysed trace, which may take the place of another; of one no other file does, nor anything of a recording:
 * -EEXIST with text. */
int atomic_file_open_trace(struct atomic_file *ret_f, const char *path, struct error *e);
/* The name of the temporary file of this process beside path: for who has to remove it from a signal handler. */
void atomic_file_temporary(char *ret_name, size_t cap_bytes, const char *path);
/* Flush, fsync (not when `unsynced`), rename to path. On any failure the temporary file is removed. 0, or -errno with
 * text. */
int atomic_file_commit(struct atomic_file *f, struct error *e);
/* Remove the temporary files beside path that dead processes left. Whoever writes one holds a lock on it (flock(2)), so
 * where the file system has no locks they stay. */
void atomic_file_sweep(const char *path);
/* Remove the temporary file; harmless after commit and on a zeroed struct. */
void atomic_file_abandon(struct atomic_file *f);
