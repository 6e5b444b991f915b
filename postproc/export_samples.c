/* export_samples.c - the profile over time, for the .mpix. In: SAMPLE blocks of all nodes.  Out: SAMPLES, of which all
 * together are what the nodes' samples add up to. Nodes take theirs at the same moments of the day: those of one moment
 * become one sample; a node that has none of it although it was due is silent, and what it did is in its next one.
 *
 * Totals have a call when it ends. Of one that is open while a sample is taken, the time so far is of that sample, and
 * is taken off when it has ended: so nobody is longer in MPI than there is time between two samples. */
#include "base/index.h"
#include "format/mpix_layout.h"
#include "postproc/export_samples.h"
#include "postproc/export.h"
#include "postproc/read/replay.h"
#include "postproc/read/sampled.h"

/* The call that a thread is in. */
struct open_part {
	bool is;	   /* there is one */
	uint32_t op, site; /* as in mpix_sample_cell */
	uint64_t age_ticks;
};

struct lane_samples {
	const struct process *process;
	uint32_t thread;
	struct open_part was; /* as of the last sample */
	uint64_t debt;	      /* ticks of calls that have ended but are in no total yet */
	double ns_per_tick;   /* its times were repaired, so that its clock is in nanoseconds; 0: they were not */
	VEC(struct mpix_sample_cell) cells;
	struct mpix_sample_thread row; /* of the sample at hand */
};

struct node_samples {
	VEC(struct sampled) samples;
	size_t next;
	VEC(uint32_t) first_lane; /* by process of the file, plus 1; 0: not of this world */
	struct live_node live;
};

struct sampling {
	const struct step *s;
	struct node_samples *nodes;
	struct lane_samples *lanes;
	uint32_t nlanes;
	struct index cells; /* of the sample at hand: numbers in a lane's cells, of all lanes */
	VEC(struct mpix_sample_thread) rows;
	struct buf payload;
	struct calls *calls;
	struct wait_sums waits;
	VEC(int64_t) slot_ends_ns; /* of all moments at which nodes took samples */
	uint64_t number;
	int64_t end_ns;
};

/* ---- what there is ---- */

