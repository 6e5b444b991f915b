/* matrix.c - "matrix": point-to-point, collective and one-sided traffic between world ranks, kept apart.
 * Very dense matrices are cut to the links with the most bytes; how much is left out stands beside.
 */
#include "postproc/analysis.h"

#define MATRIX_ROWS_MAX 65536u

static int by_bytes(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	if (x->bytes != y->bytes)
		return (x->bytes < y->bytes) - (x->bytes > y->bytes);
	return (x->count < y->count) - (x->count > y->count);
}

static int by_place(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	uint64_t p = (uint64_t)x->src << 32 | x->dst, q = (uint64_t)y->src << 32 | y->dst;
	return (p > q) - (p < q);
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

static int put_matrix(cJSON *matrix, const char *name, const struct traffic *t, const char *count_name)
{
	cJSON *list = json_array(matrix, name);
	if (t->links.n <= MATRIX_ROWS_MAX) {
		put_links(list, t->links.at, t->links.n, count_name);
		return 0;
	}
	struct link *copy = malloc(t->links.n * sizeof(*copy));
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, t->links.at, t->links.n * sizeof(*copy));
	qsort(copy, t->links.n, sizeof(*copy), by_bytes);
	qsort(copy, MATRIX_ROWS_MAX, sizeof(*copy), by_place);
	put_links(list, copy, MATRIX_ROWS_MAX, count_name);
	free(copy);
	return 0;
}

static void put_left_out(cJSON *matrix, const char *name, const struct traffic *t)
{
	uint64_t shown = t->links.n < MATRIX_ROWS_MAX ? t->links.n : MATRIX_ROWS_MAX;
	json_put(matrix, name, (double)(t->links.n - shown + t->links_left_out));
}

int part_matrix(struct analysis *a)
{
	cJSON *m = json_object(a->root, "matrix");
	int code = put_matrix(m, "p2p", &a->p2p, "messages");
	if (code == 0)
		code = put_matrix(m, "collective", &a->coll, "operations");
	if (code == 0)
		code = put_matrix(m, "rma", &a->rma, "operations");
	put_left_out(m, "p2p_pairs_left_out", &a->p2p);
	put_left_out(m, "collective_pairs_left_out", &a->coll);
	put_left_out(m, "rma_pairs_left_out", &a->rma);
	return code;
}
