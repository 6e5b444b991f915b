/* merge_json.c - one merged sample as JSON, schema mpitrace/sample/1 (docs/LIVE.md draws it). Numbers are written
 * here, since a tree of as many would take a hundred times their bytes. */
#include "postproc/live/merge_node.h"

#include "base/json.h"

#include <inttypes.h>
#include <math.h>

#define SCHEMA "mpitrace/sample/1"
#define RANKS_MAX_BYTES (64u << 20) /* more is left out, and said as a number */

/* What threads did, by call site, or by operation where there is none. */
struct names {
	const struct step *step;
	VEC(uint32_t) of_site, of_op; /* number of the name plus 1 */
	cJSON *list;
	uint32_t n;
};

struct sum {
	uint64_t calls, ticks, bytes;
};

struct writer {
	struct merging *m;
	struct merge_summary *summary;
	double mpi_ticks, wait_ns; /* of the first thread of a process */
	struct names names;
	struct buf out;
	VEC(struct sum) sums;  /* by name, of one thread */
	VEC(uint32_t) touched; /* names of which sums has any */
	uint64_t left_out;
	int code;
};

static void add_name(struct names *n, uint32_t op, uint32_t at)
{
	char text[512];
	cJSON *row = json_row(n->list);
	json_put_text(row, "op", op != NONE ? n->step->ops.at[op] : NULL);
	const struct site *site = at != NONE ? &n->step->sites.at[at] : NULL;
	json_put_text(row, "function", site != NULL ? site->function : NULL);
	if (site != NULL && site->file != NULL)
		snprintf(text, sizeof(text), "%.480s:%d", site->file, site->line);
	else if (site != NULL && site->module != NONE)
		snprintf(text, sizeof(text), "%.480s+0x%" PRIx64, n->step->modules.at[site->module].path, site->offset);
	json_put_text(row, "callsite", site != NULL && (site->file != NULL || site->module != NONE) ? text : NULL);
}

/* 0 or -ENOMEM. */
static int name_of(struct names *n, uint32_t op, uint32_t site, uint32_t *ret_name)
{
	if ((site != NONE ? vec_reach(&n->of_site, site) : vec_reach(&n->of_op, op == NONE ? n->step->ops.n : op)) < 0)
		return -ENOMEM;
	uint32_t *known = site != NONE ? &n->of_site.at[site] : &n->of_op.at[op == NONE ? n->step->ops.n : op];
	if (*known == 0) {
		add_name(n, op, site);
		*known = ++n->n;
	}
	*ret_name = *known - 1;
	return 0;
}

static const struct sig *sig_at(const struct process *p, uint32_t thread, size_t id)
{
	if (thread >= p->threads.n || id >= p->threads.at[thread].sig_of.n)
		return NULL;
	uint32_t at = p->threads.at[thread].sig_of.at[id];
	return at > 0 && at <= p->sigs.n ? &p->sigs.at[at - 1] : NULL;
}

/* ---- one thread ---- */

static void add_sum(struct writer *w, const struct sig *sig, uint64_t calls, uint64_t ticks)
{
	uint32_t name;
	if (name_of(&w->names, sig != NULL ? sig->op : NONE, sig != NULL ? sig->site : NONE, &name) < 0 ||
	    vec_reach(&w->sums, name) < 0) {
		w->code = -ENOMEM;
		return;
	}
	struct sum *s = &w->sums.at[name];
	if (s->calls == 0 && s->ticks == 0 && vec_push(&w->touched, name) < 0)
		w->code = -ENOMEM;
	s->calls += calls;
	s->ticks += ticks;
	s->bytes += sig != NULL ? calls * sig->call_bytes : 0;
}

