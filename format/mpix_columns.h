/* mpix_columns.h - what one chunk says as columns of numbers, for who has arrays and no structs: the viewer, whose
 * reader this is (reports/viewer/reader). In: the bytes of a chunk, believed in nothing.  Out: arrays, in the order
 * that stands at each function. Private to format/mpix_*.c, the viewer's reader and what tests them.
 *
 * All return 0; -EBADMSG: the chunk contradicts itself; -ERANGE: a number in it is beyond those that a double holds
 * exactly; -ENOMEM. mpix_table_done() frees, also after a failure. */
#pragma once

#include "format/mpix_reader.h"

enum mpix_column_type { MPIX_U8, MPIX_U16, MPIX_U32, MPIX_I32, MPIX_F64 };

#define MPIX_TABLE_COLUMNS 20

struct mpix_table {
	struct mpix_column {
		void *at;
		uint32_t n, type;
	} columns[MPIX_TABLE_COLUMNS];
	uint32_t ncolumns;
	int rc; /* what went wrong while columns were filled */
};

void mpix_table_done(struct mpix_table *t);

/* META, which becomes f's: numbers (enum mpix_meta_number) f64 · first lanes u32 · clock of each lane u32, or none ·
 * place of each rank u32, or none · names u8, each ended by a zero. To be closed by mpix_close(), also after a
 * failure. */
int mpix_columns_meta(struct mpix_file *f, struct cursor c, struct mpix_table *t);

enum mpix_meta_number {
	MPIX_META_RANKS,
	MPIX_META_RUNTIME,
	MPIX_META_GROUP_RANKS,
	MPIX_META_ROWS,
	MPIX_META_BINS,
	MPIX_META_ROW_FACTOR,
	MPIX_META_TIME_LEVELS,
	MPIX_META_RANK_LEVELS,
	MPIX_META_TOP_LEVELS,
	MPIX_META_FLOW_LEVELS,
	MPIX_META_FLOW_PLACES, /* of one end of a flow; version 1: ranks */
	MPIX_META_FLOW_POINTS, /* so many ends there can be */
	MPIX_META_WINDOWS,
	MPIX_META_CLOCKS,
	MPIX_META_EVENTS,
	MPIX_META_MESSAGES,
	MPIX_META_WAITS,
	MPIX_META_THREADS, /* version 1: of the rank that has most */
	MPIX_META_NUMBERS
};

/* CLOCK: knots u8, as struct mpix_clock_knot · ns of a tick f64, over all of the run. */
int mpix_columns_clock(struct cursor c, struct mpix_table *t);
/* SIGNATURES of a group: first of each rank and one more u32 · op u32 · class u8 · call site i32, -1 none · comm u32 ·
 * peer i32 · tag i32 · bytes f64 · message bytes f64 · flags u8. */
int mpix_columns_signatures(const struct mpix_file *f, uint32_t group, struct cursor c, struct mpix_table *t);
/* EVENTS of version 2, carried ones first: start f64 · duration f64 · signature in the group u32. Of carried ones: lane
 * u32 · window u32 · index u32 · number f64, -1 not known. Of runs: lane u32 · events u32. Numbers: event u32 · comm
 * u32 · number f64. Sparse: event u32, calls f64 · event u32, bytes f64. first: as of the signatures; the knots of the
 * clocks are f's. */
int mpix_columns_events(struct mpix_file *f, const struct mpix_entry *x, uint32_t *first, struct cursor c,
			struct mpix_table *t);
/* EVENTS of version 1: start f64 · duration f64 · op u32 · class u8 · call site i32 · comm u32 · thread u32 · peer i32
 * · tag i32 · bytes f64 · calls f64 · waited f64. Of segments: rank u32 · carried u8 · events u32. */
int mpix_columns_events_v1(const struct mpix_file *f, const struct mpix_entry *x, struct cursor c,
			   struct mpix_table *t);
/* MESSAGES of version 2: window, lane, index u32 each of the start of the receive, its completion, the start of the
 * send, its completion · signature i32, -1 that of the start. */
int mpix_columns_links(struct mpix_file *f, const struct mpix_entry *x, struct cursor c, struct mpix_table *t);
/* WAITS: window, lane, index u32 each of the call and of who caused it · state u8 · how u8 · ns f64. */
int mpix_columns_waits(struct mpix_file *f, const struct mpix_entry *x, struct cursor c, struct mpix_table *t);
/* TOP, and MESSAGES of version 1: five times f64, bytes f64 · src, dst u32 · tag i32 · comm u32 · call sites i32. */
int mpix_columns_messages(const struct mpix_file *f, struct cursor c, struct mpix_table *t);
/* SAMPLES: number, samples f64 · lane u32 · known u8 · on a processor, ready, resident f64 · first cell and one more
 * u32. Of cells: op u16 · call site f64, -1 none · calls, ticks, bytes, waited f64. */
int mpix_columns_sample(const struct mpix_file *f, const struct mpix_entry *x, struct cursor c, struct mpix_table *t);
/* FLOW: src u32 · dst u32 · messages f64 · bytes f64. */
int mpix_columns_flow(const struct mpix_file *f, struct cursor c, struct mpix_table *t);

/* ---- for format/mpix_columns*.c ---- */

/* The next column, of n numbers; NULL: no memory, which t->rc says. */
void *mpix_table_column(struct mpix_table *t, enum mpix_column_type type, uint32_t n);

#define MPIX_DOUBLE_EXACT ((1ull << 53) - 1)

static inline double mpix_table_number(struct mpix_table *t, uint64_t value)
{
	if (value > MPIX_DOUBLE_EXACT)
		t->rc = -ERANGE;
	return (double)value;
}

static inline double mpix_table_signed(struct mpix_table *t, int64_t value)
{
	if (value > (int64_t)MPIX_DOUBLE_EXACT || value < -(int64_t)MPIX_DOUBLE_EXACT)
		t->rc = -ERANGE;
	return (double)value;
}
