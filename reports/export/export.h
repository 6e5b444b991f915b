/* export.h - an .mpix as other tools read it. In: any .mpix of version 2.  Out: a file, or a directory of files.
 * What is common to all formats is in export.c; each format is one file and one row in list.h. */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Which ranks: ascending ranges, both ends included. n = 0: all. */
#define EXPORT_RANGES_MAX 1024u
struct export_ranks {
	struct export_range {
		uint32_t first, last;
	} at[EXPORT_RANGES_MAX];
	uint32_t n;
};

struct export_choice {
	const char *path;	/* where to write */
	int64_t from_ns, to_ns; /* INT64_MIN, INT64_MAX: everything */
	struct export_ranks ranks;
	bool skip_damaged;		   /* leave out what is damaged, else it is an error */
	bool tables;			   /* json: events, messages and wait states as well */
	bool waits;			   /* folded: weigh by wait states, not by time in MPI */
	bool large;			   /* chrome: however many events */
	const volatile sig_atomic_t *stop; /* once it is not 0: give up, with -EINTR. NULL: never */
};

/* What was written, and what was not. */
struct export_counts {
	uint64_t events, messages, waits, lanes;
	uint64_t open; /* of the events: calls that ranks never came back from; how long they lasted */
	int64_t open_ns;
	uint64_t open_unknown;			   /* more of them, of which nobody knows when that was */
	uint64_t collectives, rma, io;		   /* of the events */
	uint64_t events_outside, messages_outside; /* not chosen */
	uint64_t events_damaged, messages_damaged, waits_damaged; /* left out with skip_damaged */
	uint64_t left_out;					  /* that the format cannot hold, see left_out_what */
	const char *left_out_what;
	uint64_t bytes;
};

struct export_format;

/* By name, or NULL. */
const struct export_format *export_format_find(const char *name);
/* All names with commas between them; static storage. */
const char *export_format_names(void);
bool export_takes_tables(const struct export_format *format);
/* "0-3,8": 0, or -EINVAL for what is none. */
int export_ranks_parse(const char *text, struct export_ranks *ret_ranks);
/* Write the .mpix at path. 0, or -errno with text; then nothing is left behind. */
int export_file(const char *path, const struct export_format *format, const struct export_choice *choice,
		struct export_counts *ret_counts, struct error *e);