/* What was added since the merged sample before. */
static void put_totals(struct writer *w, const struct process *p, uint32_t thread, struct live_thread *t)
{
	struct live_came came;
	while (replay_take(t, &came)) {
		w->mpi_ticks += (double)came.ticks;
		add_sum(w, sig_at(p, thread, came.sig), came.calls, came.ticks);
	}
	w->mpi_ticks += (t->open ? (double)t->age_ticks : 0) - (double)t->given_age;
	t->given_age = t->open ? t->age_ticks : 0;
	buf_printf(&w->out, ",\"mpi_ticks\":%.0f,\"totals\":[", w->mpi_ticks > 0 ? w->mpi_ticks : 0);
	for (size_t i = 0; i < w->touched.n; i++) {
		struct sum *s = &w->sums.at[w->touched.at[i]];
		buf_printf(&w->out, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i > 0 ? "," : "",
			   w->touched.at[i], s->calls, s->ticks, s->bytes);
		*s = (struct sum){0};
	}
	w->touched.n = 0;
	buf_str(&w->out, "]");
}

/* The call that it is in: by its words only the operation is known. */
static void put_open(struct writer *w, const struct process *p, uint32_t thread, const struct live_thread *t)
{
	uint32_t name = 0, op = NONE, site = NONE;
	const struct sig *sig = t->nwords < 2 ? sig_at(p, thread, t->sig) : NULL;
	if (t->nwords >= 2) {
		size_t local = t->words[0] & 0xffff;
		op = local < p->ops.n && p->ops.at[local] > 0 ? p->ops.at[local] - 1 : NONE;
	} else if (sig != NULL) {
		op = sig->op;
		site = sig->site;
	}
	if (name_of(&w->names, op, site, &name) < 0)
		w->code = -ENOMEM;
	buf_printf(&w->out, ",\"in\":%" PRIu32 ",\"in_ticks\":%" PRIu64, name, t->age_ticks);
}

static void put_thread(struct writer *w, const struct process *p, uint32_t thread, struct live_thread *t)
{
	buf_printf(&w->out, "{\"thread\":%" PRIu32 ",\"cpu_ns\":%" PRIu64 ",\"wait_ns\":%" PRIu64, thread, t->cpu_ns,
		   t->wait_ns);
	w->mpi_ticks = 0;
	w->wait_ns = (double)t->wait_ns;
	t->cpu_ns = t->wait_ns = 0;
	if (t->open)
		put_open(w, p, thread, t);
	put_totals(w, p, thread, t);
	buf_str(&w->out, "}");
}

/* ---- ranks ---- */

static void put_rank(struct writer *w, const struct process *p, size_t node, struct live_process *live)
{
	static const char *const states[] = {[SAMPLE_RUNNING] = "running",
					     [SAMPLE_FINALIZED] = "finalized",
					     [SAMPLE_ABORTED] = "aborted",
					     [SAMPLE_LOST] = "lost",
					     [SAMPLE_STARTING] = "starting"};
	buf_printf(&w->out, "{\"rank\":");
	if (p->rank != NONE)
		buf_printf(&w->out, "%" PRIu32, p->rank);
	else
		buf_str(&w->out, "null");
	buf_printf(&w->out,
		   ",\"node\":%zu,\"process\":%" PRIu32 ",\"state\":\"%s\",\"resident_bytes\":%" PRIu64
		   ",\"threads\":[",
		   node, p->index, states[live->state], live->resident_bytes);
	for (size_t t = 0; t < live->threads.n; t++) {
		if (t > 0)
			buf_str(&w->out, ",");
		put_thread(w, p, (uint32_t)t, &live->threads.at[t]);
		if (t == 0)
			merge_summary_add(w->summary, p, &w->m->nodes.at[node], w->mpi_ticks, w->wait_ns);
	}
	buf_str(&w->out, "]}");
}

static struct merge_node *merge_node_at(struct merging *m, size_t node, size_t *ret_at)
{
	for (size_t i = 0; i < m->nodes.n; i++)
		if (m->nodes.at[i].node == node) {
			*ret_at = i;
			return &m->nodes.at[i];
		}
	return NULL;
}

