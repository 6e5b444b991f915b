/* issues.c - "issues": all issues, in the order of issues/order.h; and "verdict", the sentence of the first that is
 * worth a look. */
#include "base/units.h"
#include "postproc/issues/order.h"
#include "postproc/replay/replay.h"

#include <math.h>
#include <stdio.h>

#define HIGH_MIN 0.6 /* of the score */
#define MEDIUM_MIN 0.3
/* By how much a replay without a fault is longer: calls wait for what it does not know, so it tells nothing. */
#define CONTRADICTED 0.01
#define GAIN_SAID_MIN 0.01 /* of the run, in the verdict */
#define PARTS_EVENTS_MAX 100000u
#define EFFICIENT_MIN 0.80 /* POP regards it as acceptable; the page's EFFICIENCY_MARK */

static void (*const look[])(const struct analysis *a, struct issue *f) = {
#define ROW(name) issue_##name,
	ISSUES(ROW)
#undef ROW
};

#define NISSUES (sizeof(look) / sizeof(look[0]))
_Static_assert(NISSUES <= ISSUES_MAX, "the order has room for all");

/* No more is lost than there was. Ranks that are done early lose until the last one is, which their own time does not
 * hold. */
static void bound_loss(const struct analysis *a, struct issue *f)
{
	double of_s = issue_loss_of_s(a, f), until_last_s = a->longest_region_ns / 1e9 * a->ranks_seen;
	if (f->loss_s > of_s)
		f->of_s = until_last_s > of_s ? until_last_s : of_s;
	if (f->loss_s > issue_loss_of_s(a, f))
		f->loss_s = issue_loss_of_s(a, f);
}

/* Of each rank; the caller frees. NULL without memory. */
static struct replay_rank *rank_times(const struct analysis *a)
{
	struct replay_rank *ranks = calloc(a->step->nranks + 1u, sizeof(*ranks));
	for (uint32_t r = 0; ranks != NULL && r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		double wait_ns = p != NULL && p->processor_wait_ns > 0 ? p->processor_wait_ns : 0;
		ranks[r] = (struct replay_rank){a->ranks[r].useful_ns, a->ranks[r].region_ns, wait_ns, 0};
	}
	return ranks;
}

/* Of what is worth a word, where a replay takes no time to speak of. */
static int find_gain_of_parts(const struct analysis *a, const struct replay_issue *issue, struct issue *f)
{
	f->gain_parts[0] = NAN;
	if (!f->replayed || f->gain < GAIN_SAID_MIN || replay_events(a->replay) > PARTS_EVENTS_MAX)
		return 0;
	int code = replay_parts_without(a->replay, issue, f->gain_parts);
	for (unsigned k = 0; k < REPLAY_PARTS && code == 0; k++)
		f->gain_parts[k] = fmin(f->gain_parts[k], f->gain);
	if (code < 0)
		f->gain_parts[0] = NAN;
	return code == -ENOENT ? 0 : code;
}

/* Without a replay that tells it, it stays unknown. */
static int find_gain(const struct analysis *a, struct replay_rank *ranks, struct issue *f)
{
	for (uint32_t r = 0; r < a->step->nranks; r++)
		ranks[r].slower = 0;
	for (unsigned i = 0; i < f->nranks; i++)
		ranks[f->ranks[i]].slower = f->value;
	struct replay_issue issue = {
		.name = f->issue,
		.states = f->states,
		.loss = f->loss_s / issue_loss_of_s(a, f),
		.value = f->value,
		.loss_s = f->loss_s,
		.callsites = f->sites,
		.ncallsites = f->nsites,
		.ranks = ranks,
		.nranks = a->step->nranks,
	};
	struct replay_result r;
	if (!f->found || a->replay == NULL)
		return 0;
	int code = replay_predict_without(a->replay, &issue, &r);
	if (code < 0)
		return code == -ENOENT ? 0 : code;
	f->replayed = r.gain_s > -CONTRADICTED * r.calls_s;
	f->gain = r.gain;
	f->gain_s = r.gain_s;
	f->gain_low = r.gain_low;
	f->gain_high = r.gain_high;
	return find_gain_of_parts(a, &issue, f);
}

static void put_gain(cJSON *row, const struct issue *f)
{
	if (!f->replayed)
		return;
	cJSON *gain = json_object(row, "gain");
	json_put(gain, "s", f->gain_s);
	json_put(gain, "share", f->gain);
	json_put(gain, "low", f->gain_low);
	json_put(gain, "high", f->gain_high);
	cJSON *parts = isnan(f->gain_parts[0]) ? NULL : json_array(gain, "parts");
	for (unsigned k = 0; k < REPLAY_PARTS && parts != NULL; k++)
		cJSON_AddItemToArray(parts, cJSON_CreateNumber(f->gain_parts[k]));
}

