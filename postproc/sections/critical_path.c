/* critical_path.c - "critical_path": what the length of the run hangs on, from the end of the last rank backwards:
 * in a call that waited, to whom it waited for (stream/sweep.c, stream/on_path.c). */
#include "postproc/analysis.h"
#include "postproc/issues/issues.h"

#include <math.h>

#define SEGMENTS_MAX 500
#define NOTED_SHARE_MIN 0.001 /* of the run, behind the path's end */

/* The path ends with the last call that ended, or where a rank came to MPI_Finalize. */
static int64_t path_end(const struct analysis *a)
{
	return a->swept.path.n > 0 ? a->swept.path.at[a->swept.path.n - 1].to_ns : TIME_ABSENT;
}

/* What a rank that never came to MPI_Finalize computed behind its last call and the path's end. */
static double computed_behind_ns(const struct process *p, int64_t path_ns)
{
	int64_t from, to, since = p->last_ns > path_ns ? p->last_ns : path_ns;
	rank_region(p, &from, &to);
	for (size_t i = 0; i < p->open.n; i++)
		if (p->open.at[i].enter_ns != TIME_ABSENT && p->open.at[i].enter_ns < to)
			to = p->open.at[i].enter_ns;
	return !p->finalized && from != TIME_ABSENT && to > since ? (double)(to - since) : 0;
}

/* Useful time of the mean rank until the path ends. */
static double mean_until_ns(const struct analysis *a, int64_t path_ns)
{
	double sum = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (a->ranks[r].compared)
			sum += fmax(0, a->ranks[r].useful_ns - computed_behind_ns(a->step->ranks[r], path_ns));
	return a->ranks_compared > 0 ? sum / a->ranks_compared : 0;
}

/* "", or that ranks went on behind the end of the path. */
static void note_end(const struct analysis *a, int64_t path_ns, char *text, size_t size)
{
	int64_t last_ns = path_ns, from, to;
	char at[32], behind[32];
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		if (a->step->ranks[r] == NULL)
			continue;
		rank_region(a->step->ranks[r], &from, &to);
		last_ns = from != TIME_ABSENT && to > last_ns ? to : last_ns;
	}
	text[0] = '\0';
	if ((double)(last_ns - path_ns) > NOTED_SHARE_MIN * a->longest_region_ns)
		snprintf(text, size,
			 "it ends at %s, with the last call that ended: what ranks did in the %s behind that is not "
			 "on it",
			 duration_text((double)path_ns / 1e9, at),
			 duration_text((double)(last_ns - path_ns) / 1e9, behind));
}

static void put_ranks(const struct analysis *a, cJSON *o, double mean_ns)
{
	cJSON *list = json_array(o, "per_rank");
	for (uint32_t r = 0; a->swept.useful_ns != NULL && r < a->step->nranks; r++) {
		if (a->swept.useful_ns[r] + a->swept.mpi_ns[r] == 0)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "rank", r);
		json_put_seconds(row, "useful_s", a->swept.useful_ns[r]);
		json_put_seconds(row, "mpi_s", a->swept.mpi_ns[r]);
		json_put(row, "imbalance_s", ((double)a->swept.useful_ns[r] - mean_ns) / 1e9);
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

int analysis_critical_path(struct analysis *a)
{
	bool known = a->swept.useful_ns != NULL;
	uint64_t pieces = a->swept.path.n + a->swept.pieces_left_out;
	int64_t useful = 0, mpi = 0;
	for (uint32_t r = 0; known && r < a->step->nranks; r++) {
		useful += a->swept.useful_ns[r];
		mpi += a->swept.mpi_ns[r];
	}
	cJSON *o = json_object(a->root, "critical_path");
	char note[192] = "the critical path of programs that call MPI from several threads is not computed";
	double mean_ns = a->mean_useful_ns;
	if (known && path_end(a) != TIME_ABSENT)
		mean_ns = mean_until_ns(a, path_end(a));
	if (known)
		note_end(a, path_end(a), note, sizeof(note));
	json_put_text(o, "note", note);
	put_figure(o, "length_s", known, (double)(useful + mpi) / 1e9);
	put_figure(o, "useful_s", known, (double)useful / 1e9);
	put_figure(o, "mpi_s", known, (double)mpi / 1e9);
	put_figure(o, "jumps", known, pieces > 0 ? (double)(pieces - 1) : 0);
	put_figure(o, "imbalance_s", known, ((double)useful - mean_ns) / 1e9);
	put_ranks(a, o, mean_ns);
	put_stretches(a, o);
	return put_sites(a, o);
}
