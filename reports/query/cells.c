/* cells.c - see cells.h. */
#include "reports/query/cells.h"

#include "base/sort.h"
#include "base/vec.h"

#include <errno.h>

#define KEPT_ROWS (1u << 20) /* of cells that nobody uses: 136 MiB */

struct cells {
	struct mpix_file *f;
	const struct opens *opens; /* calls beside those of the file */
	uint32_t groups, windows, samples;
	uint64_t *events_before, *messages_before; /* by group, window; by window, group; and one more */
	int64_t *starts_ns;			   /* of windows; of empty ones that of the next; and one more */
	VEC(struct cell *) kept;
	size_t kept_rows;
	uint64_t clock;
};

static size_t place(const struct cells *c, enum table_id table, uint32_t group, uint32_t window)
{
	return table == TABLE_MESSAGES ? (size_t)window * c->groups + group : (size_t)group * c->windows + window;
}

static void count(struct cells *c)
{
	c->starts_ns[c->windows] = INT64_MAX;
	for (uint32_t w = c->windows; w > 0; w--) {
		int64_t start_ns = mpix_window_start(c->f, w - 1);
		c->starts_ns[w - 1] = start_ns != INT64_MAX ? start_ns : c->starts_ns[w];
	}
	for (uint32_t g = 0; g < c->groups; g++)
		for (uint32_t w = 0; w < c->windows; w++) {
			const struct open_call *open;
			struct mpix_cell_counts n = mpix_cell_count(c->f, g, w);
			c->events_before[place(c, TABLE_EVENTS, g, w) + 1] = n.events + opens_of(c->opens, g, w, &open);
			c->messages_before[place(c, TABLE_MESSAGES, g, w) + 1] = n.messages;
		}
	for (size_t i = 0; i < (size_t)c->groups * c->windows; i++) {
		c->events_before[i + 1] += c->events_before[i];
		c->messages_before[i + 1] += c->messages_before[i];
	}
}

struct cells *cells_create(struct mpix_file *f, const struct opens *opens, struct error *e)
{
	struct cells *c = calloc(1, sizeof(*c));
	if (c == NULL) {
		fail(e, -ENOMEM, "out of memory");
		return NULL;
	}
	c->f = f;
	c->opens = opens;
	c->groups = mpix_groups(f);
	c->windows = mpix_windows(f);
	c->samples = mpix_samples(f);
	size_t n = (size_t)c->groups * c->windows + 1;
	c->events_before = calloc(n, sizeof(uint64_t));
	c->messages_before = calloc(n, sizeof(uint64_t));
	c->starts_ns = calloc((size_t)c->windows + 1, sizeof(int64_t));
	if (c->events_before == NULL || c->messages_before == NULL || c->starts_ns == NULL) {
		fail(e, -ENOMEM, "out of memory for %zu parts of the trace", n);
		cells_free(c);
		return NULL;
	}
	count(c);
	return c;
}

static void cell_free(struct cell *cell)
{
	free(cell->rows);
	free(cell);
}

void cells_free(struct cells *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->kept.n; i++)
		cell_free(c->kept.at[i]);
	vec_done(&c->kept);
	free(c->events_before);
	free(c->messages_before);
	free(c->starts_ns);
	free(c);
}

static bool of_samples(enum table_id table)
{
	return table == TABLE_SAMPLES || table == TABLE_SAMPLE_CALLS;
}

uint32_t cells_groups(const struct cells *c, enum table_id table)
{
	return of_samples(table) ? 1 : c->groups;
}

uint32_t cells_windows(const struct cells *c, enum table_id table)
{
	return of_samples(table) ? c->samples : c->windows;
}

static const uint64_t *ids_of(const struct cells *c, enum table_id table)
{
	return table == TABLE_MESSAGES ? c->messages_before : c->events_before;
}

uint64_t cells_rows(const struct cells *c, enum table_id table)
{
	return of_samples(table) ? c->samples : ids_of(c, table)[(size_t)c->groups * c->windows];
}

bool cells_of_id(const struct cells *c, enum table_id table, int64_t id, uint32_t *ret_group, uint32_t *ret_window)
{
	const uint64_t *before = ids_of(c, table);
	size_t low = 0, high = (size_t)c->groups * c->windows;
	if (id < 1 || (uint64_t)id > before[high])
		return false;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (before[middle] < (uint64_t)id)
			low = middle;
		else
			high = middle;
	}
	*ret_group = (uint32_t)(table == TABLE_MESSAGES ? low % c->groups : low / c->windows);
	*ret_window = (uint32_t)(table == TABLE_MESSAGES ? low / c->groups : low % c->windows);
	return true;
}

