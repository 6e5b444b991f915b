/* notes.h - lines that are left beside the segments, for the agent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A directory of our own into which nobody else may write, absolute, not by a detour: else no file appears there. */
bool note_directory_is_ours(const char *dir) __attribute__((visibility("hidden")));

/* open(2) of a file that the agent reads as well: its owner may read and write one that is made, whatever the
 * program's umask. -1 with EACCES where it is no regular file, another user's, or has a second name. The descriptor is
 * never that of a standard stream. */
int note_open(const char *path, int flags, uid_t owner) __attribute__((visibility("hidden")));

/* A file that grows beyond RLIMIT_FSIZE ends the program by SIGXFSZ (setrlimit(2)): ask before. */
bool note_fits_limit(uint64_t len_bytes) __attribute__((visibility("hidden")));

/* Append the line to that file in $MPITRACE_DIR, unless it would grow beyond max_bytes. Whole, or not at all: false. */
bool note_append(const char *name, size_t max_bytes, const char *line, size_t len_bytes)
	__attribute__((visibility("hidden")));

/* Why this process runs untraced: "<pid> <kind> <before><why>" in $MPITRACE_DIR/untraced. Where that has no room
 * for one that failed, $MPITRACE_DIR/unsaid becomes longer by a byte, which takes none; where a limit forbids even
 * that, there is an empty unsaid.<pid>. */
void note_untraced(const char *kind, const char *before, const char *why) __attribute__((visibility("hidden")));
