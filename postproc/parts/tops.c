/* tops.c - "top_ranks_by_*_bytes" and "top_links": who carries the point-to-point traffic. */
#include "postproc/analysis.h"

#define TOP 16

struct top {
	uint32_t at;
	uint64_t value;
};

static int by_value(const void *a, const void *b)
{
	const struct top *x = a, *y = b;
	return x->value != y->value ? (x->value < y->value) - (x->value > y->value) : (x->at > y->at) - (x->at < y->at);
}

static uint64_t out_bytes(const struct rank_totals *t)
{
	return t->bytes_out;
}

static uint64_t in_bytes(const struct rank_totals *t)
{
	return t->bytes_in;
}

static uint64_t touch_bytes(const struct rank_totals *t)
{
	return t->bytes_out + t->bytes_in;
}

static int put_ranks(struct analysis *a, const char *name, uint64_t (*value)(const struct rank_totals *))
{
	uint32_t n = a->step->nranks;
	struct top *tops = malloc(n * sizeof(*tops));
	if (tops == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < n; r++)
		tops[r] = (struct top){r, value(&a->ranks[r])};
	qsort(tops, n, sizeof(*tops), by_value);
	cJSON *list = json_array(a->root, name);
	for (uint32_t i = 0; i < n && i < TOP && tops[i].value > 0; i++) {
		cJSON *row = json_row(list);
		json_put(row, "rank", tops[i].at);
		json_put(row, "bytes", (double)tops[i].value);
	}
	free(tops);
	return 0;
}

static int put_links(struct analysis *a)
{
	const struct traffic *t = &a->p2p;
	struct top *tops = malloc((t->links.n + 1) * sizeof(*tops));
	if (tops == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->links.n; i++)
		tops[i] = (struct top){i, t->links.at[i].bytes};
	qsort(tops, t->links.n, sizeof(*tops), by_value);
	cJSON *list = json_array(a->root, "top_links");
	for (size_t i = 0; i < t->links.n && i < TOP; i++) {
		const struct link *c = &t->links.at[tops[i].at];
		cJSON *row = json_row(list);
		json_put(row, "src", c->src);
		json_put(row, "dst", c->dst);
		json_put(row, "messages", (double)c->count);
		json_put(row, "bytes", (double)c->bytes);
	}
	free(tops);
	return 0;
}

int part_tops(struct analysis *a)
{
	int code = put_ranks(a, "top_ranks_by_out_bytes", out_bytes);
	if (code == 0)
		code = put_ranks(a, "top_ranks_by_in_bytes", in_bytes);
	if (code == 0)
		code = put_ranks(a, "top_ranks_by_touch_bytes", touch_bytes);
	return code == 0 ? put_links(a) : code;
}
