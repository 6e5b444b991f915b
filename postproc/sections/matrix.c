/* matrix.c - "matrix": point-to-point, collective and one-sided traffic between world ranks, kept apart.
 * Very dense matrices are cut to the links with the most bytes; how much is left out stands beside.
 */
#include "postproc/analysis.h"

#define MATRIX_ROWS_MAX 65536u
/* From totals the page is made at once, and each row costs a microsecond: of larger matrices it has the groups of
 * "traffic_levels". */
#define TOTALS_LINKS_MAX 4096u

static int by_place(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	uint64_t p = (uint64_t)x->src << 32 | x->dst, q = (uint64_t)y->src << 32 | y->dst;
	return (p > q) - (p < q);
}

/* Most bytes, then most of them, then as they stand in the matrix. */
static int by_bytes(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	if (x->bytes != y->bytes)
		return (x->bytes < y->bytes) - (x->bytes > y->bytes);
	if (x->count != y->count)
		return (x->count < y->count) - (x->count > y->count);
	return by_place(a, b);
}

static void put_links(cJSON *list, const struct link *links, size_t n, const char *count_name)
{
	for (size_t i = 0; i < n; i++) {
		cJSON *row = json_row(list);
		json_put(row, "src", links[i].src);
		json_put(row, "dst", links[i].dst);
		json_put(row, count_name, (double)links[i].count);
		json_put(row, "bytes", (double)links[i].bytes);
	}
}

/* The largest of all, at most MATRIX_ROWS_MAX, as they stand in the matrix; room for twice as many. How many. */
static size_t choose(const struct traffic *t, struct link *kept)
{
	struct link_walk w = {t, 0, 0};
	struct link x;
	size_t n = 0;
	bool full = false; /* the last of those that are shown is known */
	while (link_next(&w, &x)) {
		if (full && by_bytes(&x, &kept[MATRIX_ROWS_MAX - 1]) > 0)
			continue;
		kept[n++] = x;
		if (n < 2 * MATRIX_ROWS_MAX)
			continue;
		qsort(kept, n, sizeof(*kept), by_bytes);
		n = MATRIX_ROWS_MAX;
		full = true;
	}
	if (n <= MATRIX_ROWS_MAX && !full)
		return n;
	qsort(kept, n, sizeof(*kept), by_bytes);
	qsort(kept, MATRIX_ROWS_MAX, sizeof(*kept), by_place);
	return MATRIX_ROWS_MAX;
}

static bool is_left_out(const struct analysis *a, const struct traffic *t)
{
	return a->step->totals && t->nlinks > TOTALS_LINKS_MAX;
}

static int put_matrix(const struct analysis *a, cJSON *matrix, const char *name, const struct traffic *t,
		      const char *count_name)
{
	if (is_left_out(a, t)) {
		json_array(matrix, name);
		return 0;
	}
	struct link *kept = malloc(2 * MATRIX_ROWS_MAX * sizeof(*kept));
	if (kept == NULL)
		return -ENOMEM;
	size_t n = choose(t, kept);
	put_links(json_array(matrix, name), kept, n, count_name);
	free(kept);
	return 0;
}

static void put_left_out(const struct analysis *a, cJSON *matrix, const char *name, const struct traffic *t)
{
	uint64_t shown = is_left_out(a, t) ? 0 : t->nlinks < MATRIX_ROWS_MAX ? t->nlinks : MATRIX_ROWS_MAX;
	json_put(matrix, name, (double)(t->nlinks - shown + t->links_left_out));
}

int analysis_matrix(struct analysis *a)
{
	cJSON *m = json_object(a->root, "matrix");
	int code = put_matrix(a, m, "p2p", &a->p2p, "messages");
	if (code == 0)
		code = put_matrix(a, m, "collective", &a->coll, "operations");
	if (code == 0)
		code = put_matrix(a, m, "rma", &a->rma, "operations");
	put_left_out(a, m, "p2p_pairs_left_out", &a->p2p);
	put_left_out(a, m, "collective_pairs_left_out", &a->coll);
	put_left_out(a, m, "rma_pairs_left_out", &a->rma);
	return code;
}
