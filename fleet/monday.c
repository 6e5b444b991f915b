/* monday.c - see monday.h. In: the database, as fleet_estimate() left it, and what is asked of it (monday.sql).  Out:
 * sentences. Matters of most kinds are one sentence together, which names the largest. */
#include "fleet/monday.h"
#include "fleet/retention.h"
#include "fleet/assets.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALONE_MOST 4 /* sentences of a kind whose matters stand alone */
#define NAMED_MOST 6 /* matters that a sentence names; each has its letter */
#define LETTERS_MOST 50
#define SENTENCES_MOST 10

int64_t monday_before(int64_t now)
{
	int64_t day = now / FLEET_SECONDS_PER_DAY;
	return (day - (day + 3) % 7) * FLEET_SECONDS_PER_DAY; /* 1970 began on a Thursday */
}

/* ---- matters ---- */

/* By the first column of monday.sql. head: begins the sentence of all matters of the kind, with their core-hours for
 * the first %s and the matters for the second; NULL: each is a sentence of its own. */
static const struct kind {
	const char *name, *head;
} kinds[] = {
	{"hung", "Jobs that hung held %s core-hours until they were ended: %s."},
	{"node", "Nodes that are slow cost up to %s core-hours: %s."},
	{"program changed", "Programs that became less efficient cost %s core-hours: %s."},
	{"user changed", "Users whose jobs became less efficient, with programs that did not, lost %s core-hours: %s."},
	{"little useful", "Users whose jobs hardly compute could save %s core-hours: %s."},
	{"idle", "Processors were allocated without a rank for %s core-hours: %s."},
	{"program lost", NULL},
	{"link", "Jobs waited for switches that are slow or shared for up to %s core-hours: %s."},
};

/* A row of monday.sql, whose columns are these; texts are ours to free. */
struct matter {
	const struct kind *kind;
	char *key, *to, *item, *letter, *link, *covers, *mostly;
	double least, core_hours;
};

typedef VEC(struct matter) matter_list;

static void matters_done(matter_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		char *all[] = {list->at[i].key,	 list->at[i].to,     list->at[i].item,	list->at[i].letter,
			       list->at[i].link, list->at[i].covers, list->at[i].mostly};
		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
			free(all[k]);
	}
	vec_done(list);
}

/* plain(TEXT): fit for a terminal and for one line, whoever made it. */
static void plain(sqlite3_context *c, int n, sqlite3_value **values)
{
	(void)n;
	const char *text = (const char *)sqlite3_value_text(values[0]);
	_cleanup_buf_ struct buf b = {0};
	uint32_t code;
	for (size_t len; text != NULL && *text != '\0'; text += len > 0 ? len : 1) {
		len = utf8_next_of(text, &code);
		if (len > 0 && !utf8_is_unseen(code))
			buf_bytes(&b, text, len);
		else
			buf_u8(&b, '?');
	}
	if (buf_failed(&b))
		sqlite3_result_error_nomem(c);
	else
		sqlite3_result_text(c, b.len_bytes > 0 ? (const char *)b.data : "", (int)b.len_bytes, SQLITE_TRANSIENT);
}

void monday_hours(double hours, char ret_text[32])
{
	char *text =
		hours < 9.95 ? sqlite3_mprintf("%.1f", hours) : sqlite3_mprintf("%,lld", (sqlite3_int64)(hours + 0.5));
	snprintf(ret_text, 32, "%s", text == NULL ? "?" : hours <= 0 ? "0" : hours < 0.05 ? "less than 0.1" : text);
	sqlite3_free(text);
}

static void sql_hours(sqlite3_context *c, int n, sqlite3_value **values)
{
	char text[32];
	(void)n;
	monday_hours(sqlite3_value_double(values[0]), text);
	sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
}

