/* order.c - see order.h. The one place that orders causes.
 *
 * An issue explains another (EXPLAINS) only if it lost at least half as much: a cause must explain its seconds. It is
 * then at least as severe as what it explains. */
#include "postproc/issues/order.h"

#include <string.h>

#define EXPLAINED_MIN 0.5 /* of the seconds of what is explained */

/* What is told in this order whatever it costs: the first before all that only costs time, the others behind it. */
static const char *const before_time[] = {"deadlock", "death", "out_of_memory", "unfinished", "truncation", "mismatch"};
static const char *const after_time[] = {"memory_limit", "unsafe_send_cycle", "unmatched", "request_leak"};

#define WAITS \
	"late_sender late_receiver barrier_imbalance synchronization_heavy collective_root_bottleneck rma_wait " \
	"polling "
#define COSTS "global_collective_heavy small_message_overhead communication_imbalance link_hotspot unexplained "

/* What follows from each; no circles: a row explains only what comes in rows below, or in none. */
static const struct {
	const char *cause, *effects;
} explains[] = {
	{"oversubscription",
	 WAITS COSTS "slow_clock slow_node load_imbalance delay idle_ranks serialization stuck_at_end io_wait "
		     "poor_placement tracing_cost"},
	{"busy_processors",
	 WAITS COSTS "slow_clock slow_node load_imbalance delay idle_ranks serialization stuck_at_end io_wait "
		     "poor_placement tracing_cost"},
	{"slow_clock", WAITS "slow_node load_imbalance delay stuck_at_end"},
	{"slow_node", WAITS "load_imbalance delay stuck_at_end"},
	{"idle_ranks", WAITS "serialization"},
	{"load_imbalance", WAITS "delay stuck_at_end"},
	{"stuck_at_end", "delay barrier_imbalance"},
	{"delay", WAITS},
	{"serialization", WAITS},
	{"poor_placement", "link_hotspot unexplained"},
};

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = strstr(words, word); at != NULL; at = strstr(at + len, word))
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

static bool explains_it(const struct issue *cause, const struct issue *effect)
{
	if (!cause->found || cause == effect || cause->loss_s < EXPLAINED_MIN * effect->loss_s)
		return false;
	for (size_t i = 0; i < sizeof(explains) / sizeof(explains[0]); i++)
		if (strcmp(explains[i].cause, cause->issue) == 0)
			return has_word(explains[i].effects, effect->issue);
	return false;
}

static int place_in(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

/* Negative, 0 for what costs time, positive. */
static int tier(const struct issue *f)
{
	const int nbefore = sizeof(before_time) / sizeof(before_time[0]);
	int before = place_in(before_time, sizeof(before_time) / sizeof(before_time[0]), f->issue);
	int after = place_in(after_time, sizeof(after_time) / sizeof(after_time[0]), f->issue);
	return before >= 0 ? before - nbefore : after + 1;
}

static bool goes_before(const struct analysis *a, const struct issue *x, const struct issue *y)
{
	return tier(x) != tier(y) ? tier(x) < tier(y) : issue_score(a, x) > issue_score(a, y);
}

/* The issue that nothing explains which is not in the list yet. */
static struct issue *root_of(struct issue *f, struct issue *all, size_t n, const bool *listed)
{
	for (size_t i = 0; i < n; i++)
		if (!listed[i] && tier(&all[i]) == 0 && explains_it(&all[i], f))
			return root_of(&all[i], all, n, listed);
	return f;
}

/* From effects to causes: what is explained by a row is in a row below it or in none, so a second round changes
 * nothing. */
static void inherit(const struct analysis *a, struct issue *all, size_t n)
{
	for (size_t row = sizeof(explains) / sizeof(explains[0]); row-- > 0;)
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < n && strcmp(all[i].issue, explains[row].cause) == 0; k++)
				if (all[k].found && explains_it(&all[i], &all[k]) &&
				    issue_score(a, &all[i]) < issue_score(a, &all[k]))
					all[i].severity = issue_score(a, &all[k]);
}

size_t issues_order(const struct analysis *a, struct issue *all, size_t n, struct issue **ret_order)
{
	bool listed[ISSUES_MAX] = {false};
	size_t count = 0;
	inherit(a, all, n);
	for (;;) {
		struct issue *best = NULL;
		for (size_t i = 0; i < n; i++)
			if (all[i].found && !listed[i] && (best == NULL || goes_before(a, &all[i], best)))
				best = &all[i];
		if (best == NULL)
			return count;
		if (tier(best) == 0)
			best = root_of(best, all, n, listed);
		listed[best - all] = true;
		ret_order[count++] = best;
	}
}
