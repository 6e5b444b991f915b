/* read_columns.c - see read_mpix.h: what the viewer's reader makes of the chunks, given to it as the viewer does. */
#include "tests/fuzz/read_mpix.h"

#include "format/mpix_columns.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static const uint32_t type_bytes[] = {[MPIX_U8] = 1, [MPIX_U16] = 2, [MPIX_U32] = 4, [MPIX_I32] = 4, [MPIX_F64] = 8};

/* Every number is there to be read, and an error is one of three. */
static void check_table(const struct mpix_table *t, int rc)
{
	volatile uint8_t sum = 0;
	fuzz_check(rc == 0 || rc == -EBADMSG || rc == -ERANGE || rc == -ENOMEM);
	fuzz_check(t->ncolumns <= MPIX_TABLE_COLUMNS);
	for (uint32_t i = 0; rc == 0 && i < t->ncolumns; i++)
		for (size_t k = 0, n = (size_t)t->columns[i].n * type_bytes[t->columns[i].type]; k < n; k++)
			sum ^= ((const uint8_t *)t->columns[i].at)[k];
	(void)sum;
}

static const uint32_t *words(const struct mpix_table *t, uint32_t column)
{
	fuzz_check(t->columns[column].type == MPIX_U32);
	return t->columns[column].at;
}

/* What stands in columns of places is there. */
static void check_places(const struct mpix_file *f, const struct mpix_table *t, uint32_t first, uint32_t positions)
{
	for (uint32_t p = 0; p < positions; p++) {
		const uint32_t *window = words(t, first + 3 * p), *lane = words(t, first + 3 * p + 1);
		for (uint32_t i = 0; i < t->columns[first].n; i++)
			fuzz_check(window[i] == MPIX_NOWHERE || (window[i] < f->shape.windows && lane[i] < f->lanes.n));
	}
}

static void check_events(const struct mpix_file *f, const struct mpix_table *t, uint32_t nsigs)
{
	const uint32_t *sig = words(t, 2), *lane = words(t, 7), *count = words(t, 8);
	uint32_t n = t->columns[3].n;
	for (uint32_t i = 0; i < t->columns[2].n; i++)
		fuzz_check(sig[i] < nsigs);
	for (uint32_t i = 0; i < t->columns[7].n; i++) {
		fuzz_check(lane[i] < f->lanes.n);
		n += count[i];
	}
	fuzz_check(n == t->columns[0].n);
}

struct given {
	struct mpix_file *f, *own; /* who has the chunks; what only META was given to */
};

/* The chunk of that name in a table; -ENOENT: there is none. */
static int chunk(const struct given *g, const struct mpix_entry *x, uint32_t *first, struct mpix_table *t)
{
	struct mpix_file *f = g->own;
	uint8_t *raw;
	if (mpix_read_chunk(g->f, x, &raw, NULL) < 0)
		return -ENOENT;
	struct cursor c = cursor_over(raw, x->raw_bytes);
	bool old = f->super.version == 1;
	int rc = -ENOENT;
	if (x->kind == MPIX_META)
		rc = mpix_columns_meta(f, c, t);
	else if (x->kind == MPIX_CLOCK)
		rc = mpix_columns_clock(c, t);
	else if (x->kind == MPIX_SIGNATURES)
		rc = mpix_columns_signatures(f, x->group, c, t);
	else if (x->kind == MPIX_EVENTS)
		rc = old ? mpix_columns_events_v1(f, x, c, t) : mpix_columns_events(f, x, first, c, t);
	else if (x->kind == MPIX_MESSAGES)
		rc = old ? mpix_columns_messages(f, c, t) : mpix_columns_links(f, x, c, t);
	else if (x->kind == MPIX_WAITS)
		rc = mpix_columns_waits(f, x, c, t);
	else if (x->kind == MPIX_SAMPLES)
		rc = mpix_columns_sample(f, x, c, t);
	else if (x->kind == MPIX_TOP)
		rc = mpix_columns_messages(f, c, t);
	else if (x->kind == MPIX_FLOW)
		rc = mpix_columns_flow(f, c, t);
	free(raw);
	if (rc != -ENOENT)
		check_table(t, rc);
	return rc;
}

/* The viewer gives knots and signatures again with each chunk of calls. */
static void read_events(const struct given *g, const struct mpix_entry *x)
{
	struct mpix_table sigs = {0}, clocks = {0}, t = {0};
	uint32_t nclocks = g->own->super.version > 1 ? g->own->info.nclocks : 0;
	uint32_t *none = calloc(g->own->shape.group_ranks + 1u, sizeof(*none));
	const struct mpix_entry *s = mpix_find(g->f, MPIX_SIGNATURES, x->group, 0);
	bool has = s != NULL && chunk(g, s, NULL, &sigs) == 0;
	const struct mpix_entry *k = mpix_find(g->f, MPIX_CLOCK, 0, 0);
	if (nclocks > 0 && k != NULL && chunk(g, k, NULL, &clocks) == 0)
		g->own->clocks[0] =
			(struct mpix_knots){clocks.columns[0].at, clocks.columns[0].n / sizeof(struct mpix_clock_knot)};
	if (none != NULL && chunk(g, x, has ? sigs.columns[0].at : none, &t) == 0 && nclocks > 0)
		check_events(g->own, &t, has ? sigs.columns[1].n : 0);
	if (nclocks > 0)
		g->own->clocks[0] = (struct mpix_knots){0};
	free(none);
	mpix_table_done(&sigs);
	mpix_table_done(&clocks);
	mpix_table_done(&t);
}

static void read_chunk(const struct given *g, const struct mpix_entry *x)
{
	struct mpix_table t = {0};
	if (x->kind == MPIX_EVENTS) {
		read_events(g, x);
		return;
	}
	int rc = x->kind != MPIX_META ? chunk(g, x, NULL, &t) : -ENOENT;
	if (rc == 0 && x->kind == MPIX_MESSAGES && g->own->super.version > 1)
		check_places(g->own, &t, 0, 4);
	if (rc == 0 && x->kind == MPIX_WAITS)
		check_places(g->own, &t, 0, 2);
	mpix_table_done(&t);
}

void read_columns(struct mpix_file *f)
{
	struct mpix_file *own = calloc(1, sizeof(*own));
	struct mpix_table t = {0};
	const struct mpix_entry *meta = mpix_find(f, MPIX_META, 0, 0);
	fuzz_check(own != NULL && meta != NULL);
	own->fd = -1;
	own->super.version = f->super.version;
	const struct given g = {f, own};
	if (chunk(&g, meta, NULL, &t) == 0)
		for (uint32_t i = 0; i < f->super.entries; i++)
			read_chunk(&g, &f->entries[i]);
	mpix_table_done(&t);
	mpix_close(own);
}