static int add_functions(struct fleet *f, struct error *e)
{
	const int how = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	int rc = sqlite3_create_function(f->db, "plain", 1, how, NULL, plain, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(f->db, "said", 1, how, NULL, sql_hours, NULL, NULL);
	return rc == SQLITE_OK ? 0 : fleet_fail(f, e);
}

static char *column(sqlite3_stmt *row, int i)
{
	const char *text = (const char *)sqlite3_column_text(row, i);
	return strdup(text != NULL ? text : "");
}

static int read_matter(matter_list *list, sqlite3_stmt *row)
{
	struct matter x = {.kind = &kinds[sqlite3_column_int(row, 0) - 1],
			   .least = sqlite3_column_double(row, 1),
			   .key = column(row, 2),
			   .to = column(row, 3),
			   .core_hours = sqlite3_column_double(row, 4),
			   .item = column(row, 5),
			   .letter = column(row, 6),
			   .link = column(row, 7),
			   .covers = column(row, 8),
			   .mostly = column(row, 9)};
	bool whole = x.key != NULL && x.to != NULL && x.item != NULL && x.letter != NULL && x.link != NULL &&
		     x.covers != NULL && x.mostly != NULL;
	return vec_push(list, x) < 0 || !whole ? -ENOMEM : 0;
}

/* Rows of that week: as they were found out with all else, or now. NULL with text. */
static sqlite3_stmt *rows_of(struct fleet *f, int64_t until, struct error *e)
{
	double kept;
	if (fleet_number(f, "SELECT monday FROM estimated", 0, &kept, e) < 0)
		return NULL;
	if ((int64_t)kept == until)
		return fleet_prepare(f, "SELECT * FROM matters ORDER BY rowid", e);
	sqlite3_stmt *row = add_functions(f, e) == 0 ? fleet_prepare(f, fleet_monday, e) : NULL;
	sqlite3_bind_int64(row, 1, until - MONDAY_WEEK_S);
	sqlite3_bind_int64(row, 2, until);
	return row;
}

static int ask(struct fleet *f, const struct monday *m, matter_list *list, struct error *e)
{
	sqlite3_stmt *row = rows_of(f, m->until, e);
	int rc = row != NULL ? 0 : -EIO, got = SQLITE_DONE;
	while (rc == 0 && (got = sqlite3_step(row)) == SQLITE_ROW)
		if (sqlite3_column_double(row, 4) > 0 && read_matter(list, row) < 0)
			rc = fail(e, -ENOMEM, "out of memory");
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(f, e);
	sqlite3_finalize(row);
	return rc;
}

static bool is_same(const struct matter *a, const struct matter *b)
{
	return strcmp(a->covers, b->covers) == 0 || (*b->mostly != '\0' && strcmp(a->covers, b->mostly) == 0);
}

/* Those that are worth a word, and say what no earlier one does: kinds come in the order of how sure they are. */
static bool is_new(const struct monday *m, const matter_list *all, size_t at)
{
	const struct matter *x = &all->at[at];
	for (size_t i = 0; i < at; i++)
		if (all->at[i].core_hours >= all->at[i].least * m->core_hours && is_same(&all->at[i], x))
			return false;
	return x->core_hours >= x->least * m->core_hours;
}

/* ---- sentences ---- */

static void sentence_done(struct monday_sentence *x)
{
	free(x->key);
	free(x->text);
	for (size_t i = 0; i < x->letters.n; i++) {
		free(x->letters.at[i].to);
		free(x->letters.at[i].text);
		free(x->letters.at[i].link);
	}
	vec_done(&x->letters);
}

/* To the same recipient about the same page as the letter before: one letter, where it is who runs the machine. */
static int add_letter(struct monday_sentence *x, const struct matter *from)
{
	struct monday_letter *last = x->letters.n > 0 ? &x->letters.at[x->letters.n - 1] : NULL;
	struct monday_letter made = {NULL, NULL, NULL};
	if (last != NULL && *last->to == '\0' && *from->to == '\0' && strcmp(last->link, from->link) == 0) {
		if (asprintf(&made.text, "%s\n\n%s", last->text, from->letter) < 0)
			return -ENOMEM;
		free(last->text);
		last->text = made.text;
		return 0;
	}
	made = (struct monday_letter){strdup(from->to), strdup(from->letter), strdup(from->link)};
	if (made.to != NULL && made.text != NULL && made.link != NULL && vec_push(&x->letters, made) == 0)
		return 0;
	free(made.to);
	free(made.text);
	free(made.link);
	return -ENOMEM;
}

static int put_text(struct monday_sentence *x, const char *head, const struct buf *items, size_t more)
{
	char hours[32], rest[64] = "", *list;
	monday_hours(x->core_hours, hours);
	if (more > 0)
		snprintf(rest, sizeof(rest), "; and %zu more", more);
	if (asprintf(&list, "%.*s%s", (int)items->len_bytes, (const char *)items->data, rest) < 0)
		return -ENOMEM;
	int n = snprintf(NULL, 0, "%s%s%s", head, hours, list) + 1;
	const char *first = strstr(head, "%s"), *second = strstr(first + 2, "%s");
	x->text = malloc((size_t)n);
	if (x->text != NULL)
		snprintf(x->text, (size_t)n, "%.*s%s%.*s%s%s", (int)(first - head), head, hours,
			 (int)(second - first - 2), first + 2, list, second + 2);
	free(list);
	return x->text != NULL ? 0 : -ENOMEM;
}

/* One sentence of all new matters of a kind, from `at` on. */
static int add_summary(struct monday *m, const matter_list *all, size_t at)
{
	const struct kind *k = all->at[at].kind;
	struct monday_sentence x = {.kind = k->name, .key = strdup(k->name)};
	_cleanup_buf_ struct buf items = {0};
	size_t n = 0;
	int rc = x.key != NULL ? 0 : -ENOMEM;
	for (size_t i = at; i < all->n && all->at[i].kind == k && rc == 0; i++) {
		if (!is_new(m, all, i))
			continue;
		x.core_hours += all->at[i].core_hours;
		if (n < NAMED_MOST)
			buf_printf(&items, "%s%s", n > 0 ? "; " : "", all->at[i].item);
		if (n++ < LETTERS_MOST)
			rc = add_letter(&x, &all->at[i]);
	}
	if (rc == 0 && n > 0)
		rc = buf_failed(&items) ? -ENOMEM : put_text(&x, k->head, &items, n > NAMED_MOST ? n - NAMED_MOST : 0);
	if (rc == 0 && n > 0)
		rc = vec_push(&m->sentences, x);
	if (rc < 0 || n == 0)
		sentence_done(&x);
	return rc;
}

static int add_alone(struct monday *m, const struct matter *from)
{
	struct monday_sentence x = {.kind = from->kind->name,
				    .key = strdup(from->key),
				    .text = strdup(from->item),
				    .core_hours = from->core_hours};
	int rc = x.key != NULL && x.text != NULL ? add_letter(&x, from) : -ENOMEM;
	if (rc == 0)
		rc = vec_push(&m->sentences, x);
	if (rc < 0)
		sentence_done(&x);
	return rc;
}

static int by_hours(const void *a, const void *b)
{
	const struct monday_sentence *x = a, *y = b;
	if (x->core_hours != y->core_hours)
		return x->core_hours > y->core_hours ? -1 : 1;
	return strcmp(x->key, y->key);
}

static int make_sentences(struct monday *m, const matter_list *all)
{
	size_t alone = 0;
	int rc = 0;
	for (size_t i = 0; i < all->n && rc == 0; i++) {
		const struct matter *x = &all->at[i];
		bool first = i == 0 || x->kind != all->at[i - 1].kind;
		if (x->kind->head != NULL && first)
			rc = add_summary(m, all, i);
		else if (x->kind->head == NULL && alone < ALONE_MOST && is_new(m, all, i) && ++alone > 0)
			rc = add_alone(m, x);
	}
	vec_sort(&m->sentences, by_hours);
	while (m->sentences.n > SENTENCES_MOST)
		sentence_done(&m->sentences.at[--m->sentences.n]);
	return rc;
}

/* ---- the Monday before ---- */

/* Of all matters of a kind, or of one. */
static double hours_of(const matter_list *all, const char *key)
{
	double hours = 0;
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->at[i].kind->head != NULL ? all->at[i].kind->name : all->at[i].key, key) == 0)
			hours += all->at[i].core_hours;
	return hours;
}