static const char *severity_word(double score)
{
	return score >= HIGH_MIN ? "high" : score >= MEDIUM_MIN ? "medium" : "low";
}

static void put_pairs(cJSON *row, const struct issue *f)
{
	cJSON *pairs = json_array(row, "pairs");
	for (unsigned i = 0; i < f->npairs; i++) {
		cJSON *pair = cJSON_CreateArray();
		json_push(pair, f->pairs[i][0]);
		json_push(pair, f->pairs[i][1]);
		cJSON_AddItemToArray(pairs, pair);
	}
}

static void put_lists(const struct analysis *a, cJSON *row, const struct issue *f)
{
	cJSON *ranks = json_array(row, "ranks");
	for (unsigned i = 0; i < f->nranks; i++)
		json_push(ranks, f->ranks[i]);
	if (f->more_ranks)
		cJSON_AddTrueToObject(row, "more_ranks");
	put_pairs(row, f);
	cJSON *sites = json_array(row, "callsites");
	for (unsigned i = 0; i < f->nsites; i++)
		json_push(sites, f->sites[i]);
	bool whole = f->to_ns <= f->from_ns;
	cJSON *window = json_array(row, "window_s");
	json_push(window, whole ? 0 : (double)f->from_ns / 1e9);
	json_push(window, (double)(whole ? a->step->runtime_ns : f->to_ns) / 1e9);
}

static void put_states(cJSON *row, const struct issue *f)
{
	if (f->states == 0)
		return;
	cJSON *list = json_array(row, "states");
	for (unsigned i = 0; i < WAIT_STATES; i++)
		if ((f->states & 1u << i) != 0)
			cJSON_AddItemToArray(list, cJSON_CreateString(wait_state_name(i)));
}

static bool is_named(const uint32_t *list, unsigned n, uint32_t x)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == x)
			return true;
	return false;
}

/* Where to look first, if it is about time: the call that waited longest where the issue is, or for one of its ranks.
 */
static void put_worst(const struct analysis *a, cJSON *row, const struct issue *f)
{
	const struct wait_row *worst = NULL;
	bool delays = issue_row(f->issue)->replay == REPLAY_CAUSER; /* others wait, and elsewhere */
	if (strcmp(f->issue, "death") == 0) /* when it was is said; no wait before that is the worst */
		return;
	for (size_t i = 0; i < a->tally.waits.rows.n && f->loss_s > 0; i++) {
		const struct wait_row *r = &a->tally.waits.rows.at[i];
		if (f->states != 0 && (f->states & 1u << r->state) == 0)
			continue;
		bool caused = is_named(f->ranks, f->nranks, r->causer);
		bool here = delays	    ? caused
			    : f->nsites > 0 ? is_named(f->sites, f->nsites, r->site)
					    : caused || is_named(f->ranks, f->nranks, r->rank);
		if (here && r->worst_ns > 0 && (worst == NULL || r->worst_ns > worst->worst_ns))
			worst = r;
	}
	if (worst == NULL)
		return;
	cJSON *at = json_object(row, "worst");
	json_put(at, "rank", worst->rank);
	json_put_seconds(at, "from_s", worst->worst_from_ns);
	json_put_seconds(at, "to_s", worst->worst_to_ns);
	json_put_seconds(at, "waited_s", worst->worst_ns);
}

static void put_issue(const struct analysis *a, cJSON *list, const struct issue *f)
{
	cJSON *row = json_row(list);
	json_put_text(row, "issue", f->issue);
	json_put_text(row, "title", issue_phrase(f->issue));
	json_put_text(row, "severity", severity_word(issue_score(a, f)));
	json_put(row, "score", issue_score(a, f));
	json_put(row, "loss_s", f->loss_s);
	json_put(row, "loss_of_s", issue_loss_of_s(a, f));
	put_gain(row, f);
	if (f->explained_by != NULL)
		json_put_text(row, "explained_by", f->explained_by);
	put_lists(a, row, f);
	put_states(row, f);
	json_put_text(row, "what", f->what);
	json_put_text(row, "why", f->why);
	json_put_text(row, "next", f->next);
	put_worst(a, row, f);
	cJSON *metric = json_object(row, "metric");
	json_put_text(metric, "name", f->metric);
	json_put(metric, "value", f->value);
	json_put(metric, "threshold", f->threshold);
}

/* The first that is worth a look; what is for information only is no answer. */
static const struct issue *main_issue(const struct analysis *a, struct issue *const *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (issue_score(a, order[i]) >= MEDIUM_MIN)
			return order[i];
	return NULL;
}

/* For longer than it went on before: what tracing cost until then is no matter. */
static bool stood_still(const struct analysis *a)
{
	return a->step->runtime_ns - a->step->advanced_ns > a->step->advanced_ns;
}

#define RANGE_SAID_MIN 0.01

