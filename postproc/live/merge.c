/* merge.c - see merge.h. In: SAMPLE blocks of growing files, and the definitions around them.  Out: merged samples.
 *
 * Nodes take samples when their gap divides the time of day. The next merged sample is of the earliest such moment
 * that any node has a sample of. It waits for each node that was due then, until this is late; a node that let it
 * wait once is not waited for again before it has said something. */
#include "postproc/live/merge.h"
#include "postproc/live/merge_node.h"

#include "base/json.h"
#include "postproc/lines/lines.h"
#include "postproc/totals/bytes.h"

/* As snapshot.c: shared file systems show late what others wrote. */
#define LATE_NS 10000000000ll
#define WAITING_MAX 65536u /* of one node: more, and the first ones are merged while the others are left in the file */

struct merge {
	struct merging m;
	char *path;
	bool late_missing; /* nodes without a file are not waited for */
};

int merge_create(const char *path, struct merge **ret_merge)
{
	struct merge *m = calloc(1, sizeof(*m));
	if (m == NULL || (m->path = strdup(path)) == NULL) {
		free(m);
		return -ENOMEM;
	}
	*ret_merge = m;
	return 0;
}

void merge_destroy(struct merge *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->m.nodes.n; i++) {
		replay_done(&m->m.nodes.at[i].live);
		vec_done(&m->m.nodes.at[i].waiting);
		free(m->m.nodes.at[i].path);
	}
	vec_done(&m->m.nodes);
	missing_done(&m->m.missing);
	step_done(&m->m.step);
	free(m->path);
	free(m);
}

/* ---- what came ---- */

static int queue(struct merge_node *n, const struct mpic_file *f, const struct mpic_block *b)
{
	_cleanup_buf_ struct buf payload = {0};
	struct sampled s, before = {.slot_ns = n->slot_ns, .gap_ns = n->gap_ns};
	if (n->waiting.n > n->next)
		before = n->waiting.at[n->waiting.n - 1];
	int code = sampled_read(f, b, &before, &payload, &s);
	return code < 0 ? code : vec_push(&n->waiting, s);
}

static int queue_samples(struct merge_node *n, const struct mpic_file *f)
{
	if (n->next > 0) {
		n->waiting.n -= n->next;
		memmove(n->waiting.at, n->waiting.at + n->next, n->waiting.n * sizeof(*n->waiting.at));
		n->next = 0;
	}
	for (size_t i = 0; i < f->nblocks && n->waiting.n < WAITING_MAX; i++) {
		const struct mpic_block *b = &f->blocks[i];
		if (b->kind != MPIC_SAMPLE || b->process != MPIC_NODE || b->seq < n->next_seq)
			continue;
		n->next_seq = b->seq + 1;
		int code = queue(n, f, b);
		if (code == -ENOMEM)
			return code;
		n->live.bad += code < 0;
		n->begun |= code == 0;
	}
	return 0;
}

static struct merge_node *node_of(struct merge *m, const struct mpic_file *f)
{
	for (size_t i = 0; i < m->m.nodes.n; i++)
		if (strcmp(m->m.nodes.at[i].path, f->path) == 0)
			return &m->m.nodes.at[i];
	char *path = strdup(f->path);
	if (path == NULL || vec_push(&m->m.nodes, (struct merge_node){.path = path, .file_id = f->id}) < 0) {
		free(path);
		return NULL;
	}
	return &m->m.nodes.at[m->m.nodes.n - 1];
}

static int take_node(struct merge *m, size_t i)
{
	const struct mpic_file *f = &m->m.step.nodes.at[i].file;
	struct merge_node *n = node_of(m, f);
	if (n == NULL)
		return -ENOMEM;
	n->node = i;
	if (n->file_id != f->id) { /* begun anew: its first sample is a whole one */
		n->file_id = f->id;
		n->next_seq = 0;
	}
	return queue_samples(n, f);
}

int merge_update(struct merge *m, struct error *e)
{
	struct step s;
	struct step_how how = {.before = &m->m.step, .pass_over_files = true};
	int code = step_load_with(&m->path, 1, &how, &s, e);
	step_done(&m->m.step); /* when that failed, its files went with it */
	for (size_t i = 0; i < m->m.nodes.n; i++)
		m->m.nodes.at[i].node = NONE;
	if (code < 0)
		return code;
	m->m.step = s;
	lines_resolve(&m->m.step);
	bytes_of_calls(&m->m.step);
	missing_find(&m->m.step, &m->m.missing);
	for (size_t i = 0; i < m->m.step.nodes.n && code == 0; i++)
		code = take_node(m, i);
	return code < 0 ? fail(e, code, "%s: out of memory", m->path) : 0;
}

