/* compare.c - the object "mpitrace/diff/1", member by member. See compare.h. */
#include "postproc/compare/parts.h"

#include "base/json.h"

static const struct compare_run *first_of(const struct compare_input *in, unsigned group)
{
	for (size_t i = 0; i < in->nruns; i++)
		if (in->runs[i].group == group)
			return &in->runs[i];
	return NULL;
}

/* Runs that repeat each other have as many ranks. */
static int check_groups(const struct compare_input *in, struct error *e)
{
	for (size_t i = 0; i < in->nruns; i++) {
		const struct compare_run *r = &in->runs[i], *first = first_of(in, r->group);
		if (r->ranks != first->ranks)
			return fail(e, -EINVAL,
				    "%s ran on %.0f ranks and %s on %.0f, so they do not repeat each other; put -- "
				    "between them",
				    first->path, first->ranks, r->path, r->ranks);
	}
	return 0;
}

static int put_members(const struct compare_input *in, const struct sides *s, cJSON *diff)
{
	int code = sides_put(s, diff);
	if (code == 0)
		code = tables_put(s, diff);
	if (code == 0)
		code = callsites_put(s, diff);
	if (code == 0)
		code = issues_put(s, diff);
	return code == 0 ? scaling_put(in, diff) : code;
}

int compare_runs(const struct compare_input *in, cJSON **ret_diff, struct error *e)
{
	struct sides s;
	int code = check_groups(in, e);
	if (code < 0)
		return code;
	cJSON *diff = cJSON_CreateObject();
	code = diff == NULL ? -ENOMEM : sides_init(in, &s);
	if (code == 0) {
		json_put_text(diff, "schema", "mpitrace/diff/1");
		code = put_members(in, &s, diff);
		sides_done(&s);
	}
	if (code < 0) {
		cJSON_Delete(diff);
		return fail(e, code, "out of memory while comparing");
	}
	*ret_diff = diff;
	return 0;
}
