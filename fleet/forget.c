/* forget.c - see forget.h. Triggers take removed jobs out of the sums; what is left of the user after that are rows
 * that are zero, names that nobody has any more, and sentences. */
#include "fleet/forget.h"
#include "fleet/estimate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What was the user's alone: programs lie in their home, accounts have their name. Nodes (7) stand in what runs are
 * made of. */
static const char unused_names[] =
	"DELETE FROM names WHERE id>0 AND kind<>7 AND id NOT IN (SELECT user FROM jobs UNION SELECT account FROM jobs"
	" UNION SELECT partition FROM jobs UNION SELECT program FROM jobs UNION SELECT build FROM jobs UNION SELECT mpi"
	" FROM jobs UNION SELECT issue FROM jobs UNION SELECT cluster FROM jobs UNION SELECT user FROM days WHERE "
	"jobs>0"
	" UNION SELECT account FROM days WHERE jobs>0 UNION SELECT program FROM days WHERE jobs>0 UNION SELECT issue "
	"FROM"
	" causes WHERE jobs>0 UNION SELECT build FROM past_versions UNION SELECT mpi FROM past_versions)";

/* Those of their jobs that were pruned. */
#define PAST " FROM days WHERE user=?1 AND day<let_go.day"

/* ?1: the number of the name. ?2: the name. ?3: as a word in a text, with a space on either side. */
#define SET_ASIDE 1 /* the step that removes what was set aside, */
#define ALERTS 2    /* and alerts */
static const char *const steps[] = {
	"DELETE FROM jobs WHERE user=?1",
	"DELETE FROM set_aside WHERE substr(key, -length(?2)-1)=' '||?2",
	"DELETE FROM alerts WHERE user=?2",
	("UPDATE causes SET jobs=causes.jobs-p.jobs, loss=causes.loss-p.loss FROM past_causes p WHERE p.user=?1"
	 " AND p.day=causes.day AND p.issue=causes.issue"),
	("UPDATE outcomes SET jobs=outcomes.jobs-p.jobs, core_hours=outcomes.core_hours-p.core_hours,"
	 " hung=outcomes.hung-p.hung FROM past_outcomes p WHERE p.user=?1 AND p.day=outcomes.day AND"
	 " p.outcome=outcomes.outcome"),
	("UPDATE let_go SET jobs=jobs-(SELECT total(jobs)" PAST
	 "), core_hours=core_hours-(SELECT total(core_hours)" PAST ")"),
	"DELETE FROM past_causes WHERE user=?1",
	"DELETE FROM past_outcomes WHERE user=?1",
	"DELETE FROM past_versions WHERE user=?1",
	"DELETE FROM days WHERE user=?1",
	"DELETE FROM user_programs WHERE user=?1",
	"DELETE FROM weeks WHERE name=?1",
	"DELETE FROM changes WHERE program=?1",
	"DELETE FROM node_jobs WHERE job NOT IN (SELECT id FROM jobs)",
	"DELETE FROM mondays WHERE ' '||key||' ' GLOB ?3 OR ' '||sentence||' ' GLOB ?3",
	"DELETE FROM names WHERE id=?1",
	unused_names,
	"DELETE FROM program_versions WHERE program NOT IN (SELECT id FROM names)",
	"DELETE FROM program_ranks WHERE program NOT IN (SELECT id FROM names)",
	"DELETE FROM days WHERE program NOT IN (SELECT id FROM names)",
	"DELETE FROM user_programs WHERE program NOT IN (SELECT id FROM names)",
	"DELETE FROM weeks WHERE name NOT IN (SELECT id FROM names)",
	"DELETE FROM changes WHERE program NOT IN (SELECT id FROM names)",
	"DELETE FROM account_sums WHERE user=?1 OR account NOT IN (SELECT id FROM names)",
	"DELETE FROM matters",
	"DELETE FROM change_with", /* until all is judged again */
	"DELETE FROM link_jobs",
	"DELETE FROM link_days",
	"DELETE FROM links",
	"DELETE FROM estimated",
};

