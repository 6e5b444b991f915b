/* rank_time.c - "rank_time": groups of ranks x parts of the run: what each group did in each of the time windows. The
 * groups are the shards of the stream, so the sums are there already; a rank each where the ranks are few. */
#include "postproc/analysis.h"
#include "postproc/stream/stream.h"

int rank_time_keep(struct analysis *a, const struct stream *st)
{
	a->groups = calloc(st->nshards + 1u, sizeof(*a->groups));
	for (uint32_t i = 0; i < st->nshards && a->groups != NULL; i++) {
		const struct shard *sh = &st->shards[i];
		struct rank_group *g = &a->groups[a->ngroups++];
		*g = (struct rank_group){.first_rank = sh->first_rank, .end_rank = sh->end_rank};
		g->windows.window_ns = sh->tally.window_ns;
		memcpy(g->windows.windows, sh->tally.windows, sizeof(g->windows.windows));
	}
	return a->groups == NULL ? -ENOMEM : 0;
}

static void put_row(const struct analysis *a, cJSON *list, struct rank_group *g)
{
	cJSON *row = json_row(list);
	json_put(row, "first_rank", g->first_rank);
	json_put(row, "last_rank", g->end_rank - 1);
	for (uint32_t r = g->first_rank; r < g->end_rank; r++)
		if (a->step->ranks[r] != NULL)
			time_windows_add_rank(a->step, &g->windows, a->step->ranks[r], &a->ranks[r]);
	time_windows_add_tests(a->step, &g->windows, g->first_rank, g->end_rank);
	cJSON *useful = json_array(row, "useful_s"), *mpi = json_array(row, "mpi_s"), *wait = json_array(row, "wait_s");
	for (unsigned i = 0; i < TIME_WINDOWS; i++) {
		const struct time_window *w = &g->windows.windows[i];
		json_push_seconds(useful, time_window_useful_ns(w));
		json_push_seconds(mpi, time_window_mpi_ns(w));
		json_push_seconds(wait, w->wait_ns);
	}
}

int analysis_rank_time(struct analysis *a)
{
	cJSON *list = json_array(a->root, "rank_time");
	for (uint32_t i = 0; i < a->ngroups; i++)
		if (a->groups[i].end_rank > a->groups[i].first_rank)
			put_row(a, list, &a->groups[i]);
	return 0;
}
