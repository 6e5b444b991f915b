/* mpix_lod.c - levels of detail of messages: TOP, the largest of each time tile, and FLOW, sums between places.
 * In: messages part by part.  Out: chunks of every level, at the end.
 *
 * Both keep tiles of a finest grid. How fine the finest level that is written becomes follows from how many messages
 * there were: its tiles, and those of coarser levels, are made of the grid's. A message belongs to the tile in which
 * its send starts. Grids are bounded: a tile of TOP takes at most 100 KB, and all of FLOW 64 MB. */
#include "format/mpix_lod.h"

#include "base/index.h"
#include "base/vec.h"

#include <stdlib.h>

#define TOP_GRID_MAX 9u	     /* levels: 512 tiles */
#define TOP_GRID_UNKNOWN 6u  /* where it is not known how many messages come */
#define TILE_MESSAGES 65536u /* a finest tile has more than these */
#define TILE_RECORDS_MAX (MPIX_TOP_RECORDS + MPIX_TOP_RECORDS / 2)
#define NODES_MAX 1024u
#define FLOW_CELLS_MAX (1u << 22)

/* ---- grids ---- */

static uint32_t grid_for(uint64_t events)
{
	uint32_t level = 0;
	if (events == 0)
		return TOP_GRID_UNKNOWN;
	while (level < TOP_GRID_MAX && ((uint64_t)TILE_MESSAGES << level) < events) /* rather too fine */
		level++;
	return level;
}

int mpix_lod_init(struct mpix_lod *l, struct mpix_head *h)
{
	h->shape.flow_places = (h->info.places + NODES_MAX - 1) / NODES_MAX;
	l->nodes = (h->info.places + h->shape.flow_places - 1) / h->shape.flow_places;
	l->top_grid = l->flow_grid = grid_for(h->info.events_expected);
	while (l->flow_grid > 0 && ((uint64_t)l->nodes * l->nodes << l->flow_grid) > FLOW_CELLS_MAX)
		l->flow_grid--;
	l->top = calloc((size_t)1 << l->top_grid, sizeof(*l->top));
	l->flow = calloc((size_t)1 << l->flow_grid, sizeof(*l->flow));
	return l->top != NULL && l->flow != NULL ? 0 : -ENOMEM;
}

void mpix_lod_done(struct mpix_lod *l)
{
	for (size_t i = 0; l->top != NULL && i < (size_t)1 << l->top_grid; i++)
		free(l->top[i].at);
	for (size_t i = 0; l->flow != NULL && i < (size_t)1 << l->flow_grid; i++)
		free(l->flow[i]);
	free(l->top);
	free(l->flow);
}

static uint32_t tile_of(const struct mpix_head *h, int64_t time_ns, uint32_t level)
{
	double share = h->info.runtime_ns > 0 ? (double)time_ns / (double)h->info.runtime_ns : 0;
	uint32_t tiles = 1u << level;
	if (share <= 0)
		return 0;
	return share >= 1 ? tiles - 1 : (uint32_t)(share * tiles);
}

/* ---- packing ---- */

static bool is_larger(const struct mpix_candidate_key *x, const struct mpix_candidate_key *y)
{
	return x->bytes != y->bytes ? x->bytes > y->bytes : x->order < y->order;
}

/* Bring the `want` largest of n to the front, in any order. */
static void select_largest(struct mpix_candidate_key *keys, uint32_t n, uint32_t want)
{
	uint32_t first = 0, last = n;
	while (last - first > 1 && want > first && want < last) {
		struct mpix_candidate_key pivot = keys[first + (last - first - 1) / 2], swap; /* not the last */
		uint32_t i = first, k = last - 1;
		for (;; i++, k--) {
			while (is_larger(&keys[i], &pivot))
				i++;
			while (is_larger(&pivot, &keys[k]))
				k--;
			if (i >= k)
				break;
			swap = keys[i];
			keys[i] = keys[k];
			keys[k] = swap;
		}
		if (want <= k + 1)
			last = k + 1;
		else
			first = k + 1;
	}
}

static uint64_t order_of(const struct mpix_link *x)
{
	const struct mpix_position *a = x->completion.window != MPIX_NOWHERE ? &x->completion : &x->recv;
	uint64_t h = index_mix((uint64_t)a->window << 32 | a->index, (uint64_t)a->lane << 32 | x->recv.index);
	return index_mix(h, (uint64_t)x->send.lane << 32 | x->send.index);
}