static int follow_up(struct fleet *f, struct monday *m, const matter_list *all, struct error *e)
{
	sqlite3_stmt *row = fleet_prepare(
		f,
		"SELECT key, core_hours, sentence FROM mondays WHERE until=(SELECT max(until) FROM mondays"
		" WHERE until<?1 AND until>=?1-14*86400) ORDER BY place",
		e);
	int rc = row != NULL ? 0 : -EIO, got = SQLITE_DONE;
	sqlite3_bind_int64(row, 1, m->until);
	while (rc == 0 && (got = sqlite3_step(row)) == SQLITE_ROW) {
		struct monday_old o = {column(row, 2), sqlite3_column_double(row, 1),
				       hours_of(all, (const char *)sqlite3_column_text(row, 0))};
		if (o.text == NULL || vec_push(&m->old, o) < 0)
			rc = fail(e, -ENOMEM, "out of memory");
	}
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(f, e);
	sqlite3_finalize(row);
	return rc;
}

const char *monday_became(const struct monday_old *o)
{
	if (o->now < 0.1 * o->then)
		return "gone";
	return o->now < 0.75 * o->then ? "less" : o->now > 1.5 * o->then ? "more" : "the same";
}

/* ---- all of it ---- */

static int sum_of_week(struct fleet *f, const struct monday *m, const char *what, double *ret_sum, struct error *e)
{
	char sql[160];
	snprintf(sql, sizeof(sql), "SELECT total(%s) FROM days WHERE day>=%lld AND day<%lld", what,
		 (long long)(m->from / FLEET_SECONDS_PER_DAY), (long long)(m->until / FLEET_SECONDS_PER_DAY));
	return fleet_number(f, sql, 0, ret_sum, e);
}

