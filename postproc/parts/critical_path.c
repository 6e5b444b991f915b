/* critical_path.c - "critical_path": what the length of the run hangs on, from the end of the last rank backwards:
 * in a call that waited, to whom it waited for (stream/sweep.c, stream/on_path.c). */
#include "postproc/analysis.h"

#include <math.h>

#define SEGMENTS_MAX 500

static void put_ranks(const struct analysis *a, cJSON *o)
{
	cJSON *list = json_array(o, "per_rank");
	for (uint32_t r = 0; a->swept.useful_ns != NULL && r < a->step->nranks; r++) {
		if (a->swept.useful_ns[r] + a->swept.mpi_ns[r] == 0)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "rank", r);
		json_put_seconds(row, "useful_s", a->swept.useful_ns[r]);
		json_put_seconds(row, "mpi_s", a->swept.mpi_ns[r]);
		json_put(row, "imbalance_s", ((double)a->swept.useful_ns[r] - a->mean_useful_ns) / 1e9);
	}
}

/* Mean time of a rank in the calls of each site, ns. */
static double *mean_at_sites(const struct analysis *a)
{
	double *mean = calloc(a->step->sites.n + 1, sizeof(*mean));
	for (uint32_t r = 0; mean != NULL && r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++)
			if (p->sigs.at[i].site != NONE)
				mean[p->sigs.at[i].site] +=
					(double)p->sigs.at[i].ticks * p->ns_per_tick / a->ranks_seen;
	}
	return mean;
}

static int put_sites(const struct analysis *a, cJSON *o)
{
	double *mean = mean_at_sites(a);
	if (mean == NULL)
		return -ENOMEM;
	cJSON *list = json_array(o, "callsites");
	for (uint32_t i = 0; i < a->step->sites.n; i++) {
		if (a->path_site_ns[i] == 0)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "callsite", i);
		json_put_seconds(row, "seconds", a->path_site_ns[i]);
		json_put(row, "imbalance_s", ((double)a->path_site_ns[i] - mean[i]) / 1e9);
	}
	free(mean);
	return 0;
}

static void put_stretches(const struct analysis *a, cJSON *o)
{
	cJSON *list = json_array(o, "segments");
	size_t n = a->swept.path.n < SEGMENTS_MAX ? a->swept.path.n : SEGMENTS_MAX;
	for (size_t i = a->swept.path.n - n; i < a->swept.path.n; i++) {
		const struct path_piece *x = &a->swept.path.at[i];
		cJSON *row = json_row(list);
		json_put(row, "rank", x->rank);
		json_put_seconds(row, "from_s", x->from_ns);
		json_put_seconds(row, "to_s", x->to_ns);
	}
	json_put(o, "segments_left_out", (double)(a->swept.path.n - n + a->swept.pieces_left_out));
}

/* Of the figures of the whole path: null where there is no path. */
static void put_figure(cJSON *o, const char *name, bool known, double value)
{
	json_put_null_or(o, name, known ? value : NAN);
}

int part_critical_path(struct analysis *a)
{
	bool known = a->swept.useful_ns != NULL;
	uint64_t pieces = a->swept.path.n + a->swept.pieces_left_out;
	int64_t useful = 0, mpi = 0;
	for (uint32_t r = 0; known && r < a->step->nranks; r++) {
		useful += a->swept.useful_ns[r];
		mpi += a->swept.mpi_ns[r];
	}
	cJSON *o = json_object(a->root, "critical_path");
	json_put_text(o, "note",
		      known ? "" : "the critical path of programs that call MPI from several threads is not computed");
	put_figure(o, "length_s", known, (double)(useful + mpi) / 1e9);
	put_figure(o, "useful_s", known, (double)useful / 1e9);
	put_figure(o, "mpi_s", known, (double)mpi / 1e9);
	put_figure(o, "jumps", known, pieces > 0 ? (double)(pieces - 1) : 0);
	put_figure(o, "imbalance_s", known, ((double)useful - a->mean_useful_ns) / 1e9);
	put_ranks(a, o);
	put_stretches(a, o);
	return put_sites(a, o);
}
