/* export_samples.c - the profile over time, for the .mpix. In: SAMPLE blocks of all nodes.  Out: SAMPLES, of which all
 * together are what the nodes' samples add up to. Nodes take theirs at the same moments of the day: those of one moment
 * become one sample; a node that has none of it although it was due is silent, and what it did is in its next one.
 *
 * Totals have a call when it ends. Of one that is open while a sample is taken, the time so far is of that sample, and
 * is taken off when it has ended: so nobody is longer in MPI than there is time between two samples. */
#include "base/index.h"
#include "format/mpic_sample.h"
#include "format/mpix_layout.h"
#include "postproc/export_samples.h"
#include "postproc/export.h"
#include "postproc/read/sampled.h"

/* The sum of what one thread did by a signature; counts of a whole sample are from the start. */
struct counted {
	uint64_t calls, ticks;
};

/* The call that a thread is in. */
struct open_part {
	bool is, is_still; /* there is one; it is that of the sample before */
	uint32_t op, site; /* as in mpix_sample_cell */
	uint64_t age_ticks;
};

struct lane_samples {
	const struct process *process;
	uint32_t thread;
	bool touched;		     /* by the sample at hand */
	struct open_part was, now;   /* as of the sample before, and of the one at hand */
	uint64_t debt;		     /* ticks of calls that have ended but are in no total yet */
	VEC(struct counted) counted; /* by signature id of the file */
	struct mpic_system system;   /* counted so far */
	double ns_per_tick; /* its times were repaired, so that its clock is in nanoseconds; 0: they were not */
	VEC(struct mpix_sample_cell) cells;
	struct mpix_sample_thread row; /* of the sample at hand */
};