static int sums_of_week(struct fleet *f, struct monday *m, double *ret_not_useful, struct error *e)
{
	int rc = sum_of_week(f, m, "jobs", &m->jobs, e);
	rc = rc == 0 ? sum_of_week(f, m, "core_hours", &m->core_hours, e) : rc;
	rc = rc == 0 ? sum_of_week(f, m, "not_known", &m->not_known, e) : rc;
	rc = rc == 0 ? sum_of_week(f, m, "core_hours-useful", ret_not_useful, e) : rc;
	if (m->not_known < FLEET_ROUNDED * m->core_hours)
		m->not_known = 0;
	return rc;
}

/* Matters overlap, as a slow node and the program that waited for it; nobody saves more than was not useful, or is not
 * known to have been. */
static double saving_of(const struct monday *m, double not_useful)
{
	double sum = 0;
	for (size_t i = 0; i < m->sentences.n; i++)
		sum += m->sentences.at[i].core_hours;
	return sum < not_useful ? sum : not_useful;
}

int monday_read(struct fleet *f, int64_t until, struct monday *ret_m, struct error *e)
{
	struct monday m = {.from = until - MONDAY_WEEK_S, .until = until};
	matter_list all = {0};
	int64_t kept_from;
	double not_useful;
	int rc = fleet_kept_from(f, &kept_from, e);
	if (rc == 0 && kept_from > 0 && m.from < kept_from)
		return fail(e, -ENODATA, "%s: the jobs of that week have been pruned", f->path);
	if (rc == 0)
		rc = sums_of_week(f, &m, &not_useful, e);
	if (rc == 0)
		rc = ask(f, &m, &all, e);
	if (rc == 0)
		rc = follow_up(f, &m, &all, e);
	if (rc == 0 && make_sentences(&m, &all) < 0)
		rc = fail(e, -ENOMEM, "out of memory");
	matters_done(&all);
	if (rc < 0) {
		monday_done(&m);
		return rc;
	}
	m.saving = saving_of(&m, not_useful);
	*ret_m = m;
	return 0;
}

