/* correctness.c - "correctness": what the program does wrong with MPI, the worst first. In: what the stream found
 * (stream/defects.h) and what totals say (leaks.c). */
#include "postproc/sections/correctness.h"
#include "postproc/stream/defects.h"

static int weight(enum defect_kind kind)
{
	const char *severity = correctness_severity(kind);
	return strcmp(severity, "high") == 0 ? 2 : strcmp(severity, "medium") == 0 ? 1 : 0;
}

static int worst_first(const void *a, const void *b)
{
	const struct defect *x = a, *y = b;
	if (weight(x->kind) != weight(y->kind))
		return weight(y->kind) - weight(x->kind);
	if (x->kind != y->kind)
		return (int)x->kind - (int)y->kind;
	if (x->count != y->count)
		return (x->count < y->count) - (x->count > y->count);
	if (x->site != y->site)
		return (x->site > y->site) - (x->site < y->site);
	return (x->other_site > y->other_site) - (x->other_site < y->other_site);
}

/* Of something that no event tells, the time is not known. */
static bool has_time(enum defect_kind kind)
{
	return kind < DEFECT_REQUEST_LEAK;
}

static void put_case(const struct step *s, cJSON *list, enum defect_kind kind, const struct defect_case *x)
{
	char text[CORRECTNESS_TEXT_MAX];
	cJSON *row = json_row(list);
	json_put_text(row, "what", correctness_case(s, kind, x, text, sizeof(text)));
	if (has_time(kind))
		json_put_seconds(row, "time_s", x->at_ns);
	else
		cJSON_AddNullToObject(row, "time_s");
	cJSON *ranks = json_array(row, "ranks");
	if (x->nmembers == 0)
		json_push(ranks, x->rank);
	if (x->nmembers == 0 && x->peer != NONE)
		json_push(ranks, x->peer);
	for (uint32_t i = 0; i < x->nmembers && i < DEFECT_MEMBERS_MAX; i++)
		json_push(ranks, x->members[i]);
	if (x->comm == NONE)
		cJSON_AddNullToObject(row, "communicator");
	else
		json_put(row, "communicator", x->comm);
}

static void put_defect(const struct step *s, cJSON *list, const struct defect *f)
{
	char text[CORRECTNESS_TEXT_MAX];
	cJSON *row = json_row(list);
	json_put_text(row, "kind", correctness_name(f->kind));
	json_put_text(row, "severity", correctness_severity(f->kind));
	json_put(row, "count", (double)f->count);
	json_put_text(row, "what", correctness_what(s, f, text, sizeof(text)));
	cJSON *ranks = json_array(row, "ranks");
	for (uint32_t i = 0; i < f->nranks; i++)
		json_push(ranks, f->ranks[i]);
	cJSON_AddBoolToObject(row, "more_ranks", f->more_ranks);
	cJSON *sites = json_array(row, "callsites");
	if (f->site != NONE)
		json_push(sites, f->site);
	if (f->other_site != NONE && f->other_site != f->site)
		json_push(sites, f->other_site);
	cJSON *examples = json_array(row, "examples");
	for (uint32_t i = 0; i < f->ncases; i++)
		put_case(s, examples, f->kind, &f->cases[i]);
}

int analysis_correctness(struct analysis *a)
{
	struct defects f = {0};
	int code = defects_merge(&f, &a->tally.defects);
	if (code == 0)
		code = leaks_find(a, &f);
	vec_sort(&f.rows, worst_first);
	cJSON *list = json_array(a->root, "correctness");
	for (size_t i = 0; i < f.rows.n && code == 0; i++)
		put_defect(a->step, list, &f.rows.at[i]);
	json_put(a->root, "correctness_left_out", (double)f.left_out);
	defects_done(&f);
	return code;
}
