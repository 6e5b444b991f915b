/* choice.c - which ranks are to be exported. See export.h. */
#include "reports/export/format.h"

#include <stdlib.h>

int export_ranks_parse(const char *text, struct export_ranks *ret_ranks)
{
	struct export_ranks r = {.n = 0};
	while (r.n < EXPORT_RANGES_MAX) {
		char *end;
		unsigned long long first = strtoull(text, &end, 10), last = first;
		if (*text < '0' || *text > '9')
			return -EINVAL;
		if (*end == '-') {
			text = end + 1;
			last = strtoull(text, &end, 10);
			if (*text < '0' || *text > '9')
				return -EINVAL;
		}
		if (last < first || last >= RANKS_MAX)
			return -EINVAL;
		r.at[r.n++] = (struct export_range){(uint32_t)first, (uint32_t)last};
		if (*end == 0) {
			*ret_ranks = r;
			return 0;
		}
		if (*end != ',')
			return -EINVAL;
		text = end + 1;
	}
	return -EINVAL;
}

bool export_has_rank(const struct exporting *x, uint32_t rank)
{
	const struct export_ranks *r = &x->choice->ranks;
	for (uint32_t i = 0; i < r->n; i++)
		if (rank >= r->at[i].first && rank <= r->at[i].last)
			return true;
	return r->n == 0;
}