bool cells_may_have(const struct cells *c, enum table_id table, uint32_t group, uint32_t window, int64_t from_ns,
		    int64_t to_ns)
{
	struct mpix_cell_counts n = mpix_cell_count(c->f, group, window);
	if (of_samples(table))
		return true;
	if (table == TABLE_MESSAGES)
		return n.messages > 0 && n.messages_from_ns <= to_ns && n.messages_to_ns > from_ns;
	size_t at = place(c, table, group, window);
	return c->events_before[at + 1] > c->events_before[at] && c->starts_ns[window] <= to_ns &&
	       c->starts_ns[window + 1] > from_ns;
}

/* ---- reading one ---- */

struct loading {
	struct cells *c;
	struct cell *cell;
	size_t cap;
	uint64_t before; /* the id before the cell's first */
	VEC(struct mpix_wait) notes;
	VEC(struct sort_key) order, room; /* of notes, by their events */
	size_t note;			  /* the next one that is not given yet */
	uint64_t events;
	struct error *e;
};

static struct row *add_row(struct loading *l)
{
	struct cell *cell = l->cell;
	if (vec_grow(&cell->rows, &l->cap, cell->n + 1, sizeof(*cell->rows)) < 0) {
		fail(l->e, -ENOMEM, "out of memory");
		return NULL;
	}
	return &cell->rows[cell->n++];
}

static int keep_wait(void *context, const struct mpix_wait *wait)
{
	struct loading *l = context;
	bool bytes = wait->how == MPIX_CAME_BYTES;
	if (wait->at.window != l->cell->window || (bytes && wait->causer.window != MPIX_NOWHERE))
		return 0;
	struct sort_key key = {wait->at.lane, wait->at.index, (uint32_t)l->notes.n};
	return vec_push(&l->notes, *wait) < 0 || vec_push(&l->order, key) < 0 ? fail(l->e, -ENOMEM, "out of memory")
									      : 0;
}

/* Those of one event stay as they came. */
static int sort_notes(struct loading *l)
{
	if (vec_grow(&l->room.at, &l->room.cap, l->order.n, sizeof(*l->room.at)) < 0)
		return fail(l->e, -ENOMEM, "out of memory");
	sort_keys(l->order.at, l->room.at, l->order.n);
	return 0;
}

/* Wait states of a window's calls became known in it or later. */
static int load_notes(struct loading *l)
{
	struct cells *c = l->c;
	uint32_t window = l->cell->window;
	int64_t end_ns = c->starts_ns[window + 1];
	int rc = 0;
	for (uint32_t w = window; w < c->windows && rc == 0; w++)
		if (mpix_cell_count(c->f, l->cell->group, w).waits_from_ns < end_ns)
			rc = mpix_cell_waits(c->f, l->cell->group, w, keep_wait, l, l->e);
	return rc == 0 ? sort_notes(l) : rc;
}

static int put_wait(struct loading *l, uint64_t id, const struct mpix_wait *wait)
{
	bool known = wait->causer.window != MPIX_NOWHERE && wait->how != MPIX_WAIT_SINCE_END;
	struct row *row = add_row(l);
	if (row == NULL)
		return -ENOMEM;
	row_of_wait(row, l->c->f, id, wait->state, wait->ns, known ? wait->causer.lane : DEFINITION_NONE);
	return 0;
}

/* What its wait states add to a call; in the table of wait states, a row each. */
static int take_notes(struct loading *l, struct mpix_event *call, uint64_t id)
{
	int rc = 0;
	for (; l->note < l->notes.n && rc == 0; l->note++) {
		const struct mpix_wait *wait = &l->notes.at[l->order.at[l->note].at];
		const struct mpix_position *at = &wait->at;
		if (at->lane > call->at.lane || (at->lane == call->at.lane && at->index > call->at.index))
			break;
		if (at->lane != call->at.lane || at->index != call->at.index)
			continue;
		if (wait->how == MPIX_CAME_BYTES)
			call->bytes += (uint64_t)wait->ns;
		else if (l->cell->table == TABLE_WAITS)
			rc = put_wait(l, id, wait);
		else if (wait->state != MPIX_WRONG_ORDER && wait->state != MPIX_LATE_COMPLETE)
			call->wait_ns += wait->ns;
	}
	return rc;
}

static int put_event(void *context, const struct mpix_event *event)
{
	struct loading *l = context;
	struct mpix_event call = *event;
	uint64_t id = l->before + ++l->events;
	int rc = take_notes(l, &call, id);
	if (rc < 0 || l->cell->table == TABLE_WAITS)
		return rc;
	struct row *row = add_row(l);
	if (row == NULL)
		return -ENOMEM;
	row_of_event(row, id, mpix_rank_of_lane(l->c->f, call.at.lane), &call);
	return 0;
}

