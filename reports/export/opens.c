/* opens.c - see opens.h. */
#include "reports/export/opens.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct reading {
	struct opens *o;
	const struct mpix_file *f;
	int64_t *starts_ns; /* of windows; of one in which nothing begins that of the next */
	uint32_t windows, group_ranks;
};

/* ---- from the analysis ---- */

static int64_t *read_starts(const struct mpix_file *f, uint32_t windows)
{
	int64_t *starts_ns = calloc(windows + 1u, sizeof(*starts_ns)), next = INT64_MAX;
	for (uint32_t w = windows; w > 0 && starts_ns != NULL; w--) {
		int64_t ns = mpix_window_start(f, w - 1);
		next = ns != INT64_MAX ? ns : next;
		starts_ns[w - 1] = next;
	}
	return starts_ns;
}

static uint32_t find_window(const struct reading *r, int64_t ns)
{
	uint32_t low = 0, high = r->windows;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (r->starts_ns[middle] <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Its number among the functions of the trace, to which one that nobody came back from is added. */
static int find_op(struct opens *o, const char *name, uint32_t *ret_op)
{
	uint32_t op = 0, n = o->info.nops;
	while (op < n && strcmp(o->info.ops[op], name) != 0)
		op++;
	*ret_op = op;
	if (op < n)
		return 0;
	const char **grown = realloc(o->ops, (n + 1u) * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	if (o->ops == NULL && n > 0)
		memcpy(grown, o->info.ops, n * sizeof(*grown));
	grown[n] = name;
	o->ops = grown;
	o->info.ops = grown;
	o->info.nops = n + 1;
	return 0;
}

static uint32_t number_or(const cJSON *x, const char *key, uint32_t none)
{
	double value = json_number(x, key);
	return value >= 0 && value < (double)UINT32_MAX ? (uint32_t)value : none;
}

static bool is_time(double s)
{
	return fabs(s) < 1e9; /* not for NaN: it is not known */
}

static int add(struct reading *r, uint32_t rank, const cJSON *x)
{
	double from_s = json_number(x, "from_s"), to_s = json_number(x, "to_s");
	uint32_t first = mpix_first_lane(r->f, rank), threads = mpix_first_lane(r->f, rank + 1) - first;
	uint32_t thread = number_or(x, "thread", UINT32_MAX), class = number_or(x, "class", MPIX_OTHER), op;
	if (!is_time(from_s) || !is_time(to_s) || to_s < from_s || thread >= threads || r->windows == 0) {
		r->o->unknown++;
		return 0;
	}
	if (find_op(r->o, json_text(x, "op", "?"), &op) < 0)
		return -ENOMEM;
	int64_t start_ns = (int64_t)rint(from_s * 1e9), end_ns = (int64_t)rint(to_s * 1e9);
	struct open_call open = {
		.group = rank / r->group_ranks,
		.window = find_window(r, start_ns),
		.rank = rank,
		.call = {.start_ns = start_ns,
			 .end_ns = end_ns,
			 .calls = 1,
			 .peer = -1,
			 .op = op,
			 .callsite = number_or(x, "callsite", MPIX_NO_CALLSITE),
			 .comm = number_or(x, "communicator", 0), /* as of events that have none */
			 .thread = thread,
			 .wait_ns = cJSON_IsTrue(json_item(x, "waits")) ? end_ns - start_ns : 0,
			 .class = class < MPIX_CLASSES ? (uint8_t) class : MPIX_OTHER,
			 .at = {.window = MPIX_NOWHERE, .lane = first + thread, .index = UINT32_MAX},
			 .number = MPIX_NO_NUMBER},
	};
	r->o->first_ns = start_ns < r->o->first_ns ? start_ns : r->o->first_ns;
	return vec_push(&r->o->calls, open);
}

static int in_order(const void *a, const void *b)
{
	const struct open_call *x = a, *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (x->call.at.lane != y->call.at.lane)
		return x->call.at.lane < y->call.at.lane ? -1 : 1;
	return (x->call.start_ns > y->call.start_ns) - (x->call.start_ns < y->call.start_ns);
}

static int read_all(struct reading *r, const cJSON *analysis)
{
	int rc = 0;
	for (const cJSON *row = json_first(analysis, "per_rank"); row != NULL; row = row->next) {
		uint32_t rank = number_or(row, "rank", UINT32_MAX);
		for (const cJSON *x = json_first(row, "open"); x != NULL && rank < r->o->info.ranks && rc == 0;
		     x = x->next)
			rc = add(r, rank, x);
	}
	vec_sort(&r->o->calls, in_order);
	return rc;
}

int opens_read(struct opens *o, const struct mpix_file *f, const cJSON *analysis, struct error *e)
{
	struct reading r = {.o = o, .f = f, .windows = mpix_windows(f)};
	uint32_t first, end;
	*o = (struct opens){.first_ns = INT64_MAX, .info = *mpix_info(f)};
	if (mpix_groups(f) == 0)
		return 0;
	mpix_group_ranks(f, 0, &first, &end); /* all groups but the last have as many ranks */
	r.group_ranks = end - first;
	r.starts_ns = read_starts(f, r.windows);
	int rc = r.starts_ns != NULL ? read_all(&r, analysis) : -ENOMEM;
	free(r.starts_ns);
	return rc < 0 ? fail(e, rc, "out of memory") : 0;
}

void opens_done(struct opens *o)
{
	vec_done(&o->calls);
	free(o->ops);
	*o = (struct opens){0};
}

/* ---- by cell ---- */

static bool is_before(const struct open_call *x, uint32_t group, uint32_t window)
{
	return x->group != group ? x->group < group : x->window < window;
}

size_t opens_of(const struct opens *o, uint32_t group, uint32_t window, const struct open_call **ret_calls)
{
	size_t low = 0, high = o->calls.n, n = 0;
	*ret_calls = NULL;
	if (high == 0)
		return 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (is_before(&o->calls.at[middle], group, window))
			low = middle + 1;
		else
			high = middle;
	}
	*ret_calls = o->calls.at + low;
	while (low + n < o->calls.n && o->calls.at[low + n].group == group && o->calls.at[low + n].window == window)
		n++;
	return n;
}

struct merging {
	const struct open_call *next;
	size_t n; /* that are not given yet */
	int (*visit)(void *context, const struct mpix_event *event);
	void *context;
	uint32_t lane; /* of the last event, and when that ended */
	int64_t end_ns;
};

static int emit(struct merging *m, const struct mpix_event *call)
{
	m->lane = call->at.lane;
	m->end_ns = call->end_ns;
	return m->visit(m->context, call);
}

/* Those of lanes before one. */
static int give_open(struct merging *m, uint32_t lane)
{
	int rc = 0;
	for (; m->n > 0 && m->next->call.at.lane < lane && rc == 0; m->n--, m->next++) {
		struct mpix_event call = m->next->call;
		if (call.at.lane == m->lane && call.start_ns < m->end_ns)
			call.start_ns = m->end_ns;
		if (call.end_ns < call.start_ns)
			call.end_ns = call.start_ns;
		rc = emit(m, &call);
	}
	return rc;
}

static int visit_event(void *context, const struct mpix_event *call)
{
	struct merging *m = context;
	int rc = m->n > 0 ? give_open(m, call->at.lane) : 0;
	return rc == 0 ? emit(m, call) : rc;
}

int opens_cell_events(const struct opens *o, struct mpix_file *f, uint32_t group, uint32_t window,
		      int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e)
{
	struct merging m = {.visit = visit, .context = context, .lane = UINT32_MAX};
	int rc = 0, code;
	m.n = opens_of(o, group, window, &m.next);
	if (mpix_cell_count(f, group, window).events > 0)
		rc = m.n > 0 ? mpix_cell_events(f, group, window, visit_event, &m, e)
			     : mpix_cell_events(f, group, window, visit, context, e);
	if (rc != 0 && rc != -EBADMSG) /* what is damaged may be left out: the others are there nevertheless */
		return rc;
	code = give_open(&m, UINT32_MAX);
	return rc != 0 ? rc : code;
}