/* ---- what is next ---- */

static const struct sampled *first_waiting(const struct merge_node *n)
{
	return n->next < n->waiting.n ? &n->waiting.at[n->next] : NULL;
}

static bool has_ended(const struct merge *m, const struct merge_node *n)
{
	return n->node != NONE && m->m.step.nodes.at[n->node].file.finished;
}

/* The earliest moment of which any node has a sample, and the longest gap behind it. */
static bool next_slot(const struct merge *m, int64_t *ret_slot_ns, int64_t *ret_gap_ns)
{
	bool any = false;
	for (size_t i = 0; i < m->m.nodes.n; i++) {
		const struct sampled *s = first_waiting(&m->m.nodes.at[i]);
		if (s == NULL)
			continue;
		if (!any || s->slot_ns < *ret_slot_ns) {
			*ret_slot_ns = s->slot_ns;
			*ret_gap_ns = 0;
		}
		if (s->slot_ns == *ret_slot_ns && s->gap_ns > *ret_gap_ns)
			*ret_gap_ns = s->gap_ns;
		any = true;
	}
	return any;
}

static enum merge_state state_at(const struct merge *m, const struct merge_node *n, int64_t slot_ns)
{
	const struct sampled *s = first_waiting(n);
	if (s != NULL)
		return s->slot_ns <= slot_ns ? MERGE_SAMPLED : MERGE_NOT_DUE;
	if (has_ended(m, n))
		return MERGE_ENDED;
	if (!n->begun)
		return MERGE_NONE;
	return n->gap_ns > 0 && n->slot_ns > slot_ns - n->gap_ns ? MERGE_NOT_DUE : MERGE_LAGS;
}

/* Sets the states; false: somebody is waited for. */
static bool is_ready(struct merge *m, int64_t slot_ns, bool late)
{
	bool ready = true;
	for (size_t i = 0; i < m->m.nodes.n; i++) {
		struct merge_node *n = &m->m.nodes.at[i];
		n->state = state_at(m, n, slot_ns);
		bool waits = n->state == MERGE_LAGS || n->state == MERGE_NONE;
		n->late = waits && (n->late || late);
		ready &= !waits || n->late;
	}
	bool missing = m->m.nodes.n < m->m.step.nnodes;
	m->late_missing = missing && (m->late_missing || late);
	return ready && (!missing || m->late_missing);
}

static int fold(struct merge *m, struct merge_node *n, int64_t slot_ns)
{
	const struct sampled *s;
	n->folded = 0;
	while (n->node != NONE && (s = first_waiting(n)) != NULL && s->slot_ns <= slot_ns) {
		int code = replay_add(&n->live, &m->m.step.nodes.at[n->node], &s->block);
		if (code == -ENOMEM)
			return code;
		n->folded++;
		n->slot_ns = s->slot_ns;
		n->gap_ns = s->gap_ns;
		n->next++;
	}
	n->interval_ticks = n->given_tick > 0 && n->live.tick > n->given_tick ? n->live.tick - n->given_tick : 0;
	n->given_tick = n->live.tick;
	return 0;
}

int merge_next(struct merge *m, int64_t now_ns, struct merged *ret_merged)
{
	int64_t slot_ns = 0, gap_ns = 0, late_ns;
	if (!next_slot(m, &slot_ns, &gap_ns))
		return 0;
	bool late = __builtin_mul_overflow(gap_ns, 2, &late_ns) || __builtin_add_overflow(late_ns, LATE_NS, &late_ns) ||
		    __builtin_add_overflow(slot_ns, late_ns, &late_ns) || now_ns > late_ns;
	if (!is_ready(m, slot_ns, late))
		return 0;
	for (size_t i = 0; i < m->m.nodes.n; i++)
		if (fold(m, &m->m.nodes.at[i], slot_ns) < 0)
			return -ENOMEM;
	m->m.slot_ns = slot_ns;
	m->m.number++;
	struct merged r = {.number = m->m.number, .realtime_ns = slot_ns};
	struct merge_summary summary;
	r.json = merge_json(&m->m, &summary, &r.len_bytes);
	r.summary = r.json != NULL ? merge_summary_json(&m->m, &summary) : NULL;
	if (r.summary == NULL) {
		free(r.json);
		return -ENOMEM;
	}
	*ret_merged = r;
	return 1;
}

bool merge_over(const struct merge *m)
{
	for (size_t i = 0; i < m->m.nodes.n; i++)
		if (!has_ended(m, &m->m.nodes.at[i]) || first_waiting(&m->m.nodes.at[i]) != NULL)
			return false;
	return m->m.nodes.n > 0;
}
