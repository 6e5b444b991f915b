/* sites_match.c - see sites.h. Call sites have the same key that call the same MPI function from the same function;
 * its file counts where both sides have it, since a program may be kept in a new file. Within a key:
 * - as many on both sides: the first is the first, and so on, wherever their lines are now;
 * - some were put in or taken out: those before them have moved as the matched call before them in the file has,
 *   those behind as the one behind them has, or all by as much;
 * - else nobody can say which is which, and they are compared as one. */
#include "base/path.h"
#include "postproc/compare/sites.h"

#include "base/json.h"

#include <math.h>
#include <stdio.h>

static bool is_program(const struct compare_run *r, const char *module)
{
	const char *program = json_text(json_item(r->analysis, "job"), "program", "");
	return strcmp(basename_of(program), basename_of(module)) == 0;
}

/* Function and file, or what stands for them without debug information. */
static char *full_key(const struct compare_run *r, const cJSON *row, const char *file)
{
	const char *op = json_text(row, "op", "?"), *function = json_text(row, "function", "");
	const char *module = json_text(row, "module", "");
	char *key = NULL;
	if (*file == '\0')
		file = is_program(r, module) ? "" : basename_of(module);
	return asprintf(&key, "%s\x1f%s\x1f%s", op, function, file) < 0 ? NULL : key;
}

static int add_site(const struct sides *s, size_t run, const cJSON *row, struct matched_sites *x)
{
	const char *file = basename_of(json_text(row, "file", ""));
	struct site site = {.run = run,
			    .order = x->list.n,
			    .row = row,
			    .key = full_key(s->run[run], row, file),
			    .file = file,
			    .line = json_number(row, "line"),
			    .address = (double)strtoull(json_text(row, "address", "0"), NULL, 16),
			    .id = json_number_or(row, "id", -1)};
	if (site.key == NULL || vec_push(&x->list, site) < 0) {
		free(site.key);
		return -ENOMEM;
	}
	return 0;
}

static int collect(const struct sides *s, struct matched_sites *x)
{
	int code = 0;
	for (size_t i = 0; i < s->n; i++)
		for (const cJSON *v = json_first(s->run[i]->analysis, "callsites"); code == 0 && v != NULL; v = v->next)
			code = add_site(s, i, v, x);
	return code;
}

/* A file that only one side has is no reason: cut it off the key. */
static int loosen(const struct sides *s, struct matched_sites *x)
{
	struct table counts = {.sides = s};
	for (size_t i = 0; i < x->list.n; i++) {
		bool made;
		struct row *r = table_row(&counts, x->list.at[i].key, &made);
		if (r != NULL)
			r->value[x->list.at[i].run]++;
	}
	for (size_t i = 0; !counts.failed && i < x->list.n; i++) {
		bool made;
		const struct row *r = table_row(&counts, x->list.at[i].key, &made);
		if (side_mean(s, 0, r->value) == 0 || side_mean(s, 1, r->value) == 0)
			*strrchr(x->list.at[i].key, '\x1f') = '\0';
	}
	int code = counts.failed ? -ENOMEM : 0;
	table_done(&counts);
	return code;
}

