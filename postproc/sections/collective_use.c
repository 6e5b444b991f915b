/* collective_use.c - "collective_roots" (who is root, how often), "barrier_spreads" (how far apart the members of a
 * communicator enter its barriers, and who is mostly last) and "collective_arrivals" (the same by call site, of all
 * collectives; and how often each rank comes last). */
#include "postproc/analysis.h"
#include "postproc/sections/most.h"

#include <math.h>

struct root_use {
	uint64_t operations, bytes;
};

/* Operations are counted at the root, bytes at the leaves. Persistent ones with each start: see put_roots(). */
static void add_rooted(struct root_use *roots, const struct step *s, uint32_t r, const struct sig *sig, uint64_t calls)
{
	if (!sig->defined || sig->call.shape != SIG_COLL || !coll_is_rooted(sig->call.coll) || sig->comm == NONE)
		return;
	int32_t root = sig->peer == SIG_ROOT ? (int32_t)r : sig->peer;
	if (root < 0 || (uint32_t)root >= s->nranks)
		return;
	if ((uint32_t)root == r)
		roots[root].operations += calls;
	else
		roots[root].bytes += calls * sig->call_bytes;
}

static int put_roots(struct analysis *a)
{
	const struct step *s = a->step;
	struct root_use *roots = calloc(s->nranks, sizeof(*roots));
	if (roots == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->sigs.n; i++) {
			const struct sig *sig = &s->ranks[r]->sigs.at[i];
			add_rooted(roots, s, r, sig,
				   (sig->call.flags & SIG_PERSISTENT) != 0 ? sig->starts : sig->calls);
		}
	cJSON *list = json_array(a->root, "collective_roots");
	for (uint32_t r = 0; r < s->nranks; r++) {
		if (roots[r].operations == 0)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "rank", r);
		json_put(row, "operations", (double)roots[r].operations);
		json_put(row, "bytes", (double)roots[r].bytes);
	}
	free(roots);
	return 0;
}

static int put_spreads(struct analysis *a)
{
	const struct spread *spreads = a->tally.spreads;
	cJSON *list = json_array(a->root, "barrier_spreads");
	for (uint32_t c = 0; c < a->step->comms.n; c++) {
		if (spreads[c].operations == 0)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "communicator", c);
		json_put(row, "barriers", (double)spreads[c].operations);
		json_put(row, "mean_s", (double)spreads[c].sum_ns / 1e9 / (double)spreads[c].operations);
		json_put_seconds(row, "max_s", spreads[c].max_ns);
		json_put(row, "last_rank", spreads[c].last);
	}
	return 0;
}

/* ---- who comes when ---- */

#define ARRIVAL_SITES_MAX 256u
#define LAST_RANKS_MAX 64u

/* The sites at which most was lost until the last came. */
static void put_arrival_sites(const struct analysis *a, cJSON *arrivals, struct most *rows)
{
	const struct spread *of = a->tally.arrivals;
	uint32_t n = 0, nsites = (uint32_t)a->step->sites.n;
	for (uint32_t i = 0; i <= nsites; i++)
		if (of[i].operations > 0)
			rows[n++] = (struct most){i, (double)of[i].sum_ns};
	qsort(rows, n, sizeof(*rows), most_first);
	cJSON *list = json_array(arrivals, "callsites");
	for (uint32_t i = 0; i < n && i < ARRIVAL_SITES_MAX; i++) {
		const struct spread *sp = &of[rows[i].at];
		cJSON *row = json_row(list);
		json_put_null_or(row, "callsite", rows[i].at < nsites ? rows[i].at : NAN);
		json_put(row, "operations", (double)sp->operations);
		json_put(row, "mean_s", (double)sp->sum_ns / 1e9 / (double)sp->operations);
		json_put_seconds(row, "max_s", sp->max_ns);
		json_put(row, "last_rank", sp->last);
	}
	json_put(arrivals, "callsites_left_out", n > ARRIVAL_SITES_MAX ? n - ARRIVAL_SITES_MAX : 0);
}

static void put_last_ranks(const struct analysis *a, cJSON *arrivals, struct most *rows)
{
	uint32_t n = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (a->tally.came_last[r] > 0)
			rows[n++] = (struct most){r, (double)a->tally.came_last[r]};
	qsort(rows, n, sizeof(*rows), most_first);
	cJSON *list = json_array(arrivals, "last_ranks");
	for (uint32_t i = 0; i < n && i < LAST_RANKS_MAX; i++) {
		cJSON *row = json_row(list);
		json_put(row, "rank", rows[i].at);
		json_put(row, "times", rows[i].by);
	}
	json_put(arrivals, "last_ranks_left_out", n > LAST_RANKS_MAX ? n - LAST_RANKS_MAX : 0);
}

static int put_arrivals(struct analysis *a)
{
	size_t room = a->step->sites.n + 1 > a->step->nranks ? a->step->sites.n + 1 : a->step->nranks;
	struct most *rows = calloc(room, sizeof(*rows));
	if (rows == NULL)
		return -ENOMEM;
	cJSON *arrivals = json_object(a->root, "collective_arrivals");
	put_arrival_sites(a, arrivals, rows);
	put_last_ranks(a, arrivals, rows);
	free(rows);
	return 0;
}

int analysis_collective_use(struct analysis *a)
{
	int code = put_roots(a);
	if (code == 0)
		code = put_spreads(a);
	return code == 0 ? put_arrivals(a) : code;
}