static uint32_t node_of(const struct mpix_head *h, uint32_t rank)
{
	return h->info.place_of_rank == NULL ? 0 : h->info.place_of_rank[rank] / h->shape.flow_places;
}

struct sought_flow {
	const struct mpix_flow *flows, *like;
};

static bool is_flow(const void *context, uint32_t at)
{
	const struct sought_flow *x = context;
	const struct mpix_flow *f = &x->flows[at];
	return f->tile == x->like->tile && f->src == x->like->src && f->dst == x->like->dst;
}

static int add_flow(struct mpix_scratch *s, struct mpix_packed *p, uint32_t tile, uint32_t src, uint32_t dst,
		    uint64_t bytes)
{
	struct mpix_flow like = {tile, src, dst, 0, 0};
	struct sought_flow sought = {p->flows, &like};
	if (p->nflows == 0 || !is_flow(&sought, s->last_flow)) {
		uint64_t hash = index_mix((uint64_t)src << 32 | dst, tile);
		s->last_flow = index_find(&s->by_flow, hash, is_flow, &sought);
		if (s->last_flow == INDEX_NONE) {
			s->last_flow = (uint32_t)p->nflows;
			if (vec_grow(&p->flows, &p->cap_flows, p->nflows + 1, sizeof(*p->flows)) < 0 ||
			    index_add(&s->by_flow, hash, s->last_flow) < 0)
				return -ENOMEM;
			p->flows[p->nflows++] = like;
		}
	}
	p->flows[s->last_flow].messages++;
	p->flows[s->last_flow].bytes += bytes;
	return 0;
}

/* By tile, of which there are few. */
static int sort_by_tile(struct mpix_scratch *s, uint32_t n, uint32_t first_tile, uint32_t tiles)
{
	if (vec_grow(&s->keys, &s->cap_keys, 2 * (size_t)n, sizeof(*s->keys)) < 0 ||
	    vec_grow(&s->counts, &s->cap_counts, tiles + 1, sizeof(*s->counts)) < 0)
		return -ENOMEM;
	struct mpix_candidate_key *sorted = s->keys + n;
	memset(s->counts, 0, (tiles + 1) * sizeof(*s->counts));
	for (uint32_t i = 0; i < n; i++)
		s->counts[s->keys[i].tile - first_tile + 1]++;
	for (uint32_t i = 1; i < tiles; i++)
		s->counts[i] += s->counts[i - 1];
	for (uint32_t i = 0; i < n; i++)
		sorted[s->counts[s->keys[i].tile - first_tile]++] = s->keys[i];
	memcpy(s->keys, sorted, n * sizeof(*sorted));
	return 0;
}

static int keep_candidates(const struct mpix_part *part, struct mpix_scratch *s, struct mpix_packed *p)
{
	for (uint32_t first = 0, n; first < part->nlinks; first += n) {
		for (n = 1; first + n < part->nlinks && s->keys[first + n].tile == s->keys[first].tile;)
			n++;
		uint32_t keep = n < MPIX_TOP_RECORDS ? n : MPIX_TOP_RECORDS;
		select_largest(s->keys + first, n, keep);
		if (vec_grow(&p->candidates, &p->cap_candidates, p->ncandidates + keep, sizeof(*p->candidates)) < 0 ||
		    vec_grow(&p->tiles, &p->cap_tiles, p->ntiles + 1, sizeof(*p->tiles)) < 0)
			return -ENOMEM;
		p->tiles[p->ntiles++] = (struct mpix_tile_count){s->keys[first].tile, n};
		for (uint32_t i = first; i < first + keep; i++)
			p->candidates[p->ncandidates++] = (struct mpix_candidate){part->links[s->keys[i].at].message,
										  s->keys[i].order, s->keys[i].tile};
	}
	return 0;
}

