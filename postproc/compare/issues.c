/* issues.c - which issues are gone, new, or cost more or less. An issue that several runs of a side have is named
 * once; a run without it lost nothing by it. Of an issue that one side could not show neither is known. */
#include "postproc/compare/parts.h"

#include "base/json.h"
#include "format/issues.h"

struct issue {
	const char *name;
	unsigned runs[2];
	double loss_s[2]; /* mean of all runs of the side */
};

typedef VEC(struct issue) issue_list;

static struct issue *issue_named(issue_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->at[i].name, name) == 0)
			return &list->at[i];
	return vec_push(list, (struct issue){.name = name}) < 0 ? NULL : &list->at[list->n - 1];
}

/* Does an earlier row of the same run have this name? */
static bool is_repeated(const cJSON *row, const cJSON *first)
{
	for (const cJSON *v = first; v != row; v = v->next)
		if (strcmp(json_text(v, "issue", "?"), json_text(row, "issue", "?")) == 0)
			return true;
	return false;
}

static int add_run(const struct sides *s, size_t run, issue_list *list)
{
	unsigned side = run < s->na ? 0 : 1;
	const cJSON *first = json_first(s->run[run]->analysis, "issues");
	for (const cJSON *v = first; v != NULL; v = v->next) {
		struct issue *x = issue_named(list, json_text(v, "issue", "?"));
		if (x == NULL)
			return -ENOMEM;
		x->runs[side] += !is_repeated(v, first);
		x->loss_s[side] += json_number_or(v, "loss_s", 0) / (double)side_count(s, side);
	}
	return 0;
}

static int by_change(const void *a, const void *b)
{
	const struct issue *x = a, *y = b;
	double cx = x->loss_s[1] - x->loss_s[0], cy = y->loss_s[1] - y->loss_s[0];
	cx = cx < 0 ? -cx : cx;
	cy = cy < 0 ? -cy : cy;
	return cx != cy ? (cx < cy) - (cx > cy) : strcmp(x->name, y->name);
}

static void put_issue(const struct issue *x, cJSON *o)
{
	json_put_text(o, "issue", x->name);
	json_put(o, "a_runs", x->runs[0]);
	json_put(o, "b_runs", x->runs[1]);
	json_put(o, "a_loss_s", x->loss_s[0]);
	json_put(o, "b_loss_s", x->loss_s[1]);
	json_put(o, "change_s", x->loss_s[1] - x->loss_s[0]);
}

/* Could a run of the side show it? Most issues are found in single calls. */
static bool side_could_show(const struct sides *s, unsigned side, const struct issue *x)
{
	const struct issue_row *row = issue_row(x->name);
	bool could = x->runs[side] > 0 || (row != NULL && row->of_totals);
	for (size_t i = 0; !could && i < side_count(s, side); i++)
		could = s->has_events[side_first(s, side) + i];
	return could;
}

int issues_put(const struct sides *s, cJSON *diff)
{
	issue_list list = {.n = 0};
	cJSON *issues = json_object(diff, "issues");
	cJSON *gone = json_array(issues, "gone"), *new = json_array(issues, "new"),
	      *changed = json_array(issues, "changed"), *unknown = json_array(issues, "unknown");
	int code = 0;
	for (size_t i = 0; code == 0 && i < s->n; i++)
		code = add_run(s, i, &list);
	vec_sort(&list, by_change);
	for (size_t i = 0; i < list.n; i++) {
		const struct issue *x = &list.at[i];
		cJSON *known = x->runs[1] == 0 ? gone : x->runs[0] == 0 ? new : changed;
		put_issue(x, json_row(side_could_show(s, 0, x) && side_could_show(s, 1, x) ? known : unknown));
	}
	vec_done(&list);
	return code;
}
