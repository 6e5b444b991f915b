/* came_with.c - see came_with.h. In: changes, and jobs before and behind each.  Out: rows of `change_with`. */
#include "fleet/came_with.h"

#include "base/buf.h"
#include "base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kind { BUILD, MPI, MODULE, KINDS };
enum side { BEFORE, SINCE };

static const char *const kind_names[] = {"build", "MPI", "module"};
static const char *const kind_words[] = {"build ", "", "module "}; /* a library's name says what it is */

/* A build, a library or a module, and how many jobs of either side have it. */
struct thing {
	enum kind kind;
	char *name;
	uint32_t jobs[2];
	bool told;
};

struct tally {
	VEC(struct thing) things;
	uint32_t jobs[KINDS][2]; /* of which it is known what they have */
};

static void tally_done(struct tally *t)
{
	for (size_t i = 0; i < t->things.n; i++)
		free(t->things.at[i].name);
	vec_done(&t->things);
}

/* ---- what a job has ---- */

static int count(struct tally *t, enum kind kind, enum side side, const char *name, size_t len)
{
	struct thing *x = NULL;
	for (size_t i = 0; i < t->things.n && x == NULL; i++)
		if (t->things.at[i].kind == kind && strncmp(t->things.at[i].name, name, len) == 0 &&
		    t->things.at[i].name[len] == '\0')
			x = &t->things.at[i];
	if (x == NULL) {
		struct thing fresh = {.kind = kind, .name = strndup(name, len)};
		if (fresh.name == NULL || vec_push(&t->things, fresh) < 0) {
			free(fresh.name);
			return -ENOMEM;
		}
		x = &t->things.at[t->things.n - 1];
	}
	x->jobs[side]++;
	return 0;
}

/* Modules are joined by commas (fleet/details.h). NULL: nobody knows; "": it has none. */
static int count_all(struct tally *t, enum kind kind, enum side side, const char *text)
{
	int rc = 0;
	if (text == NULL || (kind != MODULE && *text == '\0'))
		return 0;
	t->jobs[kind][side]++;
	while (*text != '\0' && rc == 0) {
		size_t len = kind == MODULE ? strcspn(text, ",") : strlen(text);
		if (len > 0)
			rc = count(t, kind, side, text, len);
		text += len + (text[len] == ',');
	}
	return rc;
}

/* One that has gone since says nothing. Users have many programs, and so builds. */
static int count_job(struct tally *t, sqlite3_stmt *ask, sqlite3_int64 id, enum side side)
{
	sqlite3_bind_int64(ask, 1, id);
	int got = sqlite3_step(ask), rc = got == SQLITE_ROW || got == SQLITE_DONE ? 0 : -EIO;
	if (got == SQLITE_ROW) {
		bool of_user = sqlite3_column_int(ask, 3) != 0;
		for (int kind = of_user ? MPI : BUILD; kind < KINDS && rc == 0; kind++)
			rc = count_all(t, kind, side, (const char *)sqlite3_column_text(ask, kind));
	}
	sqlite3_reset(ask);
	return rc;
}

static bool is_of(const struct scan_job *j, const struct change *c)
{
	return j->program == c->name || j->user == c->name;
}

/* The numbers of names are all different: of programs, of users. */
static int count_sides(struct tally *t, sqlite3_stmt *ask, const struct scan *s, const struct change *c)
{
	size_t n[2] = {0, 0};
	size_t from = search_first(0, s->jobs.n, i, s->jobs.at[i].day + CAME_DAYS < c->day_low);
	size_t first = search_first(from, s->jobs.n, i, s->jobs.at[i].day < c->day);
	size_t to = search_first(first, s->jobs.n, i, s->jobs.at[i].day < c->day_high + CAME_DAYS);
	int rc = 0;
	sqlite3_bind_int64(ask, 2, c->name);
	for (size_t i = first; i < to && n[SINCE] < CAME_JOBS && rc == 0; i++)
		if (is_of(&s->jobs.at[i], c) && s->jobs.at[i].day >= c->day_high && ++n[SINCE] > 0)
			rc = count_job(t, ask, s->jobs.at[i].id, SINCE);
	for (size_t i = first; i-- > from && n[BEFORE] < CAME_JOBS && rc == 0;)
		if (is_of(&s->jobs.at[i], c) && s->jobs.at[i].day < c->day_low && ++n[BEFORE] > 0)
			rc = count_job(t, ask, s->jobs.at[i].id, BEFORE);
	return rc;
}

/* ---- what came, and in place of what ---- */

