/* cursor.c - see cursor.h. See SQLite, "The Virtual Table Mechanism". A plan is a text, three letters a
 * condition that narrows what is read: which range (i d, r ank, t ime), how (= > g < l), and that is all; SQLite judges
 * every row again, so a range may be too wide, never too narrow. */
#include "reports/query/cursor.h"

#include <errno.h>
#include <math.h>

#define PLAN_MAX 16
#define NEEDS_WAITS 1 /* in a plan's number: columns that follow from wait states are read */

/* Which columns narrow what is read, in order of the letters; -1: none. Time has two of messages. */
static const struct narrows {
	signed char id, rank, time, time_too;
} narrows[TABLES] = {
	[TABLE_EVENTS] = {0, 1, 3, -1},	 [TABLE_MESSAGES] = {0, 3, 8, 12}, /* the receiver's group has it */
	[TABLE_WAITS] = {0, -1, -1, -1}, [TABLE_SAMPLES] = {-1, -1, -1, -1}, [TABLE_SAMPLE_CALLS] = {-1, -1, -1, -1},
};
#define EVENT_BYTES 9 /* columns of events */
#define EVENT_WAIT 14

struct table_object {
	sqlite3_vtab base;
	struct virtual_tables *v;
	enum table_id id;
};

/* Both ends belong to it. */
struct range {
	int64_t low, high;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct range id, rank, time;
	uint32_t first_group, end_group, first_window, end_window; /* that are left */
	uint32_t group, window;					   /* of cell, or the next one */
	struct cell *cell;
	size_t at, end;
	bool waits, over;
};

static struct table_object *table_of(const sqlite3_vtab_cursor *c)
{
	return (struct table_object *)c->pVtab;
}

static int connect_table(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **ret,
			 char **error)
{
	(void)error;
	struct table_object *t = sqlite3_malloc(sizeof(*t));
	char *sql = NULL;
	int rc = SQLITE_NOMEM;
	if (t == NULL)
		return rc;
	*t = (struct table_object){.v = context};
	while (t->id < TABLES - 1 && (argc < 1 || sqlite3_stricmp(tables[t->id].name, argv[0]) != 0))
		t->id++;
	sql = sqlite3_mprintf("CREATE TABLE x(%s)", tables[t->id].columns);
	if (sql != NULL)
		rc = sqlite3_declare_vtab(db, sql);
	sqlite3_free(sql);
	if (rc == SQLITE_OK)
		*ret = &t->base;
	else
		sqlite3_free(t);
	return rc;
}

static int disconnect_table(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

/* ---- planning ---- */

static char range_letter(const struct narrows *n, int column)
{
	if (column < 0)
		return 0;
	if (column == n->id)
		return 'i';
	if (column == n->rank)
		return 'r';
	return column == n->time || column == n->time_too ? 't' : 0;
}

static char how_letter(int op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_GT:
		return '>';
	case SQLITE_INDEX_CONSTRAINT_GE:
		return 'g';
	case SQLITE_INDEX_CONSTRAINT_LT:
		return '<';
	case SQLITE_INDEX_CONSTRAINT_LE:
		return 'l';
	default:
		return 0;
	}
}

/* What a condition leaves, about: a share of all rows. */
static double share_left(const struct table_object *t, char range, char how, double rows)
{
	double ranks = mpix_info(t->v->f)->ranks;
	if (how != '=')
		return range == 't' ? 0.25 : 0.5;
	return range == 'r' ? 1 / ranks : 1 / fmax(rows, 1);
}

static int plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct table_object *t = (const struct table_object *)base;
	double rows = (double)cells_rows(t->v->cells, t->id), left = 1;
	char *text = sqlite3_malloc(2 * PLAN_MAX + 1);
	int n = 0;
	if (text == NULL)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint && n < PLAN_MAX; i++) {
		char range = range_letter(&narrows[t->id], info->aConstraint[i].iColumn);
		char how = how_letter(info->aConstraint[i].op);
		if (!info->aConstraint[i].usable || range == 0 || how == 0)
			continue;
		text[2 * n] = range;
		text[2 * n + 1] = how;
		info->aConstraintUsage[i].argvIndex = ++n;
		left *= share_left(t, range, how, rows);
	}
	text[2 * n] = 0;
	info->idxStr = text;
	info->needToFreeIdxStr = 1;
	bool waits = (info->colUsed & (1ull << EVENT_BYTES | 1ull << EVENT_WAIT)) != 0;
	info->idxNum = t->id == TABLE_EVENTS && waits ? NEEDS_WAITS : 0;
	info->estimatedRows = (sqlite3_int64)fmax(1, rows * left);
	info->estimatedCost = fmax(100, rows * left);
	return SQLITE_OK;
}

