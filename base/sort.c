/* sort.c - see sort.h: a natural merge sort (Knuth, The Art of Computer Programming 3, 5.2.4, algorithm N). */
#include "base/sort.h"

#include <stdlib.h>

#include <stdbool.h>
#include <string.h>

#define SHORT_RUN 12u /* runs are made at least so long by inserting */

static bool is_less(const struct sort_key *a, const struct sort_key *b)
{
	return a->major != b->major ? a->major < b->major : a->minor < b->minor;
}

static size_t run_from(const struct sort_key *keys, size_t first, size_t n)
{
	size_t end = first + 1;
	while (end < n && !is_less(&keys[end], &keys[end - 1]))
		end++;
	return end;
}

/* Short runs become longer ones. */
static void insert_short(struct sort_key *keys, size_t n)
{
	for (size_t first = 0, end; first < n; first = end) {
		end = run_from(keys, first, n);
		size_t wanted = n - first < SHORT_RUN ? n : first + SHORT_RUN;
		for (; end < wanted; end++) {
			struct sort_key x = keys[end];
			size_t i = end;
			for (; i > first && is_less(&x, &keys[i - 1]); i--)
				keys[i] = keys[i - 1];
			keys[i] = x;
		}
	}
}

static void merge(struct sort_key *to, const struct sort_key *a, size_t na, const struct sort_key *b, size_t nb)
{
	const struct sort_key *a_end = a + na, *b_end = b + nb;
	while (a < a_end && b < b_end)
		*to++ = is_less(b, a) ? *b++ : *a++;
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
	memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

void sort_keys(struct sort_key *keys, struct sort_key *room, size_t n)
{
	struct sort_key *from = keys, *to = room, *swap;
	if (n < 2 || run_from(keys, 0, n) == n)
		return;
	insert_short(keys, n);
	for (size_t first = 0; run_from(from, 0, n) < n; first = 0) {
		while (first < n) {
			size_t middle = run_from(from, first, n), end = middle < n ? run_from(from, middle, n) : n;
			merge(to + first, from + first, middle - first, from + middle, end - middle);
			first = end;
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != keys)
		memcpy(keys, from, n * sizeof(*keys));
}

int sort_by_u32(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

int sort_by_i64(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

int sort_by_double(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

double sort_median(double *values, size_t n)
{
	if (n == 0)
		return 0;
	qsort(values, n, sizeof(*values), sort_by_double);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}
