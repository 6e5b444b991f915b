/* mpix_meta.c - META of an .mpix file: numbers, names, lanes, clocks and places of its ranks. See mpix_layout.h. */
#include "format/mpix_layout.h"

#include <stdlib.h>

/* ---- lanes ---- */

int mpix_lanes_make(struct mpix_lanes *ret_lanes, uint32_t ranks, const uint32_t *threads)
{
	uint64_t n = 0;
	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t of_rank = threads != NULL ? threads[r] : 1;
		if (of_rank < 1 || of_rank > MPIC_THREADS_MAX)
			return -EINVAL;
		n += of_rank;
	}
	if (n > MPIX_LANES_MAX)
		return -EINVAL;
	struct mpix_lanes l = {malloc((ranks + 1u) * sizeof(*l.first)), malloc((n + 1) * sizeof(*l.rank)), 0};
	if (l.first == NULL || l.rank == NULL) {
		mpix_lanes_done(&l);
		return -ENOMEM;
	}
	for (uint32_t r = 0; r < ranks; r++) {
		l.first[r] = l.n;
		for (uint32_t end = l.n + (threads != NULL ? threads[r] : 1); l.n < end; l.n++)
			l.rank[l.n] = r;
	}
	l.first[ranks] = l.n;
	*ret_lanes = l;
	return 0;
}

void mpix_lanes_done(struct mpix_lanes *l)
{
	free(l->first);
	free(l->rank);
	*l = (struct mpix_lanes){0};
}

/* ---- writing ---- */

static void put_names(struct buf *out, const char *const *names, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]);
		len = len > MPIX_OP_NAME_MAX ? MPIX_OP_NAME_MAX : len;
		buf_u8(out, (uint8_t)len);
		buf_bytes(out, names[i], len);
	}
}

/* values of n things as runs of equal ones; NULL, or all as if there were no list: no runs. */
static void put_runs(struct buf *out, const uint32_t *values, uint32_t n, uint32_t usual)
{
	uint32_t runs = 0, others = 0;
	for (uint32_t i = 0; values != NULL && i < n; i++) {
		runs += i == 0 || values[i] != values[i - 1];
		others += values[i] != usual;
	}
	buf_varint(out, others > 0 ? runs : 0);
	for (uint32_t i = 0, end; others > 0 && i < n; i = end) {
		for (end = i + 1; end < n && values[end] == values[i];)
			end++;
		buf_varint(out, end - i);
		buf_varint(out, values[i]);
	}
}

void mpix_put_meta(struct buf *out, const struct mpix_info *info, const struct mpix_shape *s)
{
	const uint32_t words[] = {s->group_ranks, s->rows,	 s->bins,	 s->row_factor,	 s->time_levels,
				  s->rank_levels, s->top_levels, s->flow_levels, s->flow_places, info->places,
				  s->windows,	  info->nclocks, info->lanes};
	buf_u32(out, info->ranks);
	buf_u64(out, (uint64_t)info->runtime_ns);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		buf_u32(out, words[i]);
	buf_u64(out, s->events);
	buf_u64(out, s->messages);
	buf_u64(out, s->waits);
	buf_u32(out, info->nops);
	put_names(out, info->ops, info->nops);
	put_runs(out, info->threads, info->ranks, 1);
	put_runs(out, info->clock_of_lane, info->lanes, 0);
	put_runs(out, info->place_of_rank, info->ranks, 0);
}

/* ---- reading ---- */

static bool is_printable(const char *text, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return true;
}

int mpix_get_names(struct cursor *c, uint32_t n, const char ***ret_names)
{
	size_t text_bytes = cursor_left(c) + 1; /* each name's length byte becomes its NUL */
	const char **names = malloc(n * sizeof(*names) + text_bytes);
	if (names == NULL)
		return -ENOMEM;
	char *text = (char *)(names + n);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t len;
		if (rd_u8(c, &len) < 0 || rd_copy(c, text, len) < 0 || !is_printable(text, len)) {
			free(names);
			return -EBADMSG;
		}
		names[i] = text;
		text += len;
		*text++ = 0;
	}
	*ret_names = names;
	return 0;
}

