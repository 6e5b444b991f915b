/* unknown.c - of an analysis that passed over the events (step.totals): what only they tell is taken out of the object,
 * so that no reader takes a 0 for an answer; "coverage" says how much was not looked at. The same members have
 * "needs": "events" in docs/analysis.schema.json. Where none were recorded, as was asked for, or all that were made
 * are missing, nobody will ever know: these members are null, lists of them empty. */
#include "postproc/sections/unknown.h"
#include "base/units.h"
#include "postproc/totals/bytes.h"

#include <inttypes.h>

static const struct {
	const char *member, *field; /* NULL: all of it. What a part of events adds is never there */
} unknown[] = {
	{"coverage", "events"},
	{"coverage", "unmatched"},
	{"summary", "events"},
	{"summary", "transfers"},
	{"summary", "bytes"},
	{"summary", "completions"},
	{"efficiency", "serialization"},
	{"efficiency", "transfer"},
	{"per_rank", "wait_s"},
	{"per_rank", "caused_wait_s"},
	{"per_rank", "completions"},
	{"per_rank", "threads"},
	{"per_rank", "threads_left_out"},
	{"per_rank", "resident_max_bytes"},
	{"per_rank", "off_processor_s"},
	{"per_rank", "frequency_hz"},
	{"per_rank", "instructions_per_cycle"},
	{"callsites", "wait_s"},
	{"files", "bytes_read"},
	{"barrier_spreads", NULL},
	{"collective_arrivals", NULL},
};

static const struct {
	const char *member, *field; /* NULL: its list is emptied */
} unrecorded[] = {
	{"summary", "completions"},
	{"per_rank", "wait_s"},
	{"per_rank", "caused_wait_s"},
	{"per_rank", "completions"},
	{"callsites", "wait_s"},
	{"io", "wait_s"},
	{"critical_path", "length_s"},
	{"critical_path", "useful_s"},
	{"critical_path", "mpi_s"},
	{"critical_path", "jumps"},
	{"critical_path", "imbalance_s"},
	{"critical_path", "per_rank"},
	{"critical_path", "segments"},
	{"critical_path", "callsites"},
	{"delays", "waits_s"},
	{"delays", "unexplained_s"},
	{"delays", "waits"},
	{"delays", "waits_cut"},
	{"time_windows", NULL},
	{"rank_time", NULL},
};

static void make_null(cJSON *of, const char *field)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(of, field);
	if (item != NULL)
		cJSON_ReplaceItemInObjectCaseSensitive(of, field,
						       cJSON_IsArray(item) ? cJSON_CreateArray() : cJSON_CreateNull());
}

static void forget_unrecorded(cJSON *root)
{
	for (size_t i = 0; i < sizeof(unrecorded) / sizeof(unrecorded[0]); i++) {
		cJSON *of = cJSON_GetObjectItemCaseSensitive(root, unrecorded[i].member), *row;
		if (unrecorded[i].field == NULL)
			make_null(root, unrecorded[i].member);
		else if (cJSON_IsArray(of))
			cJSON_ArrayForEach(row, of) make_null(row, unrecorded[i].field);
		else
			make_null(of, unrecorded[i].field);
	}
	static const char *const noted[] = {"critical_path", "delays"};
	for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++)
		cJSON_ReplaceItemInObjectCaseSensitive(
			cJSON_GetObjectItemCaseSensitive(root, noted[i]), "note",
			cJSON_CreateString("it is found in single calls, and none are recorded"));
	cJSON *row, *of = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "io"), "classes");
	cJSON_ArrayForEach(row, of) make_null(row, "wait_s");
	cJSON_ArrayForEach(of, cJSON_GetObjectItemCaseSensitive(root, "per_rank"))
		cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(of, "threads")) make_null(row, "wait_s");
}

static bool has_no_events(const struct analysis *a)
{
	const cJSON *c = cJSON_GetObjectItemCaseSensitive(a->root, "coverage");
	return json_number_or(c, "events", 1) == 0 && (strcmp(json_text(c, "mode", ""), "profile") == 0 ||
						       (!a->step->totals && json_number_or(c, "events_lost", 0) > 0));
}

static void take_out(cJSON *root, const char *member, const char *field)
{
	cJSON *of = cJSON_GetObjectItemCaseSensitive(root, member);
	if (field == NULL)
		cJSON_DeleteItemFromObjectCaseSensitive(root, member);
	else if (cJSON_IsObject(of))
		cJSON_DeleteItemFromObjectCaseSensitive(of, field);
	else
		for (cJSON *row = of != NULL ? of->child : NULL; row != NULL; row = row->next)
			cJSON_DeleteItemFromObjectCaseSensitive(row, field);
}