static int find_samples(struct sampling *x, uint32_t at)
{
	const struct mpic_file *file = &x->s->nodes.at[at].file;
	struct node_samples *n = &x->nodes[at];
	struct sampled before = {0}, sample;
	for (size_t i = 0; i < file->nblocks; i++) {
		const struct mpic_block *b = &file->blocks[i];
		if (b->kind != MPIC_SAMPLE || b->process != MPIC_NODE ||
		    sampled_read(file, b, &before, &x->payload, &sample) < 0)
			continue;
		before = sample;
		if (vec_push(&n->samples, sample) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_lanes(struct sampling *x)
{
	const struct step *s = x->s;
	uint32_t lane = 0;
	for (uint32_t r = 0; r < s->nranks; r++)
		x->nlanes += s->ranks[r] == NULL || s->ranks[r]->threads.n == 0 ? 1 : (uint32_t)s->ranks[r]->threads.n;
	x->lanes = calloc(x->nlanes + 1, sizeof(*x->lanes));
	if (x->lanes == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		uint32_t threads = p == NULL || p->threads.n == 0 ? 1 : (uint32_t)p->threads.n;
		for (uint32_t t = 0; t < threads; t++)
			x->lanes[lane + t] = (struct lane_samples){.process = p, .thread = t};
		if (p != NULL) {
			if (vec_reach(&x->nodes[p->node].first_lane, p->index) < 0)
				return -ENOMEM;
			x->nodes[p->node].first_lane.at[p->index] = lane + 1;
		}
		lane += threads;
	}
	return 0;
}

/* ---- one sample of one node ---- */

static uint64_t bounded(uint64_t value)
{
	return value < MPIX_TICKS_MAX ? value : MPIX_TICKS_MAX - 1;
}

struct wanted {
	const struct lane_samples *lane;
	uint32_t op, site;
};

static bool is_wanted(const void *context, uint32_t at)
{
	const struct wanted *w = context;
	return at < w->lane->cells.n && w->lane->cells.at[at].op == w->op && w->lane->cells.at[at].callsite == w->site;
}

/* By operation and call site: a sample has each once. A file may have as many as signatures, so none is searched. */
static struct mpix_sample_cell *cell_of(struct sampling *x, struct lane_samples *l, uint32_t op, uint32_t site)
{
	uint64_t hash = index_mix((uint64_t)op << 32 | site, (uint64_t)(l - x->lanes));
	uint32_t at = index_find(&x->cells, hash, is_wanted, &(struct wanted){l, op, site});
	if (at != INDEX_NONE)
		return &l->cells.at[at];
	if (index_add(&x->cells, hash, (uint32_t)l->cells.n) < 0 ||
	    vec_push(&l->cells, (struct mpix_sample_cell){.op = op, .callsite = site}) < 0)
		return NULL;
	return &l->cells.at[l->cells.n - 1];
}

static struct mpix_sample_cell *cell_at(struct sampling *x, struct lane_samples *l, const struct sig *sig)
{
	return cell_of(x, l, sig == NULL || sig->op == NONE ? (uint32_t)x->s->ops.n : sig->op,
		       sig == NULL || sig->site == NONE ? MPIX_NO_CALLSITE : sig->site);
}

/* Ticks since some moment by the clock of the file's lane. */
static uint64_t in_clock(const struct lane_samples *l, uint64_t ticks)
{
	double ns = (double)ticks * l->ns_per_tick;
	return l->ns_per_tick <= 0 ? ticks : ns < (double)MPIX_TICKS_MAX ? (uint64_t)ns : MPIX_TICKS_MAX - 1;
}

static int add_total(struct sampling *x, struct lane_samples *l, const struct live_came *came)
{
	const struct process *p = l->process;
	if (l->thread >= p->threads.n || came->sig >= p->threads.at[l->thread].sig_of.n)
		return 0; /* nothing says what it was */
	uint64_t ticks = in_clock(l, came->ticks_before + came->ticks) - in_clock(l, came->ticks_before);
	uint32_t at = p->threads.at[l->thread].sig_of.at[came->sig];
	const struct sig *sig = at > 0 && at <= p->sigs.n ? &p->sigs.at[at - 1] : NULL;
	struct mpix_sample_cell *cell = cell_at(x, l, sig);
	uint64_t bytes = 0;
	if (cell == NULL)
		return -ENOMEM;
	if (sig != NULL && __builtin_mul_overflow(came->calls, sig->call_bytes, &bytes))
		bytes = MPIX_TICKS_MAX;
	cell->calls = bounded(cell->calls + bounded(came->calls));
	cell->ticks = bounded(cell->ticks + bounded(ticks));
	cell->bytes = bounded(cell->bytes + bounded(bytes));
	return 0;
}

static void add_system(struct lane_samples *l, struct live_thread *t)
{
	if (!t->has_system)
		return;
	l->row.known |= MPIX_SAMPLE_SYSTEM;
	l->row.cpu_ns = bounded(l->row.cpu_ns + bounded(t->cpu_ns));
	l->row.ready_ns = bounded(l->row.ready_ns + bounded(t->wait_ns));
	t->cpu_ns = t->wait_ns = 0;
}

/* ---- calls that are open ---- */

static struct open_part open_by(struct sampling *x, const struct lane_samples *l, uint16_t local_op, uint64_t address)
{
	const struct process *p = l->process;
	const struct sig *sig = calls_find(x->calls, p, local_op, address);
	uint32_t op = sig != NULL				       ? sig->op
		      : local_op < p->ops.n && p->ops.at[local_op] > 0 ? p->ops.at[local_op] - 1
								       : NONE;
	return (struct open_part){true, op == NONE ? (uint32_t)x->s->ops.n : op,
				  sig == NULL || sig->site == NONE ? MPIX_NO_CALLSITE : sig->site, 0};
}

static struct open_part open_call(struct sampling *x, const struct lane_samples *l, const struct live_thread *t)
{
	const struct process *p = l->process;
	struct sig_call call;
	if (t->nwords > 0 && sig_decode(t->words, t->nwords, &call) == 0)
		return open_by(x, l, call.op, call.address);
	const struct thread *known = l->thread < p->threads.n ? &p->threads.at[l->thread] : NULL;
	uint32_t at = t->nwords == 0 && known != NULL && t->sig < known->sig_of.n ? known->sig_of.at[t->sig] : 0;
	return at > 0 && at <= p->sigs.n ? open_by(x, l, p->sigs.at[at - 1].call.op, p->sigs.at[at - 1].call.address)
					 : (struct open_part){.is = false};
}

/* As much of what is owed as the cell has. */
static void pay(struct lane_samples *l, struct mpix_sample_cell *cell)
{
	uint64_t part = cell->ticks < l->debt ? cell->ticks : l->debt;
	cell->ticks -= part;
	l->debt -= part;
}

static int close_part(struct sampling *x, struct lane_samples *l, const struct live_thread *t)
{
	struct open_part was = l->was;
	bool same = was.is && t->open && t->still > 0;
	struct open_part now = same ? was : t->open ? open_call(x, l, t) : (struct open_part){.is = false};
	struct mpix_sample_cell *cell;
	now.age_ticks = t->age_ticks;
	if (was.is && !same) {
		l->debt += in_clock(l, was.age_ticks);
		if ((cell = cell_of(x, l, was.op, was.site)) == NULL)
			return -ENOMEM;
		pay(l, cell);
	}
	for (size_t i = 0; i < l->cells.n && l->debt > 0; i++)
		pay(l, &l->cells.at[i]);
	if (now.is) {
		uint64_t ticks = in_clock(l, now.age_ticks) - (same ? in_clock(l, was.age_ticks) : 0);
		if ((cell = cell_of(x, l, now.op, now.site)) == NULL)
			return -ENOMEM;
		cell->ticks = bounded(cell->ticks + bounded(ticks));
	}
	l->was = now;
	return 0;
}

static int add_thread(struct sampling *x, struct lane_samples *l, struct live_thread *t)
{
	struct live_came came;
	int code = 0;
	add_system(l, t);
	while (code == 0 && replay_take(t, &came))
		code = add_total(x, l, &came);
	return code == 0 ? close_part(x, l, t) : code;
}

static int add_process(struct sampling *x, struct lane_samples *first, struct live_process *live)
{
	const struct process *p = first->process;
	int code = 0;
	if (live->resident_bytes > 0) {
		first->row.known |= MPIX_SAMPLE_RESIDENT;
		first->row.resident_bytes = bounded(live->resident_bytes);
	}
	for (size_t i = 0; i < live->threads.n && (i == 0 || i < p->threads.n) && code == 0; i++)
		code = add_thread(x, first + i, &live->threads.at[i]);
	return code;
}

/* What cannot be decoded is left out. */
static int add_sample(struct sampling *x, uint32_t node, const struct sampled *sample)
{
	struct node_samples *n = &x->nodes[node];
	uint64_t before = n->live.samples;
	int code = replay_add(&n->live, &x->s->nodes.at[node], &sample->block) == -ENOMEM ? -ENOMEM : 0;
	for (size_t i = 0; n->live.samples > before && i < n->live.processes.n && i < n->first_lane.n && code == 0; i++)
		if (n->live.processes.at[i].seen && n->first_lane.at[i] > 0)
			code = add_process(x, &x->lanes[n->first_lane.at[i] - 1], &n->live.processes.at[i]);
	return code;
}

/* ---- all nodes at one moment ---- */

static int compare_cells(const void *left, const void *right)
{
	const struct mpix_sample_cell *a = left, *b = right;
	uint64_t x = (uint64_t)a->op << 33 | mpix_site_out(a->callsite);
	uint64_t y = (uint64_t)b->op << 33 | mpix_site_out(b->callsite);
	return (x > y) - (x < y);
}

static bool is_silent(const struct node_samples *n, int64_t slot_ns)
{
	const struct sampled *last = n->next > 0 ? &n->samples.at[n->next - 1] : NULL;
	return last != NULL && last->slot_ns < slot_ns && last->gap_ns > 0 && last->gap_ns <= slot_ns - last->slot_ns;
}

static int add_waits(struct sampling *x, uint32_t lane)
{
	const struct step *s = x->s;
	const struct wait_sum *w;
	while ((w = wait_sums_take(&x->waits, lane, (uint32_t)x->number)) != NULL) {
		bool known = w->site != NONE && s->sites.at[w->site].op != NONE;
		struct mpix_sample_cell *cell =
			cell_of(x, &x->lanes[lane], known ? s->sites.at[w->site].op : (uint32_t)s->ops.n,
				known ? w->site : MPIX_NO_CALLSITE);
		if (cell == NULL)
			return -ENOMEM;
		cell->wait_ns = bounded(cell->wait_ns + bounded((uint64_t)w->ns));
	}
	return 0;
}

static int put_rows(struct sampling *x, int64_t slot_ns)
{
	x->rows.n = 0;
	for (uint32_t i = 0; i < x->nlanes; i++) {
		struct lane_samples *l = &x->lanes[i];
		if (add_waits(x, i) < 0)
			return -ENOMEM;
		if (l->process != NULL && is_silent(&x->nodes[l->process->node], slot_ns))
			l->row.known |= MPIX_SAMPLE_SILENT;
		vec_sort(&l->cells, compare_cells);
		l->row.lane = i;
		l->row.ncells = (uint32_t)l->cells.n;
		l->row.cells = l->cells.at;
		if ((l->cells.n > 0 || l->row.known != 0) && vec_push(&x->rows, l->row) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int64_t step_ns(const struct step *s, int64_t realtime_ns)
{
	double ns = (double)realtime_ns - s->realtime_start_s * 1e9, most = (double)s->runtime_ns;
	return ns > 0 ? (int64_t)(ns < most ? ns : most) : 0;
}

static int put_moment(struct sampling *x, int64_t slot_ns, struct mpix_writer *w, struct error *e)
{
	int64_t end_ns = x->waits.ends_ns.at[x->number];
	int code = put_rows(x, slot_ns);
	if (code < 0)
		return code;
	struct mpix_sample sample = {.number = ++x->number,
				     .samples = 1,
				     .nthreads = (uint32_t)x->rows.n,
				     .start_ns = x->end_ns,
				     .end_ns = end_ns,
				     .threads = x->rows.at};
	x->end_ns = end_ns;
	index_done(&x->cells);
	code = mpix_writer_sample(w, &sample, e);
	if (code == -EINVAL || code == -EFBIG)
		code = 0; /* larger than any sample may be: its number is missing */
	for (uint32_t i = 0; i < x->nlanes; i++) {
		x->lanes[i].cells.n = 0;
		x->lanes[i].row = (struct mpix_sample_thread){0};
	}
	return code;
}

/* The earliest moment that any node has something of: false, there is none any more. */
static bool next_slot(const struct sampling *x, int64_t *ret_slot_ns)
{
	bool any = false;
	*ret_slot_ns = INT64_MAX;
	for (size_t i = 0; i < x->s->nodes.n; i++) {
		const struct node_samples *n = &x->nodes[i];
		if (n->next == n->samples.n)
			continue;
		int64_t slot_ns = n->samples.at[n->next].slot_ns;
		*ret_slot_ns = slot_ns < *ret_slot_ns ? slot_ns : *ret_slot_ns;
		any = true;
	}
	return any;
}

/* Before MPI_Init returns to a rank, and behind the last MPI_Finalize, samples have no time of the run: what they say
 * is of the next one. */
static bool is_with_next(const struct sampling *x, size_t slot)
{
	const int64_t *ends_ns = x->slot_ends_ns.at;
	size_t n = x->slot_ends_ns.n;
	return slot + 1 < n && ends_ns[n - 1] > 0 && (ends_ns[slot] == 0 || ends_ns[slot] == ends_ns[slot + 1]);
}

/* When each sample ends: when the nodes took theirs, in the mean. */
static int find_ends(struct sampling *x)
{
	int64_t slot_ns, last_ns = 0;
	int code = 0;
	while (code == 0 && next_slot(x, &slot_ns)) {
		double later_ns = 0, taken = 0;
		for (uint32_t i = 0; i < x->s->nodes.n; i++) {
			struct node_samples *n = &x->nodes[i];
			for (; n->next < n->samples.n && n->samples.at[n->next].slot_ns <= slot_ns; n->next++, taken++)
				later_ns += (double)(n->samples.at[n->next].realtime_ns - slot_ns);
		}
		int64_t end_ns = step_ns(x->s, slot_ns + (int64_t)(later_ns / taken));
		last_ns = end_ns > last_ns ? end_ns : last_ns;
		code = vec_push(&x->slot_ends_ns, last_ns);
	}
	for (uint32_t i = 0; i < x->s->nodes.n; i++)
		x->nodes[i].next = 0;
	for (size_t i = 0; i < x->slot_ends_ns.n && code == 0; i++)
		if (!is_with_next(x, i))
			code = vec_push(&x->waits.ends_ns, x->slot_ends_ns.at[i]);
	return code;
}

int samples_write(struct sampling *x, struct mpix_writer *w, struct error *e)
{
	int64_t slot_ns;
	size_t slot = 0;
	int code = 0;
	wait_sums_sort(&x->waits);
	while (code == 0 && next_slot(x, &slot_ns)) {
		for (uint32_t i = 0; i < x->s->nodes.n && code == 0; i++) {
			struct node_samples *n = &x->nodes[i];
			while (n->next < n->samples.n && n->samples.at[n->next].slot_ns <= slot_ns && code == 0)
				code = add_sample(x, i, &n->samples.at[n->next++]);
		}
		if (code == 0 && !is_with_next(x, slot++))
			code = put_moment(x, slot_ns, w, e);
	}
	return code;
}

int samples_wait(struct sampling *x, uint32_t lane, int64_t start_ns, int64_t ns, uint32_t site)
{
	return wait_sums_add(&x->waits, lane, start_ns, ns, site);
}

void samples_send(const struct sampling *x, struct buf *out)
{
	for (uint32_t i = 0; i < x->waits.nlanes; i++) {
		const struct lane_waits *l = &x->waits.lanes[i];
		if (l->sums.n == 0)
			continue;
		buf_u32(out, i);
		buf_u64(out, l->sums.n);
		buf_bytes(out, l->sums.at, l->sums.n * sizeof(*l->sums.at));
	}
	buf_u32(out, NONE);
}

int samples_take(struct sampling *x, struct cursor *in)
{
	uint32_t lane;
	uint64_t n;
	int code = 0;
	while (code == 0 && (code = rd_u32(in, &lane)) == 0 && lane != NONE) {
		if (lane >= x->waits.nlanes || rd_u64(in, &n) < 0)
			return -EBADMSG;
		for (uint64_t i = 0; i < n && code == 0; i++) {
			struct wait_sum *sum = vec_more(&x->waits.lanes[lane].sums);
			code = sum == NULL ? -ENOMEM : rd_copy(in, sum, sizeof(*sum));
		}
	}
	return code;
}

void samples_free(struct sampling *x)
{
	if (x == NULL)
		return;
	for (size_t i = 0; x->nodes != NULL && i < x->s->nodes.n; i++) {
		vec_done(&x->nodes[i].samples);
		vec_done(&x->nodes[i].first_lane);
		replay_done(&x->nodes[i].live);
	}
	for (uint32_t i = 0; x->lanes != NULL && i < x->nlanes; i++)
		vec_done(&x->lanes[i].cells);
	calls_free(x->calls);
	free(x->nodes);
	free(x->lanes);
	wait_sums_done(&x->waits);
	vec_done(&x->slot_ends_ns);
	index_done(&x->cells);
	vec_done(&x->rows);
	buf_done(&x->payload);
	free(x);
}

static void take_clocks(struct sampling *x, const struct stream *st, const uint32_t *lane_of)
{
	for (uint32_t i = 0; i < st->nlanes; i++) {
		const struct lane *l = &st->lanes[i];
		if (l->shifts.n > 0 && lane_of[i] < x->nlanes)
			x->lanes[lane_of[i]].ns_per_tick = st->rules[l->process->node].knots.at[0].rate;
	}
}

struct sampling *samples_begin(const struct stream *st, const uint32_t *lane_of)
{
	const struct step *s = st->step;
	struct sampling *x = calloc(1, sizeof(*x));
	if (x == NULL)
		return NULL;
	x->s = s;
	x->nodes = calloc(s->nodes.n + 1, sizeof(*x->nodes));
	x->calls = calls_of(s);
	int code = x->nodes == NULL || x->calls == NULL ? -ENOMEM : find_lanes(x);
	if (code == 0)
		take_clocks(x, st, lane_of);
	x->waits.lanes = calloc(x->nlanes + 1, sizeof(*x->waits.lanes));
	x->waits.nlanes = x->waits.lanes != NULL ? x->nlanes : 0;
	code = x->waits.lanes == NULL ? -ENOMEM : code;
	for (uint32_t i = 0; i < s->nodes.n && code == 0; i++)
		code = find_samples(x, i);
	code = code == 0 ? find_ends(x) : code;
	if (code == 0)
		return x;
	samples_free(x);
	return NULL;
}