struct node_samples {
	VEC(struct sampled) samples;
	size_t next;
	VEC(uint32_t) first_lane;	    /* by process of the file, plus 1; 0: not of this world */
	uint64_t seq, tick, interval_ticks; /* of the last that was read; since the one before it, 0: not known */
	VEC(uint32_t) touched;		    /* lanes */
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

static struct lane_samples *lane_at(struct sampling *x, uint32_t node, uint32_t process, uint32_t thread)
{
	const struct node_samples *n = &x->nodes[node];
	if (process >= n->first_lane.n || n->first_lane.at[process] == 0)
		return NULL;
	uint32_t first = n->first_lane.at[process] - 1;
	const struct process *p = x->lanes[first].process;
	return thread == 0 || thread < p->threads.n ? &x->lanes[first + thread] : NULL;
}

static uint64_t bounded(uint64_t value)
{
	return value < MPIX_TICKS_MAX ? value : MPIX_TICKS_MAX - 1;
}

static uint64_t above(uint64_t value, uint64_t before)
{
	return value > before ? value - before : 0;
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

static int add_total(struct sampling *x, struct lane_samples *l, const struct mpic_sample_item *item, bool whole)
{
	const struct process *p = l->process;
	if (l->thread >= p->threads.n || item->sig >= p->threads.at[l->thread].sig_of.n)
		return 0; /* nothing says what it was */
	if (vec_reach(&l->counted, item->sig) < 0)
		return -ENOMEM;
	struct counted *c = &l->counted.at[item->sig];
	uint64_t calls = whole ? above(item->calls, c->calls) : item->calls;
	uint64_t came = whole ? above(item->ticks, c->ticks) : item->ticks;
	uint64_t ticks = in_clock(l, c->ticks + came) - in_clock(l, c->ticks);
	c->calls += calls;
	c->ticks += came;
	if (calls == 0 && ticks == 0)
		return 0;
	uint32_t at = p->threads.at[l->thread].sig_of.at[item->sig];
	const struct sig *sig = at > 0 && at <= p->sigs.n ? &p->sigs.at[at - 1] : NULL;
	struct mpix_sample_cell *cell = cell_at(x, l, sig);
	uint64_t bytes = 0;
	if (cell == NULL)
		return -ENOMEM;
	if (sig != NULL && __builtin_mul_overflow(calls, sig->call_bytes, &bytes))
		bytes = MPIX_TICKS_MAX;
	cell->calls = bounded(cell->calls + bounded(calls));
	cell->ticks = bounded(cell->ticks + bounded(ticks));
	cell->bytes = bounded(cell->bytes + bounded(bytes));
	return 0;
}

static void add_system(struct lane_samples *l, const struct mpic_system *now, bool whole)
{
	uint64_t cpu_ns = whole ? above(now->cpu_ns, l->system.cpu_ns) : now->cpu_ns;
	uint64_t wait_ns = whole ? above(now->wait_ns, l->system.wait_ns) : now->wait_ns;
	l->system.cpu_ns += cpu_ns;
	l->system.wait_ns += wait_ns;
	l->row.known |= MPIX_SAMPLE_SYSTEM;
	l->row.cpu_ns = bounded(l->row.cpu_ns + bounded(cpu_ns));
	l->row.ready_ns = bounded(l->row.ready_ns + bounded(wait_ns));
}

/* ---- calls that are open ---- */

static void open_by(struct sampling *x, struct lane_samples *l, uint16_t local_op, uint64_t address)
{
	const struct process *p = l->process;
	const struct sig *sig = calls_find(x->calls, p, local_op, address);
	uint32_t op = sig != NULL				       ? sig->op
		      : local_op < p->ops.n && p->ops.at[local_op] > 0 ? p->ops.at[local_op] - 1
								       : NONE;
	l->now.op = op == NONE ? (uint32_t)x->s->ops.n : op;
	l->now.site = sig == NULL || sig->site == NONE ? MPIX_NO_CALLSITE : sig->site;
}

static void open_call(struct sampling *x, struct lane_samples *l, const struct mpic_sample_item *item)
{
	const struct process *p = l->process;
	struct sig_call call;
	l->now = (struct open_part){.is = true, .age_ticks = item->age_ticks};
	if (item->nwords > 0 && sig_decode(item->words, item->nwords, &call) == 0) {
		open_by(x, l, call.op, call.address);
		return;
	}
	const struct thread *t = l->thread < p->threads.n ? &p->threads.at[l->thread] : NULL;
	uint32_t at = item->nwords == 0 && t != NULL && item->sig < t->sig_of.n ? t->sig_of.at[item->sig] : 0;
	l->now.is = at > 0 && at <= p->sigs.n;
	if (l->now.is)
		open_by(x, l, p->sigs.at[at - 1].call.op, p->sigs.at[at - 1].call.address);
}

/* As much of what is owed as the cell has. */
static void pay(struct lane_samples *l, struct mpix_sample_cell *cell)
{
	uint64_t part = cell->ticks < l->debt ? cell->ticks : l->debt;
	cell->ticks -= part;
	l->debt -= part;
}

static int settle(struct sampling *x, struct lane_samples *l, uint64_t interval_ticks)
{
	struct open_part was = l->was, now = l->now;
	bool known = was.is && interval_ticks > 0;
	if (now.is_still) {
		now = was;
		now.is = known;
		now.age_ticks += interval_ticks;
	}
	bool same = now.is && known && now.op == was.op && now.site == was.site &&
		    now.age_ticks == was.age_ticks + interval_ticks;
	struct mpix_sample_cell *cell;
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
	l->touched = false;
	return 0;
}

static int settle_all(struct sampling *x, struct node_samples *n)
{
	int code = 0;
	for (size_t i = 0; i < n->touched.n && code == 0; i++)
		code = settle(x, &x->lanes[n->touched.at[i]], n->interval_ticks);
	n->touched.n = 0;
	return code;
}

static int touch(struct sampling *x, uint32_t node, struct lane_samples *l)
{
	if (l->touched)
		return 0;
	l->touched = true;
	l->now = (struct open_part){0};
	return vec_push(&x->nodes[node].touched, (uint32_t)(l - x->lanes));
}

static int add_item(struct sampling *x, uint32_t node, const struct mpic_sample_item *item, bool whole)
{
	if (item->type == MPIC_SAMPLE_MEMORY)
		return 0; /* of the node: has no process */
	bool of_process = item->type == MPIC_SAMPLE_PROCESS;
	struct lane_samples *l = lane_at(x, node, item->process, of_process ? 0 : item->thread);
	if (l == NULL)
		return 0;
	if (of_process && item->resident_bytes > 0) {
		l->row.known |= MPIX_SAMPLE_RESIDENT;
		l->row.resident_bytes = bounded(item->resident_bytes);
	}
	if (item->type == MPIC_SAMPLE_THREAD)
		return touch(x, node, l);
	if (item->type == MPIC_SAMPLE_SYSTEM)
		add_system(l, &item->system, whole);
	if (item->type == MPIC_SAMPLE_OPEN)
		open_call(x, l, item);
	if (item->type == MPIC_SAMPLE_STILL)
		l->now.is_still = true;
	return item->type == MPIC_SAMPLE_TOTAL ? add_total(x, l, item, whole) : 0;
}

/* What a sample calls the one before is that only if it was read. */
static void follow(struct node_samples *n, uint64_t seq, uint64_t tick)
{
	n->interval_ticks = n->tick > 0 && seq == n->seq + 1 && tick > n->tick ? tick - n->tick : 0;
	n->seq = seq;
	n->tick = tick;
}

/* What cannot be decoded is left out. */
static int add_sample(struct sampling *x, uint32_t node, const struct sampled *sample)
{
	const struct mpic_file *file = &x->s->nodes.at[node].file;
	struct mpic_sample head;
	struct mpic_sample_reader r;
	struct mpic_sample_item item;
	int code = mpic_read(file, &sample->block, &x->payload, NULL);
	if (code == 0)
		code = mpic_sample_begin(cursor_over(x->payload.data, x->payload.len_bytes), &head, &r);
	if (code == 0)
		follow(&x->nodes[node], sample->block.seq, head.tick);
	while (code == 0 && mpic_sample_next(&r, &item) == 1)
		code = add_item(x, node, &item, head.whole);
	int settled = settle_all(x, &x->nodes[node]);
	return code == -ENOMEM || settled == -ENOMEM ? -ENOMEM : 0;
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
	for (size_t i = 0; i < x->s->nodes.n; i++) {
		const struct node_samples *n = &x->nodes[i];
		if (n->next == n->samples.n || (any && n->samples.at[n->next].slot_ns >= *ret_slot_ns))
			continue;
		*ret_slot_ns = n->samples.at[n->next].slot_ns;
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

void samples_free(struct sampling *x)
{
	if (x == NULL)
		return;
	for (size_t i = 0; x->nodes != NULL && i < x->s->nodes.n; i++) {
		vec_done(&x->nodes[i].samples);
		vec_done(&x->nodes[i].first_lane);
		vec_done(&x->nodes[i].touched);
	}
	for (uint32_t i = 0; x->lanes != NULL && i < x->nlanes; i++) {
		vec_done(&x->lanes[i].counted);
		vec_done(&x->lanes[i].cells);
	}
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