/* " Repairing this would save 49 % of the run (239 ms; 47 % to 50 %), by replay.", or "". */
static const char *gain_sentence(const struct issue *f, char text[ISSUE_TEXT_MAX])
{
	char range[80] = "";
	text[0] = '\0';
	if (f != NULL && f->gain_high - f->gain_low >= RANGE_SAID_MIN)
		snprintf(range, sizeof(range), "; %.31s to %.31s", fmt_words(fmt_share(fmax(0, f->gain_low))).s,
			 fmt_words(fmt_share(f->gain_high)).s);
	if (f != NULL && f->replayed && f->gain >= GAIN_SAID_MIN)
		snprintf(text, ISSUE_TEXT_MAX, " Repairing this would save %.31s of the run (%.31s%s), by replay.",
			 fmt_words(fmt_share(f->gain)).s, fmt_words(fmt_time(f->gain_s)).s, range);
	return text;
}

/* Its sentence; and what tracing cost, where it is too much and not that issue itself. */
static void put_verdict(struct analysis *a, struct issue *const *order, size_t n)
{
	const struct issue *worst = main_issue(a, order, n);
	bool efficient = !(a->longest_region_ns > 0) || a->mean_useful_ns >= EFFICIENT_MIN * a->longest_region_ns;
	char text[3 * ISSUE_TEXT_MAX + 2], gain[ISSUE_TEXT_MAX], missing[64];
	const char *nothing = a->step->totals			? "not known yet: the events are not analysed"
			      : a->ranks_seen < a->step->nranks ? missing
			      : a->step->nranks < 2		? "one rank: there is nothing to exchange"
			      : n == 0 || efficient		? "nothing to fix"
								: "no single cause stands out";
	snprintf(missing, sizeof(missing), "not known: %u of %u ranks are recorded", a->ranks_seen, a->step->nranks);
	gain_sentence(worst, gain);
	snprintf(text, sizeof(text), "%s%s", worst != NULL ? worst->what : nothing, gain);
	for (size_t i = 0; i < n; i++)
		if (order[i] != worst && strcmp(order[i]->issue, "tracing_cost") == 0 && !stood_still(a))
			snprintf(text, sizeof(text), "%s%s%s%s", worst != NULL ? worst->what : "", gain,
				 worst != NULL ? " " : "", order[i]->what);
	json_put_text(a->root, "verdict", text);
}

#define DELAYS_REPLAYED 3u /* the costliest: what others wait for it is not what the run would gain */

/* Of the costliest places that make others wait that which gains most; the costliest where no replay tells. */
static int find_main_delay(struct analysis *a)
{
	const struct delay_result *d = &a->swept.delays;
	double below = INFINITY;
	a->main_delay = NONE;
	a->main_delay_gain = NAN;
	for (unsigned k = 0; d->rows != NULL && k < DELAYS_REPLAYED; k++) {
		uint32_t best = NONE;
		double most = 0;
		for (uint32_t i = 0; i < a->step->sites.n * DELAY_KINDS; i++) {
			double ns = d->rows[i].direct_ns + d->rows[i].indirect_ns;
			if (ns > most && ns < below) {
				best = i;
				most = ns;
			}
		}
		if (best == NONE)
			return 0;
		below = most;
		uint32_t site = best / DELAY_KINDS;
		struct replay_issue issue = {
			.name = "delay", .loss_s = most / 1e9, .callsites = &site, .ncallsites = 1};
		struct replay_result r = {.gain = NAN};
		int code = a->replay == NULL ? 0 : replay_predict_without(a->replay, &issue, &r);
		if (code < 0)
			return code;
		if (k > 0 && !(r.gain > a->main_delay_gain))
			continue;
		a->main_delay = best;
		a->main_delay_gain = r.gain;
	}
	return 0;
}

static int find_all(struct analysis *a, struct issue *all)
{
	struct replay_rank *ranks = rank_times(a);
	int code = ranks != NULL ? find_main_delay(a) : -ENOMEM;
	for (size_t i = 0; i < NISSUES && code == 0; i++) {
		all[i].issue = issue_rows[i].name;
		if (a->step->totals && !issue_rows[i].of_totals)
			continue;
		look[i](a, &all[i]);
		bound_loss(a, &all[i]);
		code = find_gain(a, ranks, &all[i]);
	}
	free(ranks);
	return code;
}

int analysis_issues(struct analysis *a)
{
	struct issue *all = calloc(NISSUES, sizeof(*all)), *order[NISSUES];
	if (all == NULL)
		return -ENOMEM;
	int code = find_all(a, all);
	size_t n = code == 0 ? issues_order(a, all, NISSUES, order) : 0;
	put_verdict(a, order, n);
	cJSON *list = json_array(a->root, "issues");
	for (size_t i = 0; i < n; i++)
		put_issue(a, list, order[i]);
	free(all);
	return code;
}
