/* tops.c - "top_ranks_by_*_bytes" and "top_links": who carries the point-to-point traffic. */
#include "postproc/analysis.h"
#include "postproc/sections/most.h"

#define TOP 16

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
	struct most *tops = malloc(n * sizeof(*tops));
	if (tops == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < n; r++)
		tops[r] = (struct most){r, (double)value(&a->ranks[r])};
	qsort(tops, n, sizeof(*tops), most_first);
	cJSON *list = json_array(a->root, name);
	for (uint32_t i = 0; i < n && i < TOP && tops[i].by > 0; i++) {
		cJSON *row = json_row(list);
		json_put(row, "rank", tops[i].at);
		json_put(row, "bytes", tops[i].by);
	}
	free(tops);
	return 0;
}

static int put_links(struct analysis *a)
{
	const struct traffic *t = &a->p2p;
	struct most *tops = malloc((t->links.n + 1) * sizeof(*tops));
	if (tops == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->links.n; i++)
		tops[i] = (struct most){i, (double)t->links.at[i].bytes};
	qsort(tops, t->links.n, sizeof(*tops), most_first);
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

int analysis_tops(struct analysis *a)
{
	int code = put_ranks(a, "top_ranks_by_out_bytes", out_bytes);
	if (code == 0)
		code = put_ranks(a, "top_ranks_by_in_bytes", in_bytes);
	if (code == 0)
		code = put_ranks(a, "top_ranks_by_touch_bytes", touch_bytes);
	return code == 0 ? put_links(a) : code;
}
