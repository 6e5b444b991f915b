/* answers.c - see answers.h. In: delays, efficiency, topology, processor_wait_s and the main issue.
 * One run can say what stands in the way of more ranks, and not how it runs on them: the estimate says what it takes
 * for granted, and names the comparison that tells. */
#include "reports/text/answers.h"
#include "reports/text/processor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WAITS_SEEN 0.02	   /* of the ranks' time: less is not worth a name */
#define CAUSER_SEEN 0.5	   /* of the waiting: then it is this rank */
#define CROWDED 0.05	   /* of the ranks' time without a core: more hides what transfers take */
#define TRANSFER_SOME 0.05 /* of the run */
#define TRANSFER_MUCH 0.20 /* POP's mark */
#define EVEN 0.80	   /* load balance, POP's mark */
#define FASTER_WELL 1.6	   /* of twice the ranks: 0.80 of the 2 that are ideal */
#define FASTER_LITTLE 1.2

struct facts {
	const cJSON *a, *efficiency;
	struct fmt (*as)(struct fmt);
	double ranks, all_s, no_core; /* all ranks' time, and its share without a core */
	const char *main;	      /* issue */
	double rest;		      /* share of MPI without waiting; less than 0: not known */
	bool one_node;
};

/* What a record lacks may have been on other nodes. */
static bool has_all_nodes(const cJSON *coverage)
{
	return json_count(coverage, "nodes_missing") == 0 &&
	       json_number_or(coverage, "ranks_seen", 0) >= json_number_or(coverage, "ranks_expected", 0);
}

static struct facts facts_of(const cJSON *a, struct fmt (*as)(struct fmt))
{
	struct facts f = {.a = a, .as = as, .efficiency = json_item(a, "efficiency")};
	double rest_s = 0;
	for (const cJSON *v = json_first(a, "per_rank"); v != NULL; v = v->next) {
		f.ranks++;
		double mpi_s = fmax(0, json_number_or(v, "mpi_s", 0));
		f.all_s += fmax(0, json_number_or(v, "useful_s", 0)) + mpi_s;
		rest_s += mpi_s - fmin(mpi_s, fmax(0, json_number_or(v, "wait_s", 0)));
	}
	f.rest = json_number_or(json_item(a, "coverage"), "events", 1) > 0 && f.all_s > 0 ? rest_s / f.all_s : -1;
	f.no_core = f.all_s > 0 ? fmin(1, processor_wait_of(a).all_s / f.all_s) : 0;
	f.main = json_text(json_first(a, "issues"), "issue", "");
	f.one_node = json_count(json_item(a, "job"), "nodes") == 1 && has_all_nodes(json_item(a, "coverage"));
	return f;
}

static bool main_is(const struct facts *f, const char *name)
{
	return strcmp(f->main, name) == 0;
}

static bool was_cut(const struct facts *f)
{
	return main_is(f, "deadlock") || main_is(f, "death") || main_is(f, "out_of_memory") || main_is(f, "unfinished");
}

static const cJSON *most_of(const cJSON *rows, double (*value)(const cJSON *))
{
	const cJSON *most = NULL;
	for (const cJSON *v = rows; v != NULL; v = v->next)
		if (value(v) > (most != NULL ? value(most) : 0))
			most = v;
	return most;
}

static double caused_s(const cJSON *row)
{
	return json_number_or(row, "direct_s", 0) + json_number_or(row, "indirect_s", 0);
}

static double waited_s(const cJSON *row)
{
	return json_number_or(row, "wait_s", 0);
}

static void answer_delays(const struct facts *f, char *text)
{
	const cJSON *delays = json_item(f->a, "delays");
	const cJSON *causer = most_of(json_first(delays, "per_rank"), caused_s);
	const cJSON *waiter = most_of(json_first(f->a, "per_rank"), waited_s);
	double waits_s = json_number(delays, "waits_s");
	if (isnan(waits_s) || f->rest < 0) {
		snprintf(text, ANSWER_TEXT, "Not known: it takes single calls, which are not recorded.");
		return;
	}
	struct fmt all = f->as(fmt_time(waits_s));
	double share = causer != NULL && waits_s > 0 ? fmin(1, caused_s(causer) / waits_s) : 0;
	if (waits_s < WAITS_SEEN * f->all_s || causer == NULL || waiter == NULL) {
		snprintf(text, ANSWER_TEXT, "Hardly any rank: waiting for others took %s of the ranks' time.",
			 f->as(fmt_share(f->all_s > 0 ? fmin(1, waits_s / f->all_s) : 0)).s);
		return;
	}
	int n = share >= CAUSER_SEEN
			? snprintf(text, ANSWER_TEXT, "Rank %.0f causes %s of the waiting of %s (total over ranks)",
				   json_number(causer, "rank"), f->as(fmt_share(share)).s, all.s)
			: snprintf(text, ANSWER_TEXT,
				   "No rank alone: of the waiting of %s (total over ranks) rank %.0f causes most, %s",
				   all.s, json_number(causer, "rank"), f->as(fmt_share(share)).s);
	snprintf(text + n, ANSWER_TEXT - (size_t)n, "; rank %.0f waits longest, %s.", json_number(waiter, "rank"),
		 f->as(fmt_time(waited_s(waiter))).s);
}

