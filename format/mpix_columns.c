/* mpix_columns.c - META, clocks, signatures, samples and flows as columns. See mpix_columns.h. */
#include "format/mpix_columns.h"
#include "format/mpix_samples.h"

#include <stdlib.h>

static const uint32_t type_bytes[] = {[MPIX_U8] = 1, [MPIX_U16] = 2, [MPIX_U32] = 4, [MPIX_I32] = 4, [MPIX_F64] = 8};

void *mpix_table_column(struct mpix_table *t, enum mpix_column_type type, uint32_t n)
{
	struct mpix_column *c = &t->columns[t->ncolumns++];
	*c = (struct mpix_column){calloc((size_t)n + 1, type_bytes[type]), n, type};
	if (c->at == NULL)
		t->rc = -ENOMEM;
	return c->at;
}

void mpix_table_done(struct mpix_table *t)
{
	for (uint32_t i = 0; i < t->ncolumns; i++)
		free(t->columns[i].at);
	*t = (struct mpix_table){0};
}

/* ---- META ---- */

static uint32_t points(uint32_t n, uint32_t of_one)
{
	return (n - 1) / of_one + 1;
}

static void put_numbers(const struct mpix_file *f, struct mpix_table *t)
{
	const struct mpix_info *info = &f->info;
	const struct mpix_shape *s = &f->shape;
	bool old = f->super.version == 1;
	uint32_t flow_of = old ? f->v1.flow_ranks : s->flow_places;
	double *to = mpix_table_column(t, MPIX_F64, MPIX_META_NUMBERS);
	if (to == NULL)
		return;
	to[MPIX_META_RANKS] = info->ranks;
	to[MPIX_META_RUNTIME] = mpix_table_signed(t, info->runtime_ns);
	to[MPIX_META_GROUP_RANKS] = s->group_ranks;
	to[MPIX_META_ROWS] = s->rows;
	to[MPIX_META_BINS] = s->bins;
	to[MPIX_META_ROW_FACTOR] = s->row_factor;
	to[MPIX_META_TIME_LEVELS] = s->time_levels;
	to[MPIX_META_RANK_LEVELS] = s->rank_levels;
	to[MPIX_META_TOP_LEVELS] = s->top_levels;
	to[MPIX_META_FLOW_LEVELS] = old ? s->top_levels : s->flow_levels;
	to[MPIX_META_FLOW_PLACES] = flow_of;
	to[MPIX_META_FLOW_POINTS] = points(old ? info->ranks : info->places, flow_of);
	to[MPIX_META_WINDOWS] = s->windows;
	to[MPIX_META_CLOCKS] = old ? 0 : info->nclocks;
	to[MPIX_META_EVENTS] = mpix_table_number(t, s->events);
	to[MPIX_META_MESSAGES] = mpix_table_number(t, s->messages);
	to[MPIX_META_WAITS] = mpix_table_number(t, s->waits);
	to[MPIX_META_THREADS] = f->v1.threads;
}

static void put_words(struct mpix_table *t, const uint32_t *words, uint32_t n)
{
	uint32_t *to = mpix_table_column(t, MPIX_U32, words != NULL ? n : 0);
	if (to != NULL && words != NULL)
		memcpy(to, words, n * sizeof(*to));
}

static void put_names(const struct mpix_info *info, struct mpix_table *t)
{
	size_t len = 0;
	for (uint32_t i = 0; i < info->nops; i++)
		len += strlen(info->ops[i]) + 1;
	char *to = mpix_table_column(t, MPIX_U8, (uint32_t)len);
	if (to != NULL && len > 0)
		memcpy(to, info->ops[0], len); /* they lie one after the other */
}

