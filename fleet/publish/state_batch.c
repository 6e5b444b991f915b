/* state_batch.c - what goes out together, and what became of it. */
#include "fleet/publish/state_sql.h"
#include "fleet/record_read.h"

#include <stdlib.h>
#include <string.h>

/* Give up to n records of the batch `from` (0: those in none) a number of their own. */
static int number_batch(struct state *s, const struct destination *d, int64_t from, int64_t n, struct error *e)
{
	int rc = state_run(s, e, "UPDATE destinations SET batches=batches+1 WHERE id=?", 1, d->id);
	if (rc == 0)
		rc = state_run(
			s, e,
			"UPDATE deliveries SET batch=(SELECT batches FROM destinations WHERE id=?1) WHERE"
			" destination=?1 AND record IN (SELECT record FROM deliveries WHERE destination=?1 AND dead=0"
			" AND batch=?2 ORDER BY record LIMIT ?3)",
			3, d->id, from, n);
	return rc;
}

static int read_records(struct state *s, const struct destination *d, struct batch *b, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f,
					"SELECT r.id, r.text, EXISTS(SELECT 1 FROM records p WHERE p.key=r.key AND"
					" p.id<r.id) FROM deliveries x JOIN records r ON r.id=x.record WHERE"
					" x.destination=? AND x.dead=0 AND x.batch=? ORDER BY x.record",
					e);
	int rc = q != NULL ? 0 : -EIO, got = SQLITE_DONE;
	sqlite3_bind_int64(q, 1, d->id);
	sqlite3_bind_int64(q, 2, b->number);
	while (rc == 0 && (got = sqlite3_step(q)) == SQLITE_ROW) {
		struct publish_record r = {.id = sqlite3_column_int64(q, 0), .again = sqlite3_column_int(q, 2) != 0};
		r.text = strdup((const char *)sqlite3_column_text(q, 1));
		r.json = r.text != NULL ? record_read(r.text, strlen(r.text)) : NULL;
		if (r.json == NULL || vec_push(&b->records, r) < 0) {
			free((char *)r.text);
			rc = fail(e, -ENOMEM, "out of memory, or %s is damaged", s->f.path);
		}
	}
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(&s->f, e);
	sqlite3_finalize(q);
	return rc;
}

/* The number of the batch that is due: one that is open, a new one, else one that was set aside; 0: none. */
static int due(struct state *s, const struct destination *d, int64_t *ret_number, struct error *e)
{
	static const char open_one[] =
		"SELECT batch FROM deliveries WHERE destination=? AND dead=0 AND batch>0 ORDER BY batch LIMIT 1";
	static const char aside[] =
		"SELECT batch FROM deliveries WHERE destination=? AND dead=0 AND batch<0 ORDER BY batch DESC LIMIT 1";
	int rc = state_number(s, open_one, ret_number, e, 1, d->id);
	if (rc < 0 || *ret_number != 0)
		return rc;
	rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc == 0)
		rc = state_finish(s, number_batch(s, d, 0, (int64_t)d->batch, e), e);
	if (rc == 0)
		rc = state_number(s, open_one, ret_number, e, 1, d->id);
	return rc < 0 || *ret_number != 0 ? rc : state_number(s, aside, ret_number, e, 1, d->id);
}

int state_batch(struct state *s, const struct destination *d, struct batch *ret_b, struct error *e)
{
	struct batch b = {0};
	int rc = due(s, d, &b.number, e);
	if (rc == 0 && b.number != 0)
		rc = read_records(s, d, &b, e);
	snprintf(b.name, sizeof(b.name), "%s-%lld-%lld", s->token, (long long)d->id, (long long)b.number);
	if (rc < 0)
		batch_done(&b);
	else
		*ret_b = b;
	return rc;
}

void batch_done(struct batch *b)
{
	for (size_t i = 0; i < b->records.n; i++) {
		cJSON_Delete((cJSON *)b->records.at[i].json);
		free((char *)b->records.at[i].text);
	}
	vec_done(&b->records);
}

/* Whom nobody waits for any more is only known by its hash. */
static int forget_texts(struct state *s, const struct batch *b, struct error *e)
{
	int rc = 0;
	for (size_t i = 0; i < b->records.n && rc == 0; i++)
		rc = state_run(s, e,
			       "UPDATE records SET text='' WHERE id=?1 AND NOT EXISTS (SELECT 1 FROM deliveries WHERE "
			       "record=?1)",
			       1, b->records.at[i].id);
	return rc;
}

static int count_done(struct state *s, const struct destination *d, int64_t n, struct error *e)
{
	return state_run(s, e, "UPDATE destinations SET done=done+?2, failures=0, next=0, said='' WHERE id=?1", 2,
			 d->id, n);
}