static const char *network_word(double lost)
{
	return lost < TRANSFER_SOME ? "Hardly." : lost < TRANSFER_MUCH ? "Partly." : "Yes.";
}

/* Between nodes. */
static void answer_unknown(const struct facts *f, char *text)
{
	const char *note = json_text(f->efficiency, "note", "");
	if (f->rest < 0)
		snprintf(text, ANSWER_TEXT, "Not known: it takes single calls, which are not recorded.");
	else
		snprintf(text, ANSWER_TEXT,
			 "For at most %s of the ranks' time, MPI's without waiting for others%s%.400s.",
			 f->as(fmt_share(f->rest)).s, *note != '\0' ? ". No more is known: " : "", note);
}

static void answer_network(const struct facts *f, char *text)
{
	double transfer = json_number(f->efficiency, "transfer"), lost = 1 - transfer;
	int n = f->one_node ? snprintf(text, ANSWER_TEXT,
				       "No: all ranks are on one node, so no message went through a network.")
			    : 0;
	char *to = text + n;
	size_t size = ANSWER_TEXT - (size_t)n;
	if (f->no_core >= CROWDED)
		snprintf(to, size,
			 "%s How long moving the data takes is not known: ranks had no free core for %s of their time, "
			 "which a replay cannot tell from slow transfers.",
			 f->one_node ? "" : "Not known.", f->as(fmt_share(f->no_core)).s);
	else if (!isnan(transfer))
		snprintf(to, size, "%s If moving the data took no time, the run would be %s shorter, by replay.",
			 f->one_node ? "" : network_word(lost), f->as(fmt_share(fmax(0, lost))).s);
	else if (!f->one_node)
		answer_unknown(f, text);
}

/* Twice the ranks halve at most what the busiest one computes: its time in MPI stays, at best. */
static double twice(double communication)
{
	return 1 / (1 - fmin(fmax(communication, 0), 1) / 2);
}

static void estimate(const struct facts *f, double communication, char *text)
{
	double balance = json_number(f->efficiency, "load_balance"), faster = twice(communication);
	int n = balance < EVEN && balance > 0
			? snprintf(text, ANSWER_TEXT,
				   "Make the work even first: the busiest rank computes %s times as long as the mean. ",
				   f->as(fmt_ratio(1 / balance)).s)
			: snprintf(text, ANSWER_TEXT, "%s ",
				   faster >= FASTER_WELL     ? "Probably."
				   : faster >= FASTER_LITTLE ? "A little."
							     : "Hardly.");
	snprintf(text + n, ANSWER_TEXT - (size_t)n,
		 "Twice the ranks would make the run %s times as fast if the busiest one then computes half as long "
		 "and its time in MPI stays. A run on more ranks tells: mpitrace diff.",
		 f->as(fmt_ratio(faster)).s);
}

static void answer_more(const struct facts *f, char *text)
{
	double communication = json_number(f->efficiency, "communication");
	if (was_cut(f))
		snprintf(text, ANSWER_TEXT, "Not known: this run did not reach its end.");
	else if (main_is(f, "oversubscription"))
		snprintf(text, ANSWER_TEXT,
			 "Probably, with as many ranks as now: they share processors, and had no free core for %s of "
			 "their time.",
			 f->as(fmt_share(f->no_core)).s);
	else if (main_is(f, "busy_processors"))
		snprintf(text, ANSWER_TEXT,
			 "Free cores would help first: ranks had none for %s of their time, although there are enough "
			 "for them.",
			 f->as(fmt_share(f->no_core)).s);
	else if (f->ranks < 2 || isnan(communication))
		snprintf(text, ANSWER_TEXT, "Not known: %s.",
			 f->ranks < 2 ? "one rank says nothing of more" : "the efficiency of this run is not known");
	else
		estimate(f, communication, text);
}

void answers_of(const cJSON *a, struct fmt (*as)(struct fmt), struct answer ret_answers[ANSWERS])
{
	struct facts f = facts_of(a, as);
	ret_answers[0] = (struct answer){"Who delays whom?", "Who delays", ""};
	ret_answers[1] = (struct answer){"Is it the network?", "Network", ""};
	ret_answers[2] = (struct answer){"Would more nodes help?", "More nodes", ""};
	if (f.ranks == 0 || strcmp(json_text(json_item(a, "coverage"), "mode", ""), "totals") == 0)
		return;
	answer_delays(&f, ret_answers[0].text);
	answer_network(&f, ret_answers[1].text);
	answer_more(&f, ret_answers[2].text);
}