struct forgotten {
	sqlite3_int64 id; /* 0: no job of theirs is there */
	const char *user;
	char *word; /* sqlite3_free() it */
};

static int run(struct fleet *f, const char *sql, const struct forgotten *who, struct error *e)
{
	sqlite3_stmt *s = fleet_prepare(f, sql, e);
	if (s == NULL)
		return -EIO;
	if (strstr(sql, "?1") != NULL)
		sqlite3_bind_int64(s, 1, who->id);
	if (strstr(sql, "?2") != NULL)
		sqlite3_bind_text(s, 2, who->user, -1, SQLITE_STATIC);
	if (strstr(sql, "?3") != NULL)
		sqlite3_bind_text(s, 3, who->word, -1, SQLITE_STATIC);
	int rc = sqlite3_step(s) == SQLITE_DONE ? 0 : fleet_fail(f, e);
	sqlite3_finalize(s);
	return rc;
}

/* A name has no character with a meaning in GLOB but in brackets. */
static char *word_of(const char *user)
{
	sqlite3_str *s = sqlite3_str_new(NULL);
	sqlite3_str_appendall(s, "*[^a-zA-Z0-9_]");
	for (; *user != '\0'; user++) {
		bool special = strchr("*?[", *user) != NULL;
		sqlite3_str_appendall(s, special ? "[" : "");
		sqlite3_str_append(s, user, 1);
		sqlite3_str_appendall(s, special ? "]" : "");
	}
	sqlite3_str_appendall(s, "[^a-zA-Z0-9_]*");
	return sqlite3_str_finish(s);
}

static int find(struct fleet *f, const char *user, sqlite3_int64 *ret_id, struct error *e)
{
	sqlite3_stmt *s = fleet_prepare(f, "SELECT id FROM names WHERE kind=1 AND name=?1 AND name<>''", e);
	if (s == NULL)
		return -EIO;
	sqlite3_bind_text(s, 1, user, -1, SQLITE_STATIC);
	int got = sqlite3_step(s);
	*ret_id = got == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
	sqlite3_finalize(s);
	return got == SQLITE_ROW || got == SQLITE_DONE ? 0 : fleet_fail(f, e);
}

/* Who has only the latter has no name here. */
static int remove_all(struct fleet *f, const char *user, struct fleet_forgotten *ret_n, struct error *e)
{
	struct forgotten who = {.user = user, .word = word_of(user)};
	uint64_t changed[sizeof(steps) / sizeof(steps[0])] = {0};
	int rc = who.word != NULL ? find(f, user, &who.id, e) : fail(e, -ENOMEM, "out of memory");
	double gone = 0, left = 0;
	if (rc == 0)
		rc = fleet_number(f, "SELECT jobs FROM let_go", 0, &gone, e);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && rc == 0; i++) {
		if (who.id == 0 && strstr(steps[i], "?1") != NULL)
			continue;
		rc = run(f, steps[i], &who, e);
		changed[i] = (uint64_t)sqlite3_changes64(f->db);
	}
	sqlite3_free(who.word);
	if (rc == 0)
		rc = fleet_number(f, "SELECT jobs FROM let_go", 0, &left, e);
	*ret_n = (struct fleet_forgotten){changed[0] + (uint64_t)(gone - left), changed[SET_ASIDE]};
	return rc == 0 && ret_n->jobs + ret_n->set_aside + changed[ALERTS] == 0
		       ? fail(e, -ESRCH, "%s: no job of a user \"%.64s\"", f->path, user)
		       : rc;
}

int fleet_forget(struct fleet *f, const char *user, struct fleet_forgotten *ret_n, struct error *e)
{
	int rc = fleet_run(f, "PRAGMA secure_delete=ON; BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	rc = remove_all(f, user, ret_n, e);
	if (rc < 0) {
		sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
		return rc;
	}
	rc = fleet_run(f, "COMMIT", e);
	if (rc == 0)
		rc = fleet_estimate(f, e);
	return rc == 0 ? fleet_run(f, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", e) : rc;
}
