/* efficiency.c - "efficiency": the POP factors (SEMANTICS.md 4).
 * Load balance, communication and parallel efficiency need no common clock and are always there.
 * Communication is split into serialization and transfer by an ideal replay, if the record is good
 * enough for it; else "note" says why not. */
#include "postproc/analysis.h"

#include <math.h>

#define MATCHED_MIN 0.999
#define CLOCK_SHARE_MAX 0.5 /* error bound over median wait */

static double matched_share(const struct analysis *a)
{
	double n = (double)a->tally.transfers, lost = (double)a->unmatched.sends;
	return n + lost > 0 ? n / (n + lost) : 1;
}

static bool is_threaded(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t t = 1; s->ranks[r] != NULL && t < s->ranks[r]->threads.n; t++)
			if (s->ranks[r]->threads.at[t].events > 0)
				return true;
	return false;
}

/* Why the replay would not tell the truth, or NULL. */
static const char *why_not(const struct analysis *a, double median_ns)
{
	if (a->step->totals)
		return "serialization and transfer need the events, which are not analysed yet";
	if (!a->complete)
		return "serialization and transfer need a complete record";
	if (is_threaded(a->step))
		return "serialization and transfer are not computed for programs that call MPI "
		       "from several threads";
	if (matched_share(a) < MATCHED_MIN)
		return "serialization and transfer need 99.9 % of the messages matched";
	if (isnan(a->clock.error_bound_ns) || a->clock.error_bound_ns > CLOCK_SHARE_MAX * median_ns)
		return a->step->nodes.n > 1 && median_ns > 0
			       ? "serialization and transfer need a clock error well below the "
				 "median wait"
			       : NULL;
	return NULL;
}

static void put_split(struct analysis *a, cJSON *e, double ideal_ns, const char *note)
{
	double t = a->longest_region_ns, most = a->max_useful_ns;
	bool known = note == NULL && ideal_ns > 0 && t > 0;
	a->serialization = known ? fmin(1, most / ideal_ns) : NAN;
	json_put_null_or(e, "serialization", a->serialization);
	json_put_null_or(e, "transfer", known ? fmin(1, ideal_ns / t) : NAN);
	json_put_text(e, "note", note != NULL ? note : "");
	if (known)
		json_put(e, "ideal_s", ideal_ns / 1e9);
}

int analysis_efficiency(struct analysis *a)
{
	double t = a->longest_region_ns, most = a->max_useful_ns, mean = a->mean_useful_ns;
	const char *note = why_not(a, histogram_quantile(&a->tally.waited, 0.5));
	if (note == NULL && isnan(a->swept.ideal_ns))
		note = "serialization and transfer are not computed: the replay came to a deadlock";
	cJSON *e = json_object(a->root, "efficiency");
	json_put_null_or(e, "load_balance", most > 0 ? mean / most : NAN);
	json_put_null_or(e, "communication", t > 0 ? most / t : NAN);
	json_put_null_or(e, "parallel", t > 0 ? mean / t : NAN);
	put_split(a, e, a->swept.ideal_ns, note);
	json_put(e, "region_s", t / 1e9);
	json_put(e, "useful_max_s", most / 1e9);
	json_put(e, "useful_mean_s", mean / 1e9);
	return 0;
}
