/* scaling.c - how a program scales, after POP (https://pop-coe.eu/node/69). The first group is the reference:
 *   computation scaling: its useful time over this one's, of all ranks together (strong) or a rank (weak);
 *   global efficiency: parallel efficiency times computation scaling. */
#include "postproc/compare/noise.h"
#include "postproc/compare/parts.h"

#include "base/json.h"

#include <math.h>

/* Means over the runs of a group. */
struct step {
	double ranks, runs, whole, region_s, spread_s, useful_s; /* useful_s: of a rank */
	double load_balance, communication, parallel, serialization, transfer;
};

static double mean_of(const struct compare_input *in, unsigned group, const char *key)
{
	double sum = 0, n = 0;
	for (size_t i = 0; i < in->nruns; i++)
		if (in->runs[i].group == group) {
			sum += json_number(json_item(in->runs[i].analysis, "efficiency"), key);
			n++;
		}
	return sum / n;
}

static double region_spread(const struct compare_input *in, unsigned group, double mean)
{
	double squares = 0, n = 0;
	for (size_t i = 0; i < in->nruns; i++)
		if (in->runs[i].group == group) {
			double d = json_number(json_item(in->runs[i].analysis, "efficiency"), "region_s") - mean;
			squares += d * d;
			n++;
		}
	return n > 1 ? sqrt(squares / (n - 1)) : NAN;
}

static struct step step_of(const struct compare_input *in, unsigned group)
{
	struct step s = {.region_s = mean_of(in, group, "region_s"),
			 .useful_s = mean_of(in, group, "useful_mean_s"),
			 .load_balance = mean_of(in, group, "load_balance"),
			 .communication = mean_of(in, group, "communication"),
			 .parallel = mean_of(in, group, "parallel"),
			 .serialization = mean_of(in, group, "serialization"),
			 .transfer = mean_of(in, group, "transfer")};
	s.spread_s = region_spread(in, group, s.region_s);
	for (size_t i = 0; i < in->nruns; i++)
		if (in->runs[i].group == group) {
			s.ranks = in->runs[i].ranks;
			s.runs++;
			s.whole += json_bool(json_item(in->runs[i].analysis, "coverage"), "complete", false);
		}
	return s;
}

static void put_reading(cJSON *o, bool wanted, const char *name, double scaling, double parallel, double speedup,
			double ideal)
{
	if (!wanted) {
		cJSON_AddNullToObject(o, name);
		return;
	}
	cJSON *reading = json_object(o, name);
	json_put_null_or(reading, "computation_scaling", scaling);
	json_put_null_or(reading, "global_efficiency", parallel * scaling);
	json_put_null_or(reading, "speedup", speedup);
	json_put(reading, "ideal_speedup", ideal);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static void put_step(const struct compare_input *in, const struct step *s, const struct step *first, cJSON *o)
{
	double more = s->ranks / first->ranks;
	json_put(o, "ranks", s->ranks);
	json_put(o, "runs", s->runs);
	cJSON_AddBoolToObject(o, "complete", s->whole == s->runs);
	json_put_null_or(o, "region_s", s->region_s);
	json_put_null_or(o, "region_spread_s", s->spread_s);
	json_put_null_or(o, "useful_s", s->useful_s * s->ranks);
	json_put_null_or(o, "load_balance", s->load_balance);
	json_put_null_or(o, "communication", s->communication);
	json_put_null_or(o, "parallel", s->parallel);
	json_put_null_or(o, "serialization", s->serialization);
	json_put_null_or(o, "transfer", s->transfer);
	double faster = ratio(first->region_s, s->region_s), strong = ratio(first->useful_s, s->useful_s * more);
	put_reading(o, in->reading != COMPARE_WEAK, "strong", strong, s->parallel, faster, more);
	/* weak: `more` times the work in the time */
	put_reading(o, in->reading != COMPARE_STRONG, "weak", ratio(first->useful_s, s->useful_s), s->parallel,
		    faster * more, more);
}

static bool all_alike(const struct compare_input *in)
{
	for (size_t i = 1; i < in->nruns; i++)
		if (in->runs[i].ranks != in->runs[0].ranks)
			return false;
	return true;
}

int scaling_put(const struct compare_input *in, cJSON *diff)
{
	if (all_alike(in)) {
		cJSON_AddNullToObject(diff, "scaling");
		return 0;
	}
	static const char *const names[] = {"both", "strong", "weak"};
	cJSON *scaling = json_object(diff, "scaling");
	json_put_text(scaling, "reading", names[in->reading]);
	cJSON *rows = json_array(scaling, "rows");
	struct step first = step_of(in, 0);
	for (unsigned g = 0; g < in->ngroups; g++) {
		struct step s = step_of(in, g);
		put_step(in, &s, &first, json_row(rows));
	}
	return rows == NULL ? -ENOMEM : 0;
}