static int by_number(double a, double b)
{
	a = isnan(a) ? -1 : a;
	b = isnan(b) ? -1 : b;
	return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
	const struct site *x = a, *y = b;
	int order = strcmp(x->key, y->key);
	if (order == 0)
		order = (x->run > y->run) - (x->run < y->run);
	if (order == 0)
		order = strcmp(x->file, y->file);
	if (order == 0)
		order = by_number(x->line, y->line);
	if (order == 0)
		order = by_number(x->address, y->address);
	return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* The sites of one key in one run. */
struct part {
	struct site *at;
	size_t n;
};

static struct part part_of(struct site *from, const struct site *end, size_t run)
{
	struct part p = {from, 0};
	while (p.at < end && p.at->run < run)
		p.at++;
	while (p.at + p.n < end && p.at[p.n].run == run)
		p.n++;
	return p;
}

/* Sites in every run of the side, or -1 when they differ. */
static long count_of(const struct sides *s, unsigned side, struct site *from, const struct site *end)
{
	size_t first = side_first(s, side);
	struct part p = part_of(from, end, first);
	for (size_t i = 1; i < side_count(s, side); i++)
		if (part_of(from, end, first + i).n != p.n)
			return -1;
	return (long)p.n;
}

/* How far a call that has its match has moved. */
struct move {
	const char *file; /* of side a */
	double line, by;
};

typedef VEC(struct move) move_list;

static int by_file_and_line(const void *a, const void *b)
{
	const struct move *x = a, *y = b;
	int order = strcmp(x->file, y->file);
	return order != 0 ? order : by_number(x->line, y->line);
}

/* As the nearest call before this line has moved, or behind it; where there is none, not at all. */
static double move_near(const move_list *moves, const struct site *a, bool before)
{
	double by = 0;
	for (size_t i = 0; i < moves->n; i++) {
		const struct move *m = &moves->at[before ? i : moves->n - 1 - i];
		if (strcmp(m->file, a->file) == 0 && (before ? m->line <= a->line : m->line >= a->line))
			by = m->by;
	}
	return by;
}

static bool moved_so(const struct site *a, const struct site *b, double by)
{
	return b->line - a->line == by;
}

/* What two lists of places have in common, at their beginning and at their end. One place alone that moved as nothing
 * else did proves nothing. */
static void common_ends(struct part a, struct part b, const move_list *moves, size_t *ret_head, size_t *ret_tail)
{
	size_t least = a.n < b.n ? a.n : b.n, head = 0, tail = 0;
	const struct site *last_a = &a.at[a.n - 1], *last_b = &b.at[b.n - 1];
	double moved = last_b->line - last_a->line;
	while (head < least && moved_so(&a.at[head], &b.at[head], move_near(moves, &a.at[head], true)))
		head++;
	while (head + tail < least && moved_so(last_a - tail, last_b - tail, moved))
		tail++;
	*ret_head = head;
	*ret_tail = tail > 1 || moved_so(last_a, last_b, move_near(moves, last_a, false)) ? tail : 0;
}

/* Name the slots of one run: `middle` NUL: each of its own, by number. */
static void name_slots(struct part p, size_t head, size_t tail, const char *middle)
{
	for (size_t j = 0; j < p.n; j++) {
		struct site *x = &p.at[j];
		if (j < head)
			snprintf(x->slot, sizeof(x->slot), "%zu", j);
		else if (j >= p.n - tail)
			snprintf(x->slot, sizeof(x->slot), "end %zu", p.n - j);
		else if (strcmp(middle, "all") == 0)
			snprintf(x->slot, sizeof(x->slot), "all");
		else
			snprintf(x->slot, sizeof(x->slot), "%s %zu", middle, j);
	}
}

static void match_key(const struct sides *s, const move_list *moves, struct site *from, struct site *end)
{
	long na = count_of(s, 0, from, end), nb = count_of(s, 1, from, end);
	bool together = na < 0 || nb < 0;
	size_t head = 0, tail = 0;
	if (na > 0 && nb > 0 && na != nb) {
		common_ends(part_of(from, end, 0), part_of(from, end, s->na), moves, &head, &tail);
		together = head + tail < (size_t)(na < nb ? na : nb);
	}
	for (size_t i = 0; i < s->n; i++)
		name_slots(part_of(from, end, i), na == nb ? SIZE_MAX : head, tail,
			   together    ? "all"
			   : i < s->na ? "a"
				       : "b");
}

static struct site *next_key(struct site *at, const struct site *end)
{
	struct site *next = at;
	while (next < end && strcmp(next->key, at->key) == 0)
		next++;
	return next;
}

/* The moves of a key that has as many calls on both sides. */
static int learn_moves(const struct sides *s, struct site *from, struct site *end, move_list *moves)
{
	struct part a = part_of(from, end, 0), b = part_of(from, end, s->na);
	if (count_of(s, 0, from, end) != count_of(s, 1, from, end) || a.n != b.n)
		return 0;
	for (size_t j = 0; j < a.n; j++) {
		struct move m = {a.at[j].file, a.at[j].line, b.at[j].line - a.at[j].line};
		if (!isnan(m.by) && vec_push(moves, m) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int match_all(const struct sides *s, struct matched_sites *x)
{
	struct site *begin = x->list.at, *end = begin + x->list.n;
	move_list moves = {.n = 0};
	int code = 0;
	for (struct site *at = begin; code == 0 && at < end; at = next_key(at, end))
		code = learn_moves(s, at, next_key(at, end), &moves);
	vec_sort(&moves, by_file_and_line);
	for (struct site *at = begin; code == 0 && at < end; at = next_key(at, end))
		match_key(s, &moves, at, next_key(at, end));
	vec_done(&moves);
	return code;
}

static int by_run_and_id(const void *a, const void *b)
{
	const struct site *x = *(const struct site *const *)a, *y = *(const struct site *const *)b;
	return x->run != y->run ? (x->run > y->run) - (x->run < y->run) : by_number(x->id, y->id);
}

static int index_ids(struct matched_sites *x)
{
	for (size_t i = 0; i < x->list.n; i++)
		if (vec_push(&x->by_id, &x->list.at[i]) < 0)
			return -ENOMEM;
	vec_sort(&x->by_id, by_run_and_id);
	return 0;
}

const struct site *matched_sites_find(const struct matched_sites *x, size_t run, double id)
{
	struct site wanted = {.run = run, .id = id};
	const struct site *key = &wanted, **found = x->by_id.n == 0 || isnan(id)
							    ? NULL
							    : bsearch(&key, x->by_id.at, x->by_id.n,
								      sizeof(*x->by_id.at), by_run_and_id);
	return found == NULL ? NULL : *found;
}

int matched_sites_make(const struct sides *s, struct matched_sites *ret_sites)
{
	*ret_sites = (struct matched_sites){.list = {.n = 0}};
	int code = collect(s, ret_sites);
	if (code == 0)
		code = loosen(s, ret_sites);
	if (code < 0)
		return code;
	vec_sort(&ret_sites->list, by_place);
	code = match_all(s, ret_sites);
	return code == 0 ? index_ids(ret_sites) : code;
}

void matched_sites_done(struct matched_sites *x)
{
	for (size_t i = 0; i < x->list.n; i++)
		free(x->list.at[i].key);
	vec_done(&x->list);
	vec_done(&x->by_id);
}