int mpix_columns_meta(struct mpix_file *f, struct cursor c, struct mpix_table *t)
{
	int rc = f->super.version == 1 ? mpix_v1_meta(f, c) : mpix_get_meta(c, &f->info, &f->shape);
	if (rc == 0)
		rc = mpix_lanes_make(&f->lanes, f->info.ranks, f->info.threads);
	if (rc < 0 || f->lanes.n != f->info.lanes)
		return rc == -ENOMEM ? rc : -EBADMSG;
	put_numbers(f, t);
	put_words(t, f->lanes.first, f->info.ranks + 1);
	put_words(t, f->info.clock_of_lane, f->info.lanes);
	put_words(t, f->info.place_of_rank, f->info.ranks);
	put_names(&f->info, t);
	return t->rc < 0 ? t->rc : mpix_cache_begin(f, NULL);
}

/* ---- clocks, signatures ---- */

int mpix_columns_clock(struct cursor c, struct mpix_table *t)
{
	struct mpix_knots k = {0};
	int rc = mpix_knots_decode(c, &k);
	if (rc == 0) {
		size_t len = k.n * sizeof(*k.knots);
		uint8_t *knots = mpix_table_column(t, MPIX_U8, (uint32_t)len);
		double *tick_ns = mpix_table_column(t, MPIX_F64, 1);
		if (knots != NULL)
			memcpy(knots, k.knots, len);
		if (tick_ns != NULL)
			*tick_ns = mpix_knots_tick_ns(&k);
		rc = t->rc;
	}
	free(k.knots);
	return rc;
}

static void put_signatures(const struct mpix_signature *sigs, uint32_t n, struct mpix_table *t)
{
	uint32_t *op = mpix_table_column(t, MPIX_U32, n);
	uint8_t *class = mpix_table_column(t, MPIX_U8, n);
	int32_t *site = mpix_table_column(t, MPIX_I32, n);
	uint32_t *comm = mpix_table_column(t, MPIX_U32, n);
	int32_t *peer = mpix_table_column(t, MPIX_I32, n), *tag = mpix_table_column(t, MPIX_I32, n);
	double *bytes = mpix_table_column(t, MPIX_F64, n), *message = mpix_table_column(t, MPIX_F64, n);
	uint8_t *flags = mpix_table_column(t, MPIX_U8, n);
	for (uint32_t i = 0; i < n && t->rc != -ENOMEM; i++) {
		op[i] = sigs[i].op;
		class[i] = sigs[i].class;
		site[i] = (int32_t)sigs[i].callsite;
		comm[i] = sigs[i].comm;
		peer[i] = sigs[i].peer;
		tag[i] = sigs[i].tag;
		bytes[i] = mpix_table_number(t, sigs[i].bytes);
		message[i] = mpix_table_number(t, sigs[i].message_bytes);
		flags[i] = sigs[i].flags;
	}
}

int mpix_columns_signatures(const struct mpix_file *f, uint32_t group, struct cursor c, struct mpix_table *t)
{
	if ((uint64_t)group * f->shape.group_ranks >= f->info.ranks)
		return -EBADMSG;
	struct mpix_group_sigs s = {.group = group, .first = calloc(f->shape.group_ranks + 1u, sizeof(*s.first))};
	int rc = s.first != NULL ? mpix_sigs_decode(f, c, &s) : -ENOMEM;
	if (rc == 0) {
		put_words(t, s.first, f->shape.group_ranks + 1);
		put_signatures(s.sigs, s.first[f->shape.group_ranks], t);
		rc = t->rc;
	}
	free(s.first);
	free(s.sigs);
	return rc;
}

/* ---- samples ---- */