/* Values of n things, each from least to below limit; NULL without runs. */
static int get_runs(struct cursor *c, uint32_t n, uint32_t least, uint32_t limit, const uint32_t **ret_values)
{
	uint64_t runs, count, value;
	uint32_t done = 0;
	if (rd_varint(c, &runs) < 0 || runs > n)
		return -EBADMSG;
	if (runs == 0)
		return 0;
	uint32_t *values = malloc(n * sizeof(*values));
	if (values == NULL)
		return -ENOMEM;
	*ret_values = values; /* freed with the rest */
	for (uint64_t i = 0; i < runs; i++) {
		if (rd_varint(c, &count) < 0 || rd_varint(c, &value) < 0 || count < 1 || count > n - done ||
		    value < least || value >= limit)
			return -EBADMSG;
		for (uint64_t k = 0; k < count; k++)
			values[done++] = (uint32_t)value;
	}
	return done == n ? 0 : -EBADMSG;
}

static bool shape_is_sane(const struct mpix_info *info, const struct mpix_shape *s)
{
	return info->ranks >= 1 && info->ranks <= RANKS_MAX && info->runtime_ns >= 0 &&
	       info->runtime_ns <= MPIX_RUNTIME_MAX_NS && info->nops <= MPIX_OPS_MAX && s->group_ranks >= 1 &&
	       s->group_ranks <= RANKS_MAX && s->rows >= 1 && s->rows <= 4096 && s->bins >= 1 && s->bins <= 4096 &&
	       s->row_factor >= 2 && s->row_factor <= 64 && s->time_levels <= 32 && s->rank_levels <= 32 &&
	       s->top_levels <= 32 && s->flow_levels <= 32 && s->flow_places >= 1 && s->flow_places <= RANKS_MAX &&
	       info->places >= 1 && info->places <= RANKS_MAX && info->nclocks >= 1 &&
	       info->nclocks <= MPIX_LANES_MAX && info->lanes >= info->ranks && info->lanes <= MPIX_LANES_MAX;
}

static int get_numbers(struct cursor *c, struct mpix_info *info, struct mpix_shape *s)
{
	uint32_t *words[] = {&s->group_ranks, &s->rows,	      &s->bins,	       &s->row_factor,	&s->time_levels,
			     &s->rank_levels, &s->top_levels, &s->flow_levels, &s->flow_places, &info->places,
			     &s->windows,     &info->nclocks, &info->lanes};
	uint64_t runtime;
	if (rd_u32(c, &info->ranks) < 0 || rd_u64(c, &runtime) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (rd_u32(c, words[i]) < 0)
			return -EBADMSG;
	if (rd_u64(c, &s->events) < 0 || rd_u64(c, &s->messages) < 0 || rd_u64(c, &s->waits) < 0 ||
	    rd_u32(c, &info->nops) < 0)
		return -EBADMSG;
	info->runtime_ns = (int64_t)runtime;
	return shape_is_sane(info, s) ? 0 : -EBADMSG;
}

int mpix_get_meta(struct cursor c, struct mpix_info *ret_info, struct mpix_shape *ret_shape)
{
	const char **names = NULL;
	*ret_info = (struct mpix_info){0};
	int rc = get_numbers(&c, ret_info, ret_shape);
	if (rc == 0)
		rc = mpix_get_names(&c, ret_info->nops, &names);
	ret_info->ops = names;
	if (rc == 0)
		rc = get_runs(&c, ret_info->ranks, 1, MPIC_THREADS_MAX + 1, &ret_info->threads);
	if (rc == 0)
		rc = get_runs(&c, ret_info->lanes, 0, ret_info->nclocks, &ret_info->clock_of_lane);
	if (rc == 0)
		rc = get_runs(&c, ret_info->ranks, 0, ret_info->places, &ret_info->place_of_rank);
	return rc < 0 || cursor_left(&c) == 0 ? rc : -EBADMSG;
}

void mpix_info_done(struct mpix_info *info)
{
	free((void *)(uintptr_t)info->ops);
	free((void *)(uintptr_t)info->threads);
	free((void *)(uintptr_t)info->clock_of_lane);
	free((void *)(uintptr_t)info->place_of_rank);
	*info = (struct mpix_info){0};
}
