/* export_lend.c - groups of ranks of the file whose ranks are in several processes: that of the first rank packs, and
 * the others lend it what they have of the window at hand. In: lanes and what shards found.  Out: the same lists,
 * there. */
#include "postproc/export_parts.h"

/* What ranks of one group in another process have of the window at hand: lists as above, and columns behind them. */
struct lent {
	uint32_t group, nruns, ncarried, nlinks, nwaits, nextras;
	uint64_t bytes; /* of columns */
};

/* Columns begin where numbers of 64 bits do. */
static void pad(struct buf *b)
{
	while (b->len_bytes % 8 != 0 && !buf_failed(b))
		buf_u8(b, 0);
}

static void put_columns(struct buf *b, const struct mpix_run *r)
{
	put(b, r->enter, r->n * sizeof(*r->enter));
	put(b, r->leave, r->n * sizeof(*r->leave));
	put(b, r->start_ns, r->n * sizeof(*r->start_ns));
	put(b, r->end_ns, r->n * sizeof(*r->end_ns));
	put(b, r->numbers, r->nnumbers * sizeof(*r->numbers));
	put(b, r->sig, r->n * sizeof(*r->sig));
	pad(b);
}

static void put_gathered(struct buf *b, const struct gathered *g, uint32_t number)
{
	struct lent h = {number,
			 (uint32_t)g->runs.n,
			 (uint32_t)g->carried.n,
			 (uint32_t)g->links.n,
			 (uint32_t)g->waits.n,
			 (uint32_t)g->extras.n,
			 0};
	pad(b);
	size_t at = b->len_bytes;
	put(b, &h, sizeof(h));
	put(b, g->runs.at, g->runs.n * sizeof(*g->runs.at));
	put(b, g->carried.at, g->carried.n * sizeof(*g->carried.at));
	put(b, g->links.at, g->links.n * sizeof(*g->links.at));
	put(b, g->waits.at, g->waits.n * sizeof(*g->waits.at));
	put(b, g->extras.at, g->extras.n * sizeof(*g->extras.at));
	pad(b);
	for (size_t i = 0; i < g->runs.n; i++)
		put_columns(b, &g->runs.at[i]);
	if (buf_failed(b))
		return;
	h.bytes = b->len_bytes - at - sizeof(h);
	memcpy(b->data + at, &h, sizeof(h));
}

#define TAKE_ALL(in, v, count) take_all(in, &(v)->at, &(v)->n, &(v)->cap, sizeof(*(v)->at), count)

static int take_all(struct cursor *in, void *at, size_t *n, size_t *cap, size_t size, uint32_t count)
{
	char *to;
	if (vec_grow(at, cap, *n + count, size) < 0)
		return -ENOMEM;
	memcpy(&to, at, sizeof(to));
	int code = count > 0 ? rd_copy(in, to + *n * size, count * size) : 0;
	*n += count;
	return code;
}

static int skip_to_eight(struct cursor *in, const uint8_t *from)
{
	struct span unused;
	return rd_bytes(in, (size_t)(-(in->pos - from) & 7), &unused);
}

static int take_columns(struct cursor *in, struct mpix_run *r, const uint8_t *from)
{
	struct span enter, leave, start, end, numbers, sig;
	size_t bytes = (size_t)r->n * 8;
	if (rd_bytes(in, bytes, &enter) < 0 || rd_bytes(in, bytes, &leave) < 0 || rd_bytes(in, bytes, &start) < 0 ||
	    rd_bytes(in, bytes, &end) < 0 || rd_bytes(in, r->nnumbers * sizeof(*r->numbers), &numbers) < 0 ||
	    rd_bytes(in, r->n * sizeof(*r->sig), &sig) < 0 || skip_to_eight(in, from) < 0)
		return -EBADMSG;
	r->enter = (const void *)enter.data;
	r->leave = (const void *)leave.data;
	r->start_ns = (const void *)start.data;
	r->end_ns = (const void *)end.data;
	r->numbers = (const void *)numbers.data;
	r->sig = (const void *)sig.data;
	return 0;
}

/* Behind what the ranks before have. */
int export_take_lent(struct gathered *g, struct cursor in)
{
	struct lent h;
	const uint8_t *from = in.pos;
	size_t runs = g->runs.n;
	int code = rd_copy(&in, &h, sizeof(h));
	if (code == 0)
		code = TAKE_ALL(&in, &g->runs, h.nruns);
	if (code == 0)
		code = TAKE_ALL(&in, &g->carried, h.ncarried);
	if (code == 0)
		code = TAKE_ALL(&in, &g->links, h.nlinks);
	if (code == 0)
		code = TAKE_ALL(&in, &g->waits, h.nwaits);
	if (code == 0)
		code = TAKE_ALL(&in, &g->extras, h.nextras);
	if (code == 0)
		code = skip_to_eight(&in, from);
	for (; runs < g->runs.n && code == 0; runs++)
		code = take_columns(&in, &g->runs.at[runs], from);
	return code;
}

bool export_packs_here(const struct stream *st, uint32_t group)
{
	return team_has_rank(st, export_first_rank(group));
}

int export_lend(void *context, struct stream *st)
{
	struct export *x = context;
	int code = 0;
	struct gathered *g = export_room(x);
	if (g == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->ngroups && code == 0; i++) {
		bool has_some = false;
		for (uint32_t r = export_first_rank(i); r < export_end_rank(x, i); r++)
			has_some |= team_has_rank(st, r);
		if (!has_some || export_packs_here(st, i))
			continue;
		code = export_gather(x, st, i, g);
		put_gathered(&st->team->out[team_process_of_rank(st, export_first_rank(i))], g, i);
	}
	export_give_room(x, g);
	return code;
}

int export_borrow(void *context, struct stream *st, uint32_t from, struct cursor *c)
{
	struct export *x = context;
	const uint8_t *begin = st->team->in[from].data;
	int code = 0;
	while (cursor_left(c) > 0 && code == 0) {
		struct lent h;
		struct span whole;
		struct cursor here;
		code = skip_to_eight(c, begin);
		if (cursor_left(c) == 0)
			return code;
		here = *c;
		if (rd_copy(c, &h, sizeof(h)) < 0 || h.group >= x->ngroups || rd_bytes(c, h.bytes, &whole) < 0)
			return -EBADMSG;
		here.end = c->pos;
		code = vec_push(&x->groups[h.group].lent, here);
	}
	return code;
}
