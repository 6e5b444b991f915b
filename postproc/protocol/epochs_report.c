/* epochs_report.c - epochs to JSON: sums of all, the first ones, and those that need most buffers. What is not listed
 * is counted. */
#include "postproc/protocol/epochs_report.h"

#include "postproc/protocol/epochs_super.h"

struct worst {
	uint64_t messages, number;
	cJSON *row;
};

struct super {
	struct super_epochs epochs;
	cJSON *runs;
	uint64_t listed;
};

struct epochs_report {
	uint64_t count, events, messages, bytes, collectives, largest, largest_messages, unknown_buffers;
	uint64_t peak_messages, peak_bytes, most_ranks, spans_listed, listed;
	struct worst worst[EPOCHS_WORST]; /* most messages in flight first */
	unsigned nworst, nbudgets;
	struct super super[EPOCH_BUDGETS_MAX];
	cJSON *list;
	VEC(struct epoch_need) needs;
};

/* ---- one epoch ---- */

static int more_first(const void *a, const void *b)
{
	const struct epoch_need *x = a, *y = b;
	if (x->messages != y->messages)
		return x->messages > y->messages ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static int put_receivers(struct epochs_report *r, cJSON *buffers, const struct epoch *x)
{
	cJSON *list = json_array(buffers, "per_receiver");
	r->needs.n = 0;
	for (uint32_t i = 0; i < x->nreceivers; i++)
		if (vec_push(&r->needs, x->receiver[i]) < 0)
			return -ENOMEM;
	vec_sort(&r->needs, more_first);
	for (size_t i = 0; i < r->needs.n && i < EPOCH_RECEIVERS_LISTED; i++) {
		cJSON *row = json_row(list);
		json_put(row, "rank", r->needs.at[i].rank);
		json_put(row, "messages", (double)r->needs.at[i].messages);
		json_put(row, "bytes", (double)r->needs.at[i].bytes);
	}
	json_put(buffers, "receivers", x->nreceivers);
	return 0;
}

static uint32_t put_spans(cJSON *row, const struct epoch *x)
{
	cJSON *list = json_array(row, "events");
	uint32_t n = x->nspans < EPOCH_RANKS_LISTED ? x->nspans : EPOCH_RANKS_LISTED;
	for (uint32_t i = 0; i < n; i++) {
		cJSON *span = json_row(list);
		json_put(span, "rank", x->spans[i].rank);
		json_put(span, "first", (double)x->spans[i].first);
		json_put(span, "last", (double)x->spans[i].last);
	}
	json_put(row, "ranks_left_out", x->nspans - n);
	return n;
}

static int put_epoch(struct epochs_report *r, cJSON *row, const struct epoch *x)
{
	json_put(row, "epoch", (double)x->number);
	json_put_seconds(row, "from_s", x->from_ns);
	json_put_seconds(row, "to_s", x->to_ns);
	json_put(row, "messages", (double)x->messages);
	json_put(row, "bytes", (double)x->bytes);
	json_put(row, "collectives", (double)x->collectives);
	json_put(row, "ranks", x->nspans);
	if (!x->single) {
		cJSON_AddNullToObject(row, "buffers");
	} else {
		cJSON *buffers = json_object(row, "buffers");
		json_put(buffers, "total", (double)x->total.messages);
		json_put(buffers, "bytes", (double)x->total.bytes);
		if (put_receivers(r, buffers, x) < 0)
			return -ENOMEM;
	}
	r->spans_listed += put_spans(row, x);
	return 0;
}

static int list_epoch(struct epochs_report *r, const struct epoch *x)
{
	uint32_t spans = x->nspans < EPOCH_RANKS_LISTED ? x->nspans : EPOCH_RANKS_LISTED;
	if (r->listed != r->count - 1 || r->listed >= EPOCHS_LISTED_MAX ||
	    r->spans_listed + spans > EPOCHS_SPANS_LISTED)
		return 0;
	r->listed++;
	return put_epoch(r, json_row(r->list), x);
}

/* Among equals the first one. */
static int keep_worst(struct epochs_report *r, const struct epoch *x)
{
	unsigned at = r->nworst;
	while (at > 0 && r->worst[at - 1].messages < x->total.messages)
		at--;
	if (at == EPOCHS_WORST || x->total.messages == 0)
		return 0;
	if (r->nworst == EPOCHS_WORST)
		cJSON_Delete(r->worst[--r->nworst].row);
	memmove(&r->worst[at + 1], &r->worst[at], (r->nworst - at) * sizeof(*r->worst));
	r->nworst++;
	r->worst[at] = (struct worst){x->total.messages, x->number, cJSON_CreateObject()};
	uint64_t listed = r->spans_listed;
	int code = put_epoch(r, r->worst[at].row, x);
	r->spans_listed = listed;
	return code;
}

/* ---- super epochs ---- */

static void put_run(struct super *s, const struct super_run *run)
{
	if (s->listed++ >= SUPER_RUNS_LISTED)
		return;
	cJSON *row = cJSON_CreateArray();
	json_push(row, (double)run->first);
	json_push(row, (double)run->last);
	cJSON_AddItemToArray(s->runs, row);
}

static int add_to_super(struct super *s, const struct epoch *x)
{
	struct super_run before;
	int rc = super_add(&s->epochs, x, &before);
	if (rc > 0)
		put_run(s, &before);
	return rc < 0 ? rc : 0;
}

static void put_super(struct epochs_report *r, cJSON *o)
{
	cJSON *list = json_array(o, "super");
	for (unsigned i = 0; i < r->nbudgets; i++) {
		struct super *s = &r->super[i];
		cJSON *row = json_row(list);
		if (s->epochs.count > 0)
			put_run(s, &s->epochs.run);
		json_put(row, "budget", (double)s->epochs.budget);
		json_put(row, "count", (double)s->epochs.count);
		json_put(row, "over", (double)s->epochs.over);
		cJSON_AddItemToObject(row, "runs", s->runs);
		s->runs = NULL;
		json_put(row, "omitted", s->listed > SUPER_RUNS_LISTED ? (double)(s->listed - SUPER_RUNS_LISTED) : 0);
	}
}

/* ---- all ---- */

int epochs_report_add(void *context, const struct epoch *x)
{
	struct epochs_report *r = context;
	r->count++;
	r->events += x->events;
	r->messages += x->messages;
	r->bytes += x->bytes;
	r->collectives += x->collectives;
	r->unknown_buffers += !x->single;
	r->most_ranks = x->nspans > r->most_ranks ? x->nspans : r->most_ranks;
	r->peak_bytes = x->total.bytes > r->peak_bytes ? x->total.bytes : r->peak_bytes;
	r->peak_messages = x->total.messages > r->peak_messages ? x->total.messages : r->peak_messages;
	if (r->largest == 0 || x->messages > r->largest_messages) {
		r->largest = x->number;
		r->largest_messages = x->messages;
	}
	int code = list_epoch(r, x);
	if (code == 0 && x->single)
		code = keep_worst(r, x);
	for (unsigned i = 0; i < r->nbudgets && code == 0; i++)
		code = add_to_super(&r->super[i], x);
	return code;
}

cJSON *epochs_report_json(struct epochs_report *r)
{
	cJSON *o = cJSON_CreateObject();
	json_put(o, "count", (double)r->count);
	json_put(o, "events", (double)r->events);
	json_put(o, "messages", (double)r->messages);
	json_put(o, "bytes", (double)r->bytes);
	json_put(o, "collectives", (double)r->collectives);
	json_put(o, "most_ranks", (double)r->most_ranks);
	json_put(o, "largest", (double)r->largest);
	json_put(o, "largest_messages", (double)r->largest_messages);
	json_put(o, "deepest", r->nworst > 0 ? (double)r->worst[0].number : 0);
	json_put(o, "deepest_messages", (double)r->peak_messages);
	json_put(o, "deepest_bytes", (double)r->peak_bytes);
	json_put(o, "unknown_buffers", (double)r->unknown_buffers);
	cJSON_AddItemToObject(o, "list", r->list);
	r->list = NULL;
	json_put(o, "omitted", (double)(r->count - r->listed));
	cJSON *worst = json_array(o, "worst");
	for (unsigned i = 0; i < r->nworst; i++)
		cJSON_AddItemToArray(worst, r->worst[i].row);
	r->nworst = 0;
	put_super(r, o);
	return o;
}

struct epochs_report *epochs_report_create(const uint64_t *budgets, unsigned n)
{
	struct epochs_report *r = calloc(1, sizeof(*r));
	if (r == NULL)
		return NULL;
	r->list = cJSON_CreateArray();
	r->nbudgets = n < EPOCH_BUDGETS_MAX ? n : EPOCH_BUDGETS_MAX;
	for (unsigned i = 0; i < r->nbudgets; i++) {
		r->super[i].epochs.budget = budgets[i];
		r->super[i].runs = cJSON_CreateArray();
	}
	return r;
}

void epochs_report_destroy(struct epochs_report *r)
{
	if (r == NULL)
		return;
	cJSON_Delete(r->list);
	for (unsigned i = 0; i < r->nworst; i++)
		cJSON_Delete(r->worst[i].row);
	for (unsigned i = 0; i < r->nbudgets; i++) {
		cJSON_Delete(r->super[i].runs);
		super_done(&r->super[i].epochs);
	}
	vec_done(&r->needs);
	free(r);
}
