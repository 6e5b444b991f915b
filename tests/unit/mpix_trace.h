/* mpix_trace.h - random traces for the tests of .mpix, and a directory to write them to. */
#pragma once

#include "base/buf.h"
#include "tests/tools/mpix_plain.h"

struct trace_shape {
	uint32_t ranks, events; /* events of each lane */
	uint32_t links, waits, windows;
	bool threads;	/* some ranks have up to three */
	bool empty;	/* every third lane has no events */
	bool far_ticks; /* three clocks of real processors, with knots; else nanoseconds */
	int64_t runtime_ns;
};

/* Everything follows from the shape. free with trace_done(). */
struct plain_trace *trace_make(const struct trace_shape *shape);
void trace_done(struct plain_trace *t);

/* A deterministic stream of numbers (xorshift). */
uint64_t next_random(uint64_t *state);
void make_directory(void);
void remove_directory(void);
/* Inside it; valid until the next call. */
const char *path_of(const char *name);
const char *test_directory(void);
struct buf slurp(const char *path);
void spill(const char *path, const void *data, size_t len_bytes);