static void put_ranks(struct writer *w)
{
	bool first = true;
	size_t at = 0, node = SIZE_MAX;
	struct merge_node *n = NULL;
	for (size_t i = 0; i < w->m->step.processes.n; i++) {
		const struct process *p = w->m->step.processes.at[i];
		if (p->node != node)
			n = merge_node_at(w->m, node = p->node, &at);
		if (n == NULL || p->index >= n->live.processes.n)
			continue;
		if (w->out.len_bytes > RANKS_MAX_BYTES) {
			w->left_out++;
			continue;
		}
		if (!first)
			buf_str(&w->out, ",");
		first = false;
		put_rank(w, p, at, &n->live.processes.at[p->index]);
	}
}

/* ---- nodes ---- */

static cJSON *make_head(const struct writer *w)
{
	static const char *const states[] = {[MERGE_SAMPLED] = "sampled",
					     [MERGE_NOT_DUE] = "not due",
					     [MERGE_LAGS] = "lags",
					     [MERGE_ENDED] = "ended",
					     [MERGE_NONE] = "no samples"};
	const struct merging *m = w->m;
	cJSON *o = cJSON_CreateObject();
	json_put_text(o, "schema", SCHEMA);
	json_put(o, "number", (double)m->number);
	json_put(o, "time", (double)m->slot_ns / 1e9);
	cJSON *missing = json_array(o, "nodes_missing"), *nodes = json_array(o, "nodes");
	for (size_t i = 0; i < m->missing.n; i++)
		json_push_text(missing, m->missing.at[i]);
	for (size_t i = 0; i < m->nodes.n; i++) {
		const struct merge_node *n = &m->nodes.at[i];
		bool sampled = n->live.samples > 0;
		cJSON *row = json_row(nodes);
		json_put_text(row, "node", n->node != NONE ? m->step.nodes.at[n->node].name : NULL);
		json_put_text(row, "state", states[n->state]);
		json_put(row, "samples", n->folded);
		json_put_null_or(row, "sample", sampled ? (double)n->live.seq : (double)NAN);
		json_put_null_or(row, "time", sampled ? (double)n->live.realtime_ns / 1e9 : (double)NAN);
		json_put_null_or(row, "ns_per_tick", n->live.ns_per_tick > 0 ? n->live.ns_per_tick : (double)NAN);
		json_put(row, "gap_s", (double)n->live.gap_ns / 1e9);
		json_put(row, "samples_unreadable", n->live.bad);
	}
	json_put(o, "ranks_left_out", (double)w->left_out);
	return o;
}

/* {head, names, ranks}: the ranks are written first, since they say which names there are. */
static char *join(struct writer *w, size_t *ret_len_bytes)
{
	struct buf all = {0};
	cJSON *head = make_head(w);
	cJSON_AddItemToObject(head, "names", w->names.list);
	w->names.list = NULL;
	char *text = json_print(head);
	cJSON_Delete(head);
	if (text != NULL) {
		buf_bytes(&all, text, strlen(text) - 1); /* without its brace */
		buf_str(&all, ",\"ranks\":[");
		buf_bytes(&all, w->out.data, w->out.len_bytes);
		buf_str(&all, "]}");
	}
	free(text);
	if (text == NULL || buf_failed(&all) || buf_failed(&w->out) || w->code < 0) {
		buf_done(&all);
		return NULL;
	}
	*ret_len_bytes = all.len_bytes;
	return (char *)all.data;
}

char *merge_json(struct merging *m, struct merge_summary *ret_summary, size_t *ret_len_bytes)
{
	*ret_summary = (struct merge_summary){.ranks = m->step.nranks};
	ret_summary->rows = m->step.nranks < MERGE_ROWS_MAX ? m->step.nranks : MERGE_ROWS_MAX;
	struct writer w = {.m = m, .summary = ret_summary, .names = {.step = &m->step, .list = cJSON_CreateArray()}};
	put_ranks(&w);
	char *text = join(&w, ret_len_bytes);
	cJSON_Delete(w.names.list);
	vec_done(&w.names.of_site);
	vec_done(&w.names.of_op);
	vec_done(&w.sums);
	vec_done(&w.touched);
	buf_done(&w.out);
	return text;
}