/* ---- reading ---- */

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
	(void)t;
	struct cursor *c = sqlite3_malloc(sizeof(*c));
	if (c == NULL)
		return SQLITE_NOMEM;
	*c = (struct cursor){.over = true};
	*ret = &c->base;
	return SQLITE_OK;
}

static void leave(struct cursor *c)
{
	cells_put(table_of(&c->base)->v->cells, c->cell);
	c->cell = NULL;
	c->at = c->end = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	leave(c);
	sqlite3_free(c);
	return SQLITE_OK;
}

/* What is no number narrows nothing: SQLite compares it by its own rules. */
static void narrow(struct range *r, char how, sqlite3_value *value)
{
	struct range v;
	double real = sqlite3_value_double(value);
	if (sqlite3_value_type(value) == SQLITE_INTEGER)
		v.low = v.high = sqlite3_value_int64(value);
	else if (sqlite3_value_type(value) == SQLITE_FLOAT && fabs(real) < 9e18)
		v = (struct range){(int64_t)floor(real), (int64_t)ceil(real)};
	else
		return;
	if (how != '<' && how != 'l' && v.low > r->low)
		r->low = v.low;
	if (how != '>' && how != 'g' && v.high < r->high)
		r->high = v.high;
}

/* Groups of the ranks. */
static void narrow_groups(struct cursor *c, const struct mpix_file *f)
{
	uint32_t first, end;
	mpix_group_ranks(f, 0, &first, &end);
	int64_t width = end - first, most = mpix_info(f)->ranks - 1;
	int64_t last = (c->rank.high < most ? c->rank.high : most) / width + 1;
	if (c->rank.low > c->rank.high || c->rank.high < 0) {
		c->first_group = c->end_group;
		return;
	}
	if (c->rank.low > 0)
		c->first_group = c->rank.low / width < c->end_group ? (uint32_t)(c->rank.low / width) : c->end_group;
	if (last < c->end_group)
		c->end_group = (uint32_t)last;
}

static void narrow_to_id(struct cursor *c, const struct table_object *t)
{
	uint32_t group, window;
	if (c->id.low != c->id.high)
		return;
	if (!cells_of_id(t->v->cells, t->id, c->id.low, &group, &window)) {
		c->first_group = c->end_group;
		return;
	}
	c->first_group = group > c->first_group ? group : c->first_group;
	c->end_group = group + 1 < c->end_group ? group + 1 : c->end_group;
	c->first_window = window;
	c->end_window = window + 1;
}