int mpix_lod_pack(const struct mpix_lod *l, const struct mpix_head *h, const struct mpix_part *part,
		  struct mpix_scratch *s, struct mpix_packed *p)
{
	uint32_t shift = l->top_grid - l->flow_grid, first = UINT32_MAX, last = 0;
	if (vec_grow(&s->keys, &s->cap_keys, part->nlinks, sizeof(*s->keys)) < 0)
		return -ENOMEM;
	index_clear(&s->by_flow);
	for (uint32_t i = 0; i < part->nlinks; i++) {
		const struct mpix_message *x = &part->links[i].message;
		uint32_t tile = tile_of(h, x->send_start_ns, l->top_grid);
		s->keys[i] = (struct mpix_candidate_key){x->bytes, order_of(&part->links[i]), i, tile};
		first = tile < first ? tile : first;
		last = tile > last ? tile : last;
		if (add_flow(s, p, tile >> shift, node_of(h, x->src), node_of(h, x->dst), x->bytes) < 0)
			return -ENOMEM;
	}
	if (first < last && sort_by_tile(s, part->nlinks, first, last - first + 1) < 0)
		return -ENOMEM;
	return keep_candidates(part, s, p);
}

/* ---- adding up ---- */

static int larger_first(const void *a, const void *b)
{
	const struct mpix_candidate *x = a, *y = b;
	if (x->message.bytes != y->message.bytes)
		return x->message.bytes > y->message.bytes ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (x->message.send_start_ns > y->message.send_start_ns) -
	       (x->message.send_start_ns < y->message.send_start_ns);
}

static void keep_largest(struct mpix_top_tile *t)
{
	if (t->n <= MPIX_TOP_RECORDS)
		return;
	qsort(t->at, t->n, sizeof(*t->at), larger_first);
	t->n = MPIX_TOP_RECORDS;
	t->full = true;
}

static int add_candidate(struct mpix_top_tile *t, const struct mpix_candidate *x)
{
	if (t->full && larger_first(x, &t->at[MPIX_TOP_RECORDS - 1]) >= 0)
		return 0;
	if (t->at == NULL && (t->at = malloc(TILE_RECORDS_MAX * sizeof(*t->at))) == NULL)
		return -ENOMEM;
	if (t->n == TILE_RECORDS_MAX)
		keep_largest(t);
	t->at[t->n++] = *x;
	return 0;
}

static int add_flow_sum(struct mpix_lod *l, const struct mpix_flow *f)
{
	struct mpix_flow_sum **tile = &l->flow[f->tile];
	if (*tile == NULL && (*tile = calloc((size_t)l->nodes * l->nodes, sizeof(**tile))) == NULL)
		return -ENOMEM;
	struct mpix_flow_sum *sum = &(*tile)[(size_t)f->src * l->nodes + f->dst];
	sum->messages += f->messages;
	sum->bytes += f->bytes;
	return 0;
}