static int put_message(void *context, const struct mpix_link *link)
{
	struct loading *l = context;
	struct row *row = add_row(l);
	if (row == NULL)
		return -ENOMEM;
	row_of_message(row, l->c->f, l->before + l->cell->n, link);
	return 0;
}

static int put_thread(struct loading *l, const struct mpix_sample *s, const struct mpix_sample_thread *t)
{
	struct row *row;
	int rc = 0;
	if (l->cell->table == TABLE_SAMPLES) {
		if ((row = add_row(l)) == NULL)
			return -ENOMEM;
		row_of_sample(row, l->c->f, s, t);
		return 0;
	}
	for (uint32_t i = 0; i < t->ncells && rc == 0; i++)
		rc = (row = add_row(l)) != NULL ? row_of_sample_call(row, l->c->f, s, t, &t->cells[i], l->e) : -ENOMEM;
	return rc;
}

static int put_sample(void *context, const struct mpix_sample *s)
{
	int rc = 0;
	for (uint32_t i = 0; i < s->nthreads && rc == 0; i++)
		rc = put_thread(context, s, &s->threads[i]);
	return rc;
}

static int load(struct loading *l)
{
	struct cell *cell = l->cell;
	struct mpix_file *f = l->c->f;
	if (of_samples(cell->table))
		return mpix_sample(f, cell->window, put_sample, l, l->e);
	l->before = ids_of(l->c, cell->table)[place(l->c, cell->table, cell->group, cell->window)];
	if (cell->table == TABLE_MESSAGES)
		return mpix_cell_messages(f, cell->group, cell->window, put_message, l, l->e);
	int rc = cell->waits ? load_notes(l) : 0;
	if (rc == 0 && (cell->table != TABLE_WAITS || l->notes.n > 0))
		rc = opens_cell_events(l->c->opens, f, cell->group, cell->window, put_event, l, l->e);
	return rc;
}

/* ---- those that are kept ---- */

/* The ones that were used longest ago go first. */
static void trim(struct cells *c)
{
	while (c->kept_rows > KEPT_ROWS) {
		size_t oldest = c->kept.n;
		for (size_t i = 0; i < c->kept.n; i++)
			if (c->kept.at[i]->users == 0 &&
			    (oldest == c->kept.n || c->kept.at[i]->used < c->kept.at[oldest]->used))
				oldest = i;
		if (oldest == c->kept.n)
			return;
		c->kept_rows -= c->kept.at[oldest]->n;
		cell_free(c->kept.at[oldest]);
		c->kept.at[oldest] = c->kept.at[--c->kept.n];
	}
}

static struct cell *find(const struct cells *c, const struct cell *like)
{
	for (size_t i = 0; i < c->kept.n; i++) {
		struct cell *cell = c->kept.at[i];
		if (cell->table == like->table && cell->group == like->group && cell->window == like->window &&
		    (cell->waits || !like->waits))
			return cell;
	}
	return NULL;
}

static int make(struct cells *c, const struct cell *like, struct cell **ret_cell, struct error *e)
{
	struct cell *cell = malloc(sizeof(*cell));
	if (cell == NULL)
		return fail(e, -ENOMEM, "out of memory");
	*cell = *like;
	struct loading l = {.c = c, .cell = cell, .e = e};
	int rc = load(&l);
	vec_done(&l.notes);
	vec_done(&l.order);
	vec_done(&l.room);
	if (rc == 0 && vec_push(&c->kept, cell) < 0)
		rc = fail(e, -ENOMEM, "out of memory");
	if (rc != 0) {
		cell_free(cell);
		return rc;
	}
	c->kept_rows += cell->n;
	*ret_cell = cell;
	return 0;
}

int cells_get(struct cells *c, enum table_id table, uint32_t group, uint32_t window, bool waits, struct cell **ret_cell,
	      struct error *e)
{
	struct cell like = {.table = table, .group = group, .window = window, .waits = waits || table == TABLE_WAITS};
	struct cell *cell = find(c, &like);
	int rc = cell != NULL ? 0 : make(c, &like, &cell, e);
	if (rc != 0)
		return rc;
	cell->users++;
	cell->used = ++c->clock;
	trim(c);
	*ret_cell = cell;
	return 0;
}

void cells_put(struct cells *c, struct cell *cell)
{
	if (cell == NULL)
		return;
	cell->users--;
	trim(c);
}
