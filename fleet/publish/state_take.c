/* state_take.c - records are taken, once, and owed to all destinations. */
#include "fleet/publish/state_sql.h"

#include "base/index.h"
#include "base/json.h"
#include "base/utf8.h"
#include "fleet/alert.h"
#include "fleet/job.h"
#include "fleet/record.h"
#include "fleet/record_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *wrong_with(const cJSON *record, const char *owner, char ret_claim[FLEET_CLAIM_MAX])
{
	struct fleet_job j;
	const char *why = fleet_job_of(record, &j);
	if (why == NULL)
		fleet_claim(&j, ret_claim);
	return why != NULL || record_is_owners(json_text(record, "user", ""), owner)
		       ? why
		       : "belongs to another user than it says";
}

static int owe_all(struct state *s, const struct destinations *all, int64_t record, bool alert, struct error *e)
{
	int rc = 0;
	for (size_t i = 0; i < all->all.n && rc == 0; i++) {
		if (alert && !all->all.at[i].kind->alerts)
			continue;
		sqlite3_bind_int64(s->owe, 1, record);
		sqlite3_bind_int64(s->owe, 2, all->all.at[i].id);
		if (sqlite3_step(s->owe) != SQLITE_DONE)
			rc = fleet_fail(&s->f, e);
		sqlite3_reset(s->owe);
	}
	return rc;
}

struct taken {
	const char *key, *id; /* id: what was the key before it had the user in it */
	const char *text;
	int64_t hash;
	bool alert;
};

static int add(struct state *s, const struct destinations *all, const struct taken *t, struct take_counts *counts,
	       struct error *e)
{
	sqlite3_bind_text(s->find, 1, t->key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s->find, 2, t->hash);
	sqlite3_bind_text(s->find, 3, t->id, -1, SQLITE_STATIC);
	int found = sqlite3_step(s->find);
	bool known = found == SQLITE_ROW;
	sqlite3_reset(s->find);
	if (found != SQLITE_ROW && found != SQLITE_DONE)
		return fleet_fail(&s->f, e);
	counts->known += known;
	if (known)
		return 0;
	sqlite3_bind_text(s->add, 1, t->key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s->add, 2, t->hash);
	sqlite3_bind_text(s->add, 3, t->text, -1, SQLITE_STATIC);
	int rc = sqlite3_step(s->add) == SQLITE_DONE ? 0 : fleet_fail(&s->f, e);
	sqlite3_reset(s->add);
	counts->added += rc == 0;
	return rc == 0 ? owe_all(s, all, sqlite3_last_insert_rowid(s->f.db), t->alert, e) : rc;
}

/* The text goes out as it was printed here: one line of UTF-8, whatever bytes the file had. */
int state_take(struct state *s, const struct destinations *all, const char *text, size_t len_bytes, const char *owner,
	       struct take_counts *counts, const char **ret_why, struct error *e)
{
	char claim[FLEET_CLAIM_MAX], *clean = utf8_clean(text, record_length(text, len_bytes));
	cJSON *record = clean != NULL ? record_read(clean, strlen(clean)) : NULL;
	char *line = record != NULL ? cJSON_PrintUnformatted(record) : NULL;
	*ret_why = len_bytes > RECORD_BYTES_MAX ? "is longer than 8,192 bytes"
		   : line == NULL		? "is not JSON"
						: wrong_with(record, owner, claim);
	int rc = 0;
	if (*ret_why != NULL)
		counts->refused++;
	else
		rc = add(s, all,
			 &(struct taken){.key = claim,
					 .id = json_text(record, "id", ""),
					 .text = line,
					 .hash = (int64_t)index_hash(INDEX_SEED, line, strlen(line))},
			 counts, e);
	cJSON_free(line);
	cJSON_Delete(record);
	free(clean);
	return rc;
}

/* Its key begins with a word that no record's id has, and it is known by that alone: a step has one. */
static int add_alert(struct state *s, const struct destinations *all, const struct alert *a, const char *line,
		     struct take_counts *counts, struct error *e)
{
	char key[FLEET_CLAIM_MAX + sizeof("alert ")];
	snprintf(key, sizeof(key), "alert %s%s%s", a->id, *a->user != '\0' ? " " : "", a->user);
	return add(s, all, &(struct taken){.key = key, .id = key, .text = line, .alert = true}, counts, e);
}

int state_take_alert(struct state *s, const struct destinations *all, const char *text, size_t len_bytes,
		     const char *owner, struct take_counts *counts, const char **ret_why, struct error *e)
{
	struct alert a;
	bool wanted = false;
	*ret_why = NULL;
	for (size_t i = 0; i < all->all.n; i++)
		wanted |= all->all.at[i].kind->alerts;
	if (!wanted)
		return 0;
	char *clean = utf8_clean(text, record_length(text, len_bytes));
	cJSON *json = clean != NULL && len_bytes <= ALERT_BYTES_MAX ? record_json(clean, strlen(clean)) : NULL;
	char *line = json != NULL ? cJSON_PrintUnformatted(json) : NULL;
	*ret_why = line == NULL ? "is not JSON" : alert_of(json, &a);
	if (*ret_why == NULL && !record_is_owners(a.user, owner))
		*ret_why = "belongs to another user than it says";
	int rc = *ret_why == NULL ? add_alert(s, all, &a, line, counts, e) : 0;
	counts->refused += *ret_why != NULL;
	cJSON_free(line);
	cJSON_Delete(json);
	free(clean);
	return rc;
}

int state_forget(struct state *s, struct error *e)
{
	return fleet_run(&s->f,
			 "DELETE FROM records WHERE text='' AND taken < strftime('%s','now') - 400*86400 AND NOT EXISTS"
			 " (SELECT 1 FROM deliveries WHERE record=records.id)",
			 e);
}

int state_bound(struct state *s, const struct destination *d, struct error *e)
{
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc == 0)
		rc = state_run(
			s, e,
			"DELETE FROM deliveries WHERE destination=?1 AND dead=0 AND batch=0 AND record <= (SELECT "
			"record"
			" FROM deliveries WHERE destination=?1 AND dead=0 AND batch=0 ORDER BY record DESC"
			" LIMIT 1 OFFSET ?2)",
			2, d->id, (int64_t)d->queue);
	int64_t dropped = rc == 0 ? sqlite3_changes64(s->f.db) : 0;
	if (rc == 0 && dropped > 0)
		rc = state_run(s, e, "UPDATE destinations SET dropped=dropped+?1 WHERE id=?2", 2, dropped, d->id);
	return state_finish(s, rc, e);
}