static bool is_known(const struct tally *t, enum kind kind)
{
	return t->jobs[kind][BEFORE] >= CAME_LEAST && t->jobs[kind][SINCE] >= CAME_LEAST;
}

/* Side `much` has it, and the other one has not. */
static bool moved(const struct tally *t, const struct thing *x, enum side much)
{
	enum side little = much == SINCE ? BEFORE : SINCE;
	return is_known(t, x->kind) && x->jobs[much] >= CAME_SHARE * t->jobs[x->kind][much] &&
	       x->jobs[little] <= CAME_BEFORE * t->jobs[x->kind][little];
}

/* gcc of gcc/12.2: a module in another version. */
static size_t stem_of(const struct thing *x)
{
	const char *slash = strrchr(x->name, '/');
	return x->kind != MODULE ? 0 : slash != NULL ? (size_t)(slash - x->name) : strlen(x->name);
}

static struct thing *replaced_by(struct tally *t, const struct thing *came)
{
	for (size_t i = 0; i < t->things.n; i++) {
		struct thing *x = &t->things.at[i];
		if (x->kind == came->kind && !x->told && moved(t, x, BEFORE) && stem_of(x) == stem_of(came) &&
		    strncmp(x->name, came->name, stem_of(x)) == 0)
			return x;
	}
	return NULL;
}

/* As people name it: of a build eight digits tell it from others. */
static void put_name(struct buf *b, const struct thing *x)
{
	buf_printf(b, "%.*s", x->kind == BUILD ? 8 : 200, x->name);
}

static int insert_change(struct fleet *f, sqlite3_stmt *insert, const struct change *c, const struct thing *came,
			 const struct thing *went, struct error *e)
{
	_cleanup_buf_ struct buf text = {0};
	const struct thing *x = came != NULL ? came : went;
	buf_printf(&text, "%s%s", came == NULL ? "no more " : "", kind_words[x->kind]);
	put_name(&text, x);
	if (came != NULL && went != NULL) {
		buf_printf(&text, " in place of ");
		put_name(&text, went);
	}
	if (buf_failed(&text))
		return fail(e, -ENOMEM, "out of memory");
	sqlite3_bind_int64(insert, 1, c->name);
	sqlite3_bind_int64(insert, 2, c->day);
	sqlite3_bind_text(insert, 3, kind_names[x->kind], -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 4, came != NULL ? came->name : "", -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 5, went != NULL ? went->name : "", -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 6, (const char *)text.data, (int)text.len_bytes, SQLITE_STATIC);
	int rc = sqlite3_step(insert) == SQLITE_DONE ? 0 : fleet_fail(f, e);
	sqlite3_reset(insert);
	return rc;
}

static int keep_change(struct fleet *f, sqlite3_stmt *insert, const struct change *c, struct tally *t, struct error *e)
{
	int rc = 0;
	for (size_t i = 0; i < t->things.n && rc == 0; i++) {
		struct thing *came = &t->things.at[i], *went;
		if (!moved(t, came, SINCE))
			continue;
		went = replaced_by(t, came);
		if (went != NULL)
			went->told = true;
		rc = insert_change(f, insert, c, came, went, e);
	}
	for (size_t i = 0; i < t->things.n && rc == 0; i++)
		if (!t->things.at[i].told && moved(t, &t->things.at[i], BEFORE))
			rc = insert_change(f, insert, c, NULL, &t->things.at[i], e);
	return rc;
}

int came_with_keep(struct fleet *f, const struct scan *s, const change_list *list, struct error *e)
{
	sqlite3_stmt *ask = fleet_prepare(f,
					  "SELECT b.name, m.name, d.modules, j.user=?2 FROM jobs j JOIN names b ON"
					  " b.id=j.build JOIN names m ON m.id=j.mpi LEFT JOIN details d ON d.job=j.id"
					  " WHERE j.id=?1",
					  e);
	sqlite3_stmt *insert = ask != NULL ? fleet_prepare(f, "INSERT INTO change_with VALUES(?,?,?,?,?,?)", e) : NULL;
	int rc = insert != NULL ? 0 : -EIO;
	for (size_t i = 0; i < list->n && rc == 0; i++) {
		struct tally t = {0};
		rc = count_sides(&t, ask, s, &list->at[i]);
		if (rc < 0)
			rc = rc == -ENOMEM ? fail(e, rc, "out of memory") : fleet_fail(f, e);
		else
			rc = keep_change(f, insert, &list->at[i], &t, e);
		tally_done(&t);
	}
	sqlite3_finalize(ask);
	sqlite3_finalize(insert);
	return rc;
}
