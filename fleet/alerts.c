/* alerts.c - see alerts.h. A record that comes removes the alert of its step: a trigger (migrations.c). */
#include "fleet/alerts.h"
#include "fleet/alert.h"
#include "fleet/job.h"
#include "fleet/record_read.h"

#include "base/json.h"

#include <errno.h>
#include <stdio.h>

static const char insert[] = "INSERT OR IGNORE INTO alerts SELECT ?1,?2,?3,?4,?5,?6,?7,?8 WHERE NOT EXISTS (SELECT 1 "
			     "FROM jobs j JOIN names u"
			     " ON u.id=j.user WHERE j.key IN (?1,?2) AND u.name=?3)";
static const char forget_old[] = "DELETE FROM alerts WHERE time<strftime('%s','now')-" ALERTS_KEPT_DAYS "*86400";

static int add(struct fleet *f, const struct alert *a, const char *text, size_t len, bool *ret_new, struct error *e)
{
	char claim[FLEET_CLAIM_MAX];
	sqlite3_stmt *s = fleet_prepare(f, insert, e);
	if (s == NULL)
		return -EIO;
	snprintf(claim, sizeof(claim), "%s%s%s", a->id, *a->user != '\0' ? " " : "", a->user); /* as fleet_claim() */
	const char *texts[] = {claim, a->id, a->user, a->cluster, a->partition};
	int at = 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		sqlite3_bind_text(s, ++at, texts[i], -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, ++at, (sqlite3_int64)a->since);
	sqlite3_bind_int64(s, ++at, (sqlite3_int64)a->time);
	sqlite3_bind_text(s, ++at, text, (int)len, SQLITE_STATIC);
	int rc = sqlite3_step(s) == SQLITE_DONE ? 0 : fleet_fail(f, e);
	*ret_new = rc == 0 && sqlite3_changes64(f->db) > 0;
	sqlite3_finalize(s);
	return rc == 0 ? fleet_run(f, forget_old, e) : rc;
}

int alerts_put(struct fleet *f, const char *text, size_t len_bytes, const char *owner, const char **ret_why,
	       bool *ret_new, struct error *e)
{
	struct alert a;
	cJSON *json = len_bytes <= ALERT_BYTES_MAX ? record_json(text, len_bytes) : NULL;
	*ret_new = false;
	*ret_why = alert_of(json, &a);
	if (*ret_why == NULL && !record_is_owners(a.user, owner))
		*ret_why = "belongs to another user than it says";
	int rc = *ret_why == NULL ? add(f, &a, text, len_bytes, ret_new, e) : 0;
	cJSON_Delete(json);
	return rc;
}