/* What a call that starts requests moved is not in its own record, and how often each was started in no total. */
static void forget_started(cJSON *root, const char *member)
{
	cJSON *row, *list = cJSON_GetObjectItemCaseSensitive(root, member);
	cJSON_ArrayForEach(row, list)
	{
		const char *op = json_text(row, "op", "");
		if (strcmp(op, "MPI_Start") == 0 || strcmp(op, "MPI_Startall") == 0)
			cJSON_ReplaceItemInObjectCaseSensitive(row, "bytes", cJSON_CreateNull());
	}
}

int analysis_unknown(struct analysis *a)
{
	if (a->step->totals) {
		forget_started(a->root, "operations");
		forget_started(a->root, "callsites");
	}
	if (has_no_events(a))
		forget_unrecorded(a->root);
	for (size_t i = 0; a->step->totals && i < sizeof(unknown) / sizeof(unknown[0]); i++)
		take_out(a->root, unknown[i].member, unknown[i].field);
	return 0;
}

/* What was passed over, and calls of which the totals do not tell all. */
struct passed {
	uint64_t events, bytes;
	uint64_t started, coarse, messages, divided;
	uint64_t lost; /* events of which none can be looked at later */
	uint32_t threaded;
};

/* has_events: what its words do not tell can stand in some. */
static void add_sig(const struct step *s, const struct sig *sig, bool has_events, struct passed *n)
{
	if (!sig->defined)
		return;
	n->started += (sig->call.flags & SIG_PERSISTENT) != 0 ? sig->calls : 0;
	if (sig->call.literal_follows && has_events)
		*(step_is_message(sig_op_or(s, sig, "")) ? &n->messages : &n->coarse) += sig->calls;
	n->divided += bytes_need_partners(s, sig) ? sig->calls : 0;
}

static void add_process(const struct step *s, const struct process *p, struct passed *n)
{
	uint64_t written = 0, lost = 0;
	for (size_t i = 0; i < p->threads.n; i++) {
		written += p->threads.at[i].written;
		lost += p->threads.at[i].lost;
	}
	for (size_t i = 0; i < p->sigs.n; i++)
		add_sig(s, &p->sigs.at[i], written > 0 || lost == 0, n);
	n->events += written;
	n->lost += lost;
}

static struct passed passed_over(const struct analysis *a)
{
	const struct step *s = a->step;
	struct passed n = {0};
	for (size_t i = 0; i < s->nodes.n; i++)
		n.bytes += s->nodes.at[i].file.passed_bytes;
	for (uint32_t r = 0; r < s->nranks; r++) {
		if (s->ranks[r] != NULL)
			add_process(s, s->ranks[r], &n);
		n.threaded += a->ranks[r].threads > 1;
	}
	return n;
}

static void explain_carried(struct step *s, const struct passed *n)
{
	const char *kept = n->lost > 0 ? ", as far as these were kept" : "";
	if (n->coarse > 0)
		step_reason(s, "%s with all details in the events%s: call sites, partners and bytes are not known yet",
			    fmt_many((double)n->coarse, "call").s, kept);
	if (n->messages > 0)
		step_reason(s,
			    "%s of new sizes or tags with sizes and partners in the events%s: messages, bytes and "
			    "calls of communicators are without them",
			    fmt_many((double)n->messages, "message").s, kept);
}

void unknown_explain(struct analysis *a)
{
	struct step *s = a->step;
	if (!s->totals)
		return;
	struct passed n = passed_over(a);
	step_reason(s, "%s in %s are not analysed yet: waits, messages and the time line are not known%s",
		    fmt_many((double)n.events, "event").s, fmt_plain(fmt_bytes((double)n.bytes)).s,
		    s->unfinished_files > 0 ? "; there may be more in files without an end mark" : "");
	if (n.started > 0)
		step_reason(s, "%s: only events tell how often they were started; messages and bytes are without them",
			    fmt_many((double)n.started, "persistent request").s);
	explain_carried(s, &n);
	if (n.divided > 0)
		step_reason(s,
			    "%s whose received bytes only their partners record: exact in total, "
			    "divided evenly among the calls",
			    fmt_many((double)n.divided, "collective call").s);
	if (n.threaded > 0)
		step_reason(s, "%s rank%s from several threads: their times are those of one thread",
			    fmt_count(n.threaded).s, n.threaded == 1 ? " calls MPI" : "s call MPI");
}

void unknown_put(const struct analysis *a, cJSON *coverage)
{
	if (!a->step->totals)
		return;
	struct passed n = passed_over(a);
	json_put(coverage, "events_not_analysed", (double)n.events);
	json_put(coverage, "event_bytes_not_analysed", (double)n.bytes);
	cJSON_AddBoolToObject(coverage, "totals_complete", a->as_wanted);
}