int state_arrived(struct state *s, const struct destination *d, const struct batch *b, int64_t file_bytes,
		  const struct totals *totals, struct error *e)
{
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	rc = state_run(s, e, "DELETE FROM deliveries WHERE destination=? AND dead=0 AND batch=?", 2, d->id, b->number);
	if (rc == 0)
		rc = count_done(s, d, (int64_t)b->records.n, e);
	if (rc == 0 && file_bytes >= 0)
		rc = state_run(s, e, "UPDATE destinations SET bytes=?2 WHERE id=?1", 2, d->id, file_bytes);
	if (rc == 0 && totals != NULL)
		rc = state_totals_write(s, d, totals, e);
	if (rc == 0)
		rc = forget_texts(s, b, e);
	return state_finish(s, rc, e);
}

static int apply_fate(struct state *s, const struct destination *d, const struct publish_record *r,
		      const struct publish_fate *f, int64_t *arrived, struct error *e)
{
	*arrived += f->what == FATE_ARRIVED;
	if (f->what == FATE_ARRIVED)
		return state_run(s, e, "DELETE FROM deliveries WHERE record=? AND destination=?", 2, r->id, d->id);
	if (f->what == FATE_LATER)
		return 0;
	return state_run_text(s, "UPDATE deliveries SET dead=1, reason=? WHERE record=? AND destination=?", f->why,
			      r->id, d->id, e);
}

int state_apply(struct state *s, const struct destination *d, const struct batch *b, const struct publish_fate *fates,
		struct error *e)
{
	int64_t arrived = 0;
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < b->records.n && rc == 0; i++)
		rc = apply_fate(s, d, &b->records.at[i], &fates[i], &arrived, e);
	if (rc == 0 && arrived > 0)
		rc = count_done(s, d, arrived, e);
	if (rc == 0)
		rc = number_batch(s, d, b->number, (int64_t)b->records.n, e); /* what is left is another batch */
	if (rc == 0)
		rc = forget_texts(s, b, e);
	return state_finish(s, rc, e);
}

int state_split(struct state *s, const struct destination *d, const struct batch *b, struct error *e)
{
	int64_t half = (int64_t)(b->records.n / 2);
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	rc = number_batch(s, d, b->number, half, e);
	if (rc == 0)
		rc = number_batch(s, d, b->number, (int64_t)b->records.n, e);
	return state_finish(s, rc, e);
}

int state_aside(struct state *s, const struct destination *d, const struct batch *b, int64_t *ret_tries,
		struct error *e)
{
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	rc = state_run(s, e,
		       "UPDATE deliveries SET batch=-record, tries=tries+(seen<(SELECT done FROM destinations WHERE "
		       "id=?1)), seen=(SELECT done FROM destinations WHERE id=?1) WHERE destination=?1 AND record=?2",
		       2, d->id, b->records.at[0].id);
	rc = state_finish(s, rc, e);
	return rc == 0 ? state_number(s, "SELECT tries FROM deliveries WHERE record=?1 AND destination=?2", ret_tries,
				      e, 2, b->records.at[0].id, d->id)
		       : rc;
}

int state_dead(struct state *s, bool revive, struct error *e)
{
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc == 0 && revive)
		rc = fleet_run(&s->f,
			       "UPDATE destinations SET next=0 WHERE id IN (SELECT destination FROM deliveries WHERE"
			       " dead=1); UPDATE deliveries SET dead=0, batch=0, reason=NULL, tries=0, seen=-1 WHERE"
			       " dead=1",
			       e);
	else if (rc == 0)
		rc = fleet_run(&s->f,
			       "UPDATE destinations SET dropped=dropped+(SELECT count(*) FROM deliveries WHERE dead=1"
			       " AND destination=destinations.id); DELETE FROM deliveries WHERE dead=1; UPDATE records"
			       " SET text='' WHERE text<>'' AND NOT EXISTS (SELECT 1 FROM deliveries WHERE"
			       " record=records.id)",
			       e);
	return state_finish(s, rc, e);
}

int state_bury(struct state *s, const struct destination *d, const struct batch *b, const char *why, struct error *e)
{
	return state_run_text(s, "UPDATE deliveries SET dead=1, reason=? WHERE destination=? AND record=?", why, d->id,
			      b->records.at[0].id, e);
}

int state_postpone(struct state *s, const struct destination *d, int64_t until, const char *why, struct error *e)
{
	return state_run_text(s, "UPDATE destinations SET failures=failures+1, said=?1, next=?3 WHERE id=?2", why,
			      d->id, until, e);
}