int mpix_lod_put(struct mpix_lod *l, const struct mpix_packed *p)
{
	for (size_t i = 0; i < p->ncandidates; i++)
		if (add_candidate(&l->top[p->candidates[i].tile], &p->candidates[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < p->ntiles; i++)
		l->top[p->tiles[i].tile].messages += p->tiles[i].messages;
	for (size_t i = 0; i < p->nflows; i++)
		if (add_flow_sum(l, &p->flows[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* ---- writing ---- */

static struct mpix_entry tile_entry(const struct mpix_head *h, enum mpix_kind kind, uint32_t level, uint32_t tile)
{
	double width = (double)h->info.runtime_ns / (1u << level);
	return (struct mpix_entry){.kind = (uint8_t)kind,
				   .level = (uint8_t)level,
				   .seq = tile,
				   .start_ns = (int64_t)(width * tile),
				   .end_ns = (int64_t)(width * (tile + 1))};
}

static int earlier_first(const void *a, const void *b)
{
	const struct mpix_candidate *x = a, *y = b;
	if (x->message.send_start_ns != y->message.send_start_ns)
		return x->message.send_start_ns < y->message.send_start_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int write_top(const struct mpix_head *h, struct mpix_chunks *out, struct mpix_top_tile *t, uint32_t level,
		     uint32_t tile, struct error *e)
{
	struct mpix_entry entry = tile_entry(h, MPIX_TOP, level, tile);
	struct buf columns[MPIX_MESSAGE_COLUMNS] = {{0}};
	int64_t clock = 0;
	if (t->n == 0)
		return 0;
	keep_largest(t);
	qsort(t->at, t->n, sizeof(*t->at), earlier_first);
	t->full = false; /* no longer in that order */
	for (uint32_t i = 0; i < t->n; i++)
		mpix_put_message(columns, &t->at[i].message, &clock);
	buf_varint(&out->raw, t->n);
	mpix_join_columns(columns, MPIX_MESSAGE_COLUMNS, &out->raw);
	for (unsigned i = 0; i < MPIX_MESSAGE_COLUMNS; i++)
		buf_done(&columns[i]);
	entry.records = t->messages > UINT32_MAX ? UINT32_MAX : (uint32_t)t->messages;
	return mpix_write_chunk(out, entry, e);
}

static int write_flow(const struct mpix_head *h, struct mpix_chunks *out, uint32_t nodes,
		      const struct mpix_flow_sum *sums, uint32_t level, uint32_t tile, struct error *e)
{
	struct mpix_entry entry = tile_entry(h, MPIX_FLOW, level, tile);
	size_t cells = (size_t)nodes * nodes;
	if (sums == NULL)
		return 0;
	for (size_t i = 0; i < cells; i++)
		entry.records += sums[i].messages > 0;
	buf_varint(&out->raw, entry.records);
	for (size_t i = 0; i < cells; i++) {
		if (sums[i].messages == 0)
			continue;
		buf_varint(&out->raw, i / nodes);
		buf_varint(&out->raw, i % nodes);
		buf_varint(&out->raw, sums[i].messages);
		buf_varint(&out->raw, sums[i].bytes);
	}
	return mpix_write_chunk(out, entry, e);
}

/* The largest of two tiles are among the largest of each. Frees right. */
static int join_top(struct mpix_top_tile *left, struct mpix_top_tile *right)
{
	int rc = 0;
	keep_largest(left);
	left->full = false;
	for (uint32_t i = 0; i < right->n && rc == 0; i++)
		rc = add_candidate(left, &right->at[i]);
	left->messages += right->messages;
	free(right->at);
	*right = (struct mpix_top_tile){0};
	return rc;
}

static int halve_top(struct mpix_lod *l, uint32_t tiles)
{
	int rc = 0;
	for (uint32_t i = 0; i < tiles / 2 && rc == 0; i++) {
		rc = join_top(&l->top[2 * i], &l->top[2 * i + 1]);
		if (i > 0) {
			l->top[i] = l->top[2 * i];
			l->top[2 * i] = (struct mpix_top_tile){0};
		}
	}
	return rc;
}

static void halve_flow(struct mpix_lod *l, uint32_t tiles)
{
	size_t cells = (size_t)l->nodes * l->nodes;
	for (uint32_t i = 0; i < tiles / 2; i++) {
		struct mpix_flow_sum *left = l->flow[2 * i], *right = l->flow[2 * i + 1];
		for (size_t k = 0; left != NULL && right != NULL && k < cells; k++) {
			left[k].messages += right[k].messages;
			left[k].bytes += right[k].bytes;
		}
		if (left != NULL)
			free(right);
		l->flow[2 * i] = l->flow[2 * i + 1] = NULL;
		l->flow[i] = left != NULL ? left : right;
	}
}

/* Levels that so many messages are worth. */
static uint32_t levels_for(uint64_t messages)
{
	uint32_t levels = 1;
	while (((uint64_t)TILE_MESSAGES << levels) <= messages)
		levels++;
	return levels;
}

static int write_tops(struct mpix_lod *l, const struct mpix_head *h, struct mpix_chunks *out, struct error *e)
{
	int rc = 0;
	for (uint32_t level = l->top_grid + 1; level-- > 0 && rc == 0;) {
		for (uint32_t i = 0; i < 1u << level && level < h->shape.top_levels && rc == 0; i++)
			rc = write_top(h, out, &l->top[i], level, i, e);
		if (level > 0 && rc == 0 && halve_top(l, 1u << level) < 0)
			rc = fail(e, -ENOMEM, "%s: out of memory", out->file.path);
	}
	return rc;
}

int mpix_lod_write(struct mpix_lod *l, struct mpix_head *h, struct mpix_chunks *out, struct error *e)
{
	uint32_t levels = levels_for(h->shape.messages);
	h->shape.top_levels = levels < l->top_grid + 1 ? levels : l->top_grid + 1;
	h->shape.flow_levels = levels < l->flow_grid + 1 ? levels : l->flow_grid + 1;
	int rc = write_tops(l, h, out, e);
	for (uint32_t level = l->flow_grid + 1; level-- > 0 && rc == 0;) {
		for (uint32_t i = 0; i < 1u << level && level < h->shape.flow_levels && rc == 0; i++)
			rc = write_flow(h, out, l->nodes, l->flow[i], level, i, e);
		if (level > 0)
			halve_flow(l, 1u << level);
	}
	return rc;
}