static void put_threads(const struct mpix_sample *s, struct mpix_table *t)
{
	uint32_t n = s->nthreads, cells = 0;
	uint32_t *lane = mpix_table_column(t, MPIX_U32, n);
	uint8_t *known = mpix_table_column(t, MPIX_U8, n);
	double *cpu = mpix_table_column(t, MPIX_F64, n), *ready = mpix_table_column(t, MPIX_F64, n);
	double *resident = mpix_table_column(t, MPIX_F64, n);
	uint32_t *first = mpix_table_column(t, MPIX_U32, n + 1);
	for (uint32_t i = 0; i < n && t->rc != -ENOMEM; i++) {
		const struct mpix_sample_thread *x = &s->threads[i];
		lane[i] = x->lane;
		known[i] = x->known;
		cpu[i] = mpix_table_number(t, x->cpu_ns);
		ready[i] = mpix_table_number(t, x->ready_ns);
		resident[i] = mpix_table_number(t, x->resident_bytes);
		first[i + 1] = cells += x->ncells;
	}
}

static void put_cells(const struct mpix_sample_cell *cells, uint32_t n, struct mpix_table *t)
{
	uint16_t *op = mpix_table_column(t, MPIX_U16, n);
	double *site = mpix_table_column(t, MPIX_F64, n), *calls = mpix_table_column(t, MPIX_F64, n);
	double *ticks = mpix_table_column(t, MPIX_F64, n), *bytes = mpix_table_column(t, MPIX_F64, n);
	double *wait = mpix_table_column(t, MPIX_F64, n);
	for (uint32_t i = 0; i < n && t->rc != -ENOMEM; i++) {
		op[i] = (uint16_t)cells[i].op;
		site[i] = cells[i].callsite == MPIX_NO_CALLSITE ? -1 : (double)cells[i].callsite;
		calls[i] = mpix_table_number(t, cells[i].calls);
		ticks[i] = mpix_table_number(t, cells[i].ticks);
		bytes[i] = mpix_table_number(t, cells[i].bytes);
		wait[i] = mpix_table_number(t, cells[i].wait_ns);
	}
}

int mpix_columns_sample(const struct mpix_file *f, const struct mpix_entry *x, struct cursor c, struct mpix_table *t)
{
	struct mpix_sample_memory m = {0};
	struct mpix_sample s = {.start_ns = x->start_ns, .end_ns = x->end_ns};
	int rc = mpix_get_sample(c, f->lanes.n, f->info.nops, &m, &s);
	if (rc == 0 && m.cells.n != x->records)
		rc = -EBADMSG;
	if (rc == 0) {
		double *numbers = mpix_table_column(t, MPIX_F64, 2);
		if (numbers != NULL) {
			numbers[0] = mpix_table_number(t, s.number);
			numbers[1] = s.samples;
		}
		put_threads(&s, t);
		put_cells(m.cells.at, (uint32_t)m.cells.n, t);
		rc = t->rc;
	}
	mpix_sample_done(&m);
	return rc;
}

/* ---- flows ---- */

int mpix_columns_flow(const struct mpix_file *f, struct cursor c, struct mpix_table *t)
{
	bool old = f->super.version == 1;
	uint64_t n, v[4],
		ends = old ? points(f->info.ranks, f->v1.flow_ranks) : points(f->info.places, f->shape.flow_places);
	if (rd_varint(&c, &n) < 0 || n > cursor_left(&c) / 4)
		return -EBADMSG;
	uint32_t *src = mpix_table_column(t, MPIX_U32, (uint32_t)n), *dst = mpix_table_column(t, MPIX_U32, (uint32_t)n);
	double *messages = mpix_table_column(t, MPIX_F64, (uint32_t)n);
	double *bytes = mpix_table_column(t, MPIX_F64, (uint32_t)n);
	for (uint64_t i = 0; i < n && t->rc != -ENOMEM; i++) {
		for (unsigned k = 0; k < 4; k++)
			if (rd_varint(&c, &v[k]) < 0)
				return -EBADMSG;
		if (v[0] >= ends || v[1] >= ends)
			return -EBADMSG;
		src[i] = (uint32_t)v[0];
		dst[i] = (uint32_t)v[1];
		messages[i] = mpix_table_number(t, v[2]);
		bytes[i] = mpix_table_number(t, v[3]);
	}
	return t->rc == 0 && cursor_left(&c) > 0 ? -EBADMSG : t->rc;
}