/* The first row of a cell from `from` on whose column, which ascends, is at least (or beyond) a value. */
static size_t bound(const struct cell *cell, size_t from, size_t to, int column, int64_t value, bool beyond)
{
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int64_t at = cell->rows[middle].at[column];
		if (at < value || (beyond && at == value))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void narrow_rows(struct cursor *c, int column, const struct range *r)
{
	c->at = bound(c->cell, c->at, c->end, column, r->low, false);
	c->end = bound(c->cell, c->at, c->end, column, r->high, true);
}

static void enter(struct cursor *c, const struct table_object *t)
{
	const struct mpix_info *info = mpix_info(t->v->f);
	c->at = 0;
	c->end = c->cell->n;
	if (narrows[t->id].id >= 0)
		narrow_rows(c, narrows[t->id].id, &c->id);
	if (t->id != TABLE_EVENTS)
		return;
	narrow_rows(c, narrows[t->id].rank, &c->rank);
	bool one = c->rank.low == c->rank.high && c->at < c->end;
	if (one && (info->threads == NULL || info->threads[c->rank.low] == 1))
		narrow_rows(c, narrows[t->id].time, &c->time);
}

static int failed(struct cursor *c, int code)
{
	struct table_object *t = table_of(&c->base);
	t->v->code = code;
	sqlite3_free(t->base.zErrMsg);
	t->base.zErrMsg = sqlite3_mprintf("%s", t->v->e->text);
	c->over = true;
	return code == -ENOMEM ? SQLITE_NOMEM : SQLITE_CORRUPT_VTAB;
}

/* The one behind the cell at hand, in the order of the table. */
static void advance(struct cursor *c, enum table_id id)
{
	bool by_window = id == TABLE_MESSAGES;
	uint32_t *inner = by_window ? &c->group : &c->window, *outer = by_window ? &c->window : &c->group;
	if (++*inner < (by_window ? c->end_group : c->end_window))
		return;
	*inner = by_window ? c->first_group : c->first_window;
	++*outer;
}

/* From the cell at (group, window) on, to the first one with rows. */
static int seek(struct cursor *c)
{
	struct table_object *t = table_of(&c->base);
	for (; c->group < c->end_group && c->window < c->end_window; advance(c, t->id)) {
		if (!cells_may_have(t->v->cells, t->id, c->group, c->window, c->time.low, c->time.high))
			continue;
		int rc = cells_get(t->v->cells, t->id, c->group, c->window, c->waits, &c->cell, t->v->e);
		if (rc != 0)
			return failed(c, rc);
		enter(c, t);
		if (c->at < c->end)
			return SQLITE_OK;
		leave(c);
	}
	c->over = true;
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	const struct table_object *t = table_of(base);
	leave(c);
	c->id = c->rank = c->time = (struct range){INT64_MIN, INT64_MAX};
	for (int i = 0; i < argc; i++) {
		char range = text[2 * i];
		narrow(range == 'i' ? &c->id : range == 'r' ? &c->rank : &c->time, text[2 * i + 1], argv[i]);
	}
	c->waits = (number & NEEDS_WAITS) != 0;
	c->first_group = c->first_window = 0;
	c->end_group = cells_groups(t->v->cells, t->id);
	c->end_window = cells_windows(t->v->cells, t->id);
	if (narrows[t->id].rank >= 0)
		narrow_groups(c, t->v->f);
	if (narrows[t->id].id >= 0)
		narrow_to_id(c, t);
	c->group = c->first_group;
	c->window = c->first_window;
	c->over = false;
	return seek(c);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	if (++c->at < c->end)
		return SQLITE_OK;
	leave(c);
	advance(c, table_of(base)->id);
	return seek(c);
}

static int is_over(sqlite3_vtab_cursor *base)
{
	return ((const struct cursor *)base)->over;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *to, int number)
{
	const struct cursor *c = (const struct cursor *)base;
	const struct row *row = &c->cell->rows[c->at];
	if ((row->nulls >> number & 1) == 0) /* else it is null already */
		sqlite3_result_int64(to, row->at[number]);
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct cursor *c = (const struct cursor *)base;
	*ret = c->cell->rows[c->at].at[0];
	return SQLITE_OK;
}

static const sqlite3_module module = {.xCreate = connect_table,
				      .xConnect = connect_table,
				      .xBestIndex = plan,
				      .xDisconnect = disconnect_table,
				      .xDestroy = disconnect_table,
				      .xOpen = open_cursor,
				      .xClose = close_cursor,
				      .xFilter = filter,
				      .xNext = next,
				      .xEof = is_over,
				      .xColumn = column,
				      .xRowid = row_id};

int virtual_tables_define(sqlite3 *db, struct virtual_tables *v)
{
	char sql[64];
	int rc = SQLITE_OK;
	for (int i = 0; i < TABLES && rc == SQLITE_OK; i++) {
		rc = sqlite3_create_module(db, tables[i].name, &module, v);
		sqlite3_snprintf(sizeof(sql), sql, "CREATE VIRTUAL TABLE %s USING %s", tables[i].name, tables[i].name);
		if (rc == SQLITE_OK)
			rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	}
	return rc;
}