/* Of a machine that was left alone, the last week that it had. */
int monday_last(struct fleet *f, int64_t now, int64_t *ret_monday, struct error *e)
{
	int64_t monday = monday_before(now), kept_from;
	double day;
	int rc = fleet_kept_from(f, &kept_from, e);
	if (rc == 0)
		rc = fleet_number(f, "SELECT max(day)+1 FROM day_sums", 0, &day, e);
	if (rc < 0)
		return rc;
	int64_t last = (int64_t)day * FLEET_SECONDS_PER_DAY;
	bool had_some = last > 0 || kept_from > 0; /* or they were pruned, which is said */
	*ret_monday = had_some && last < monday ? last : monday;
	return 0;
}

int monday_keep(struct fleet *f, int64_t until, struct error *e)
{
	_cleanup_buf_ struct buf sql = {0};
	buf_printf(&sql, "INSERT INTO matters %s", fleet_monday);
	buf_u8(&sql, 0);
	if (buf_failed(&sql))
		return fail(e, -ENOMEM, "out of memory");
	int rc = add_functions(f, e);
	sqlite3_stmt *s = rc == 0 ? fleet_prepare(f, (const char *)sql.data, e) : NULL;
	sqlite3_bind_int64(s, 1, until - MONDAY_WEEK_S);
	sqlite3_bind_int64(s, 2, until);
	rc = s == NULL ? -EIO : sqlite3_step(s) == SQLITE_DONE ? 0 : fleet_fail(f, e);
	sqlite3_finalize(s);
	snprintf((char *)sql.data, sql.cap_bytes, "UPDATE estimated SET monday=%lld", (long long)until);
	return rc == 0 ? fleet_run(f, (const char *)sql.data, e) : rc;
}

void monday_done(struct monday *m)
{
	for (size_t i = 0; i < m->sentences.n; i++)
		sentence_done(&m->sentences.at[i]);
	for (size_t i = 0; i < m->old.n; i++)
		free(m->old.at[i].text);
	vec_done(&m->sentences);
	vec_done(&m->old);
}

int monday_save(struct fleet *f, const struct monday *m, struct error *e)
{
	char clear[80];
	snprintf(clear, sizeof(clear), "BEGIN IMMEDIATE; DELETE FROM mondays WHERE until=%lld", (long long)m->until);
	int rc = fleet_run(f, clear, e);
	sqlite3_stmt *s = rc == 0 ? fleet_prepare(f, "INSERT INTO mondays VALUES(?,?,?,?,?)", e) : NULL;
	rc = s != NULL ? 0 : -EIO;
	for (size_t i = 0; i < m->sentences.n && rc == 0; i++) {
		const struct monday_sentence *x = &m->sentences.at[i];
		sqlite3_bind_int64(s, 1, m->until);
		sqlite3_bind_int64(s, 2, (sqlite3_int64)i);
		sqlite3_bind_text(s, 3, x->key, -1, SQLITE_STATIC);
		sqlite3_bind_double(s, 4, x->core_hours);
		sqlite3_bind_text(s, 5, x->text, -1, SQLITE_STATIC);
		rc = sqlite3_step(s) == SQLITE_DONE ? 0 : fleet_fail(f, e);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	if (rc == 0)
		return fleet_run(f, "COMMIT", e);
	sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}
