/* export_waits.c - see export_samples.h. Waits come window by window, so what is added to is near the end of a lane's
 * list. */
#include "base/search.h"
#include "postproc/export_samples.h"

#define LOOK_BACK 64u /* sums: more call sites wait in few samples, and those have two sums then */

static uint32_t sample_at(const struct wait_sums *w, int64_t ns)
{
	size_t at = search_first(0, w->ends_ns.n, i, w->ends_ns.at[i] <= ns);
	return (uint32_t)(at < w->ends_ns.n ? at : w->ends_ns.n - 1);
}

static int add_to(struct lane_waits *l, uint32_t sample, uint32_t site, int64_t ns)
{
	for (size_t i = l->sums.n, looks = 0; i-- > 0 && looks < LOOK_BACK; looks++) {
		struct wait_sum *x = &l->sums.at[i];
		if (x->sample != sample || x->site != site)
			continue;
		x->ns += ns;
		return 0;
	}
	return vec_push(&l->sums, (struct wait_sum){sample, site, ns});
}

int wait_sums_add(struct wait_sums *w, uint32_t lane, int64_t start_ns, int64_t ns, uint32_t site)
{
	if (w->ends_ns.n == 0 || lane >= w->nlanes || ns <= 0)
		return 0;
	int64_t end_ns = start_ns + ns;
	int code = 0;
	for (uint32_t s = sample_at(w, start_ns); start_ns < end_ns && code == 0; s++) {
		bool is_last = s + 1 >= w->ends_ns.n || w->ends_ns.at[s] >= end_ns;
		int64_t until_ns = is_last ? end_ns : w->ends_ns.at[s];
		code = add_to(&w->lanes[lane], s, site, until_ns - start_ns);
		start_ns = until_ns;
	}
	return code;
}

static int by_sample(const void *left, const void *right)
{
	const struct wait_sum *a = left, *b = right;
	if (a->sample != b->sample)
		return (a->sample > b->sample) - (a->sample < b->sample);
	return (a->site > b->site) - (a->site < b->site);
}

void wait_sums_sort(struct wait_sums *w)
{
	for (uint32_t i = 0; i < w->nlanes; i++)
		vec_sort(&w->lanes[i].sums, by_sample);
}

const struct wait_sum *wait_sums_take(struct wait_sums *w, uint32_t lane, uint32_t sample)
{
	struct lane_waits *l = &w->lanes[lane];
	if (l->next >= l->sums.n || l->sums.at[l->next].sample > sample)
		return NULL;
	return &l->sums.at[l->next++];
}

void wait_sums_done(struct wait_sums *w)
{
	for (uint32_t i = 0; i < w->nlanes; i++)
		vec_done(&w->lanes[i].sums);
	free(w->lanes);
	vec_done(&w->ends_ns);
	*w = (struct wait_sums){0};
}
