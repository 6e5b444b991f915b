/* ingest.c - see ingest.h. */
#include "fleet/ingest.h"
#include "fleet/alerts.h"
#include "fleet/details.h"
#include "fleet/job.h"
#include "fleet/record.h"
#include "fleet/record_read.h"
#include "fleet/retention.h"

#include "base/buf.h"
#include "base/hostlist.h"
#include "base/index.h"
#include "base/json.h"
#include "base/vec.h"

#include <errno.h>
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MOST 4096
#define DOUBTFUL_BYTES_MOST 64 /* of a time that is none */
#define DEVIATION_UNIT 1e4     /* of a stored deviation, sixteen bits */
#define COMMIT_EVERY 20000     /* records of one transaction: bounds the log, and what a crash takes back */

struct name {
	char *text;
	int kind;
	sqlite3_int64 id;
};

struct ingest {
	struct fleet *f;
	void (*say)(void *context, const char *text);
	void *context;
	struct ingest_counts counts;
	sqlite3_stmt *find_name, *add_name, *find_job, *remove_job, *add_job, *add_record, *add_run, *find_record;
	sqlite3_stmt *set_aside, *take_back, *add_details;
	VEC(struct name) names;
	struct index by_name;
	struct libdeflate_compressor *deflate;
	struct buf packed, run;
	unsigned pending;
	int64_t kept_from;
};

/* ---- names ---- */

struct sought {
	const struct ingest *g;
	const char *text;
	int kind;
};

static bool is_name(const void *context, uint32_t at)
{
	const struct sought *s = context;
	const struct name *n = &s->g->names.at[at];
	return n->kind == s->kind && strcmp(n->text, s->text) == 0;
}

static int step(struct ingest *g, sqlite3_stmt *s, struct error *e)
{
	int rc = sqlite3_step(s);
	sqlite3_reset(s);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : fleet_fail(g->f, e);
}

static int lookup_name(struct ingest *g, int kind, const char *text, sqlite3_int64 *ret_id, struct error *e)
{
	sqlite3_bind_int(g->find_name, 1, kind);
	sqlite3_bind_text(g->find_name, 2, text, -1, SQLITE_STATIC);
	int rc = sqlite3_step(g->find_name);
	*ret_id = rc == SQLITE_ROW ? sqlite3_column_int64(g->find_name, 0) : 0;
	sqlite3_reset(g->find_name);
	if (rc == SQLITE_ROW)
		return 0;
	if (rc != SQLITE_DONE)
		return fleet_fail(g->f, e);
	sqlite3_bind_int(g->add_name, 1, kind);
	sqlite3_bind_text(g->add_name, 2, text, -1, SQLITE_STATIC);
	if (step(g, g->add_name, e) < 0)
		return -EIO;
	*ret_id = sqlite3_last_insert_rowid(g->f->db);
	return 0;
}

/* The number of a name; 0 for one that is not known. */
static int name_of(struct ingest *g, int kind, const char *text, sqlite3_int64 *ret_id, struct error *e)
{
	struct sought s = {g, text, kind};
	*ret_id = 0;
	if (text == NULL || *text == '\0')
		return 0;
	uint64_t hash = index_mix((uint64_t)kind, index_hash(INDEX_SEED, text, strlen(text)));
	uint32_t at = index_find(&g->by_name, hash, is_name, &s);
	if (at != INDEX_NONE) {
		*ret_id = g->names.at[at].id;
		return 0;
	}
	int rc = lookup_name(g, kind, text, ret_id, e);
	if (rc < 0)
		return rc;
	struct name n = {strdup(text), kind, *ret_id};
	at = (uint32_t)g->names.n;
	if (n.text == NULL || vec_push(&g->names, n) < 0 || index_add(&g->by_name, hash, at) < 0)
		return fail(e, -ENOMEM, "out of memory");
	return 0;
}

/* ---- a record ---- */

static void bind_number(sqlite3_stmt *s, int at, double value)
{
	if (isnan(value))
		sqlite3_bind_null(s, at);
	else
		sqlite3_bind_double(s, at, value);
}

static void bind_added(sqlite3_stmt *s, int at, const struct fleet_job *j)
{
#define BIND(name, kind, of, column) \
	if (FIELD_IS_TEXT(FIELD_##kind)) \
		sqlite3_bind_text(s, ++at, j->added[FLEET_ADDED_##name].text, -1, SQLITE_STATIC); \
	else \
		bind_number(s, ++at, j->added[FLEET_ADDED_##name].number);
	RECORD_FIELDS_ADDED(BIND)
#undef BIND
}

static int add_job(struct ingest *g, const struct fleet_job *j, struct error *e)
{
	static const enum fleet_kind kinds[] = {FLEET_CLUSTER, FLEET_USER,  FLEET_ACCOUNT, FLEET_PARTITION,
						FLEET_PROGRAM, FLEET_BUILD, FLEET_MPI};
	const double integers[] = {j->nodes, j->ranks, j->start};
	const double reals[] = {j->elapsed_s, j->core_hours, j->useful, j->wait, j->parallel, j->load_balance};
	sqlite3_stmt *s = g->add_job;
	sqlite3_int64 ids[FLEET_CLUSTER + 1] = {0};
	int at = 0;
	for (int k = 1; k <= FLEET_CLUSTER; k++)
		if (j->names[k] != NULL && name_of(g, k, j->names[k], &ids[k], e) < 0)
			return -EIO;
	sqlite3_bind_text(s, ++at, j->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, ++at, j->job, -1, SQLITE_STATIC);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		sqlite3_bind_int64(s, ++at, ids[kinds[i]]);
	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
		sqlite3_bind_int64(s, ++at, (sqlite3_int64)integers[i]);
	for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
		bind_number(s, ++at, reals[i]);
	sqlite3_bind_int64(s, ++at, ids[FLEET_ISSUE]);
	sqlite3_bind_double(s, ++at, j->loss);
	sqlite3_bind_int(s, ++at, j->complete);
	sqlite3_bind_double(s, ++at, j->hung);
	sqlite3_bind_text(s, ++at, j->state, -1, SQLITE_STATIC);
	sqlite3_bind_double(s, ++at, j->idle);
	bind_added(s, at, j);
	return step(g, s, e);
}

static int add_text(struct ingest *g, sqlite3_int64 id, const char *text, size_t len, struct error *e)
{
	size_t bound = libdeflate_deflate_compress_bound(g->deflate, len);
	g->packed.len_bytes = 0;
	uint8_t *room = buf_reserve(&g->packed, bound);
	size_t n = room != NULL ? libdeflate_deflate_compress(g->deflate, text, len, room, bound) : 0;
	if (n == 0)
		return fail(e, -ENOMEM, "out of memory");
	sqlite3_bind_int64(g->add_record, 1, id);
	sqlite3_bind_int64(g->add_record, 2, (sqlite3_int64)len);
	sqlite3_bind_blob(g->add_record, 3, room, (int)n, SQLITE_STATIC);
	return step(g, g->add_record, e);
}

/* Nodes of a job as they are stored: (number of the name, deviation in ten-thousandths), rank 0's node first. */
struct run {
	struct ingest *g;
	struct error *e;
	const cJSON *deviation;
	unsigned n;
};

static int add_node(void *context, const char *name)
{
	struct run *r = context;
	sqlite3_int64 id;
	double value = json_number_of(r->deviation);
	if (r->deviation == NULL || !(value >= -1 && value <= 1000) || ++r->n > NODES_MOST)
		return -EBADMSG;
	if (name_of(r->g, FLEET_NODE, name, &id, r->e) < 0)
		return -EIO;
	r->deviation = r->deviation->next;
	buf_varint(&r->g->run, (uint64_t)id);
	buf_u16(&r->g->run, (uint16_t)(int16_t)lround(fmin(value, 3) * DEVIATION_UNIT));
	return 0;
}

/* A list that is none, or of another length than the deviations, is left out. */
static int add_run(struct ingest *g, sqlite3_int64 id, const cJSON *record, struct error *e)
{
	struct run r = {g, e, json_first(record, "deviation"), 0};
	const char *list = json_text(record, "nodelist", "");
	g->run.len_bytes = 0;
	int rc = *list != '\0' ? hostlist_each(list, add_node, &r) : -EBADMSG;
	if (rc == -EIO)
		return rc;
	if (rc != 0 || r.deviation != NULL || r.n < 2 || buf_failed(&g->run))
		return 0;
	sqlite3_bind_int64(g->add_run, 1, id);
	sqlite3_bind_blob(g->add_run, 2, g->run.data, (int)g->run.len_bytes, SQLITE_STATIC);
	return step(g, g->add_run, e);
}

/* Is this very text there? */
static int is_known(struct ingest *g, sqlite3_int64 id, const char *text, size_t len, bool *ret_known, struct error *e)
{
	char old[RECORD_BYTES_MAX];
	bool same = false;
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	sqlite3_bind_int64(g->find_record, 1, id);
	int got = sqlite3_step(g->find_record);
	if (d != NULL && got == SQLITE_ROW && sqlite3_column_int64(g->find_record, 0) == (sqlite3_int64)len &&
	    len <= sizeof(old)) {
		const void *packed = sqlite3_column_blob(g->find_record, 1);
		size_t bytes = (size_t)sqlite3_column_bytes(g->find_record, 1);
		same = libdeflate_deflate_decompress(d, packed, bytes, old, len, NULL) == LIBDEFLATE_SUCCESS &&
		       memcmp(old, text, len) == 0;
	}
	sqlite3_reset(g->find_record);
	libdeflate_free_decompressor(d);
	*ret_known = same;
	return got == SQLITE_ROW || got == SQLITE_DONE ? 0 : fleet_fail(g->f, e);
}

/* The job of that key, 0 for none, and whose it is. */
static int find_job(struct ingest *g, const char *key, sqlite3_int64 *ret_id, sqlite3_int64 *ret_user, struct error *e)
{
	sqlite3_bind_text(g->find_job, 1, key, -1, SQLITE_STATIC);
	int found = sqlite3_step(g->find_job);
	*ret_id = found == SQLITE_ROW ? sqlite3_column_int64(g->find_job, 0) : 0;
	*ret_user = found == SQLITE_ROW ? sqlite3_column_int64(g->find_job, 1) : 0;
	sqlite3_reset(g->find_job);
	return found == SQLITE_ROW || found == SQLITE_DONE ? 0 : fleet_fail(g->f, e);
}

/* A record is its user's word about their own jobs: one with the id of somebody else's job is another job, whoever came
 * first, and takes nobody's place. */
static int find_own(struct ingest *g, struct fleet_job *j, char room[FLEET_CLAIM_MAX], sqlite3_int64 *ret_id,
		    struct error *e)
{
	sqlite3_int64 whose, user;
	int rc = find_job(g, j->key, ret_id, &whose, e);
	if (rc < 0 || *ret_id == 0)
		return rc;
	rc = name_of(g, FLEET_USER, j->names[FLEET_USER], &user, e);
	if (rc < 0 || user == whose)
		return rc;
	fleet_claim(j, room);
	j->key = room;
	return find_job(g, j->key, ret_id, &whose, e);
}

static int put(struct ingest *g, struct fleet_job *j, const char *text, size_t len, struct error *e)
{
	char room[FLEET_CLAIM_MAX];
	sqlite3_int64 old = 0;
	bool known = false;
	int rc = find_own(g, j, room, &old, e);
	if (rc == 0 && old != 0)
		rc = is_known(g, old, text, len, &known, e);
	g->counts.known += rc == 0 && known;
	if (rc < 0 || known)
		return rc;
	if (old != 0) {
		sqlite3_bind_int64(g->remove_job, 1, old);
		rc = step(g, g->remove_job, e);
	}
	if (rc == 0)
		rc = add_job(g, j, e);
	sqlite3_int64 id = sqlite3_last_insert_rowid(g->f->db);
	if (rc == 0)
		rc = add_text(g, id, text, len, e);
	if (rc == 0)
		rc = add_run(g, id, j->record, e);
	if (rc == 0)
		rc = details_put(g->f, g->add_details, id, j->record, e);
	if (rc == 0)
		(void)(old != 0 ? g->counts.replaced++ : g->counts.added++);
	return rc;
}

/* Who and what it was, for somebody to look at; in no sum. */
static int set_aside(struct ingest *g, const struct fleet_job *j, struct error *e)
{
	char claim[FLEET_CLAIM_MAX];
	const char *start = json_text(j->record, "start", "");
	fleet_claim(j, claim);
	g->counts.doubtful++;
	sqlite3_bind_text(g->set_aside, 1, claim, -1, SQLITE_STATIC);
	sqlite3_bind_text(g->set_aside, 2, start, (int)strnlen(start, DOUBTFUL_BYTES_MOST), SQLITE_TRANSIENT);
	sqlite3_bind_text(g->set_aside, 3, j->doubt, -1, SQLITE_STATIC);
	return step(g, g->set_aside, e);
}

/* A later record of the step has its times right. */
static int take_back(struct ingest *g, const struct fleet_job *j, struct error *e)
{
	char claim[FLEET_CLAIM_MAX];
	fleet_claim(j, claim);
	sqlite3_bind_text(g->take_back, 1, claim, -1, SQLITE_STATIC);
	return step(g, g->take_back, e);
}

static void refuse(struct ingest *g, const char *where, const char *why)
{
	char text[ERROR_TEXT_MAX];
	g->counts.refused++;
	snprintf(text, sizeof(text), "%.600s: %s; ignored", where, why);
	if (g->say != NULL)
		g->say(g->context, text);
}

int ingest_record(struct ingest *g, const char *text, size_t len, const char *where, const char *owner, struct error *e)
{
	struct fleet_job j = {0};
	len = record_length(text, len);
	cJSON *record = len < RECORD_BYTES_MAX ? record_read(text, len) : NULL;
	const char *wrong = len >= RECORD_BYTES_MAX ? "is longer than 8,192 bytes"
			    : record == NULL	    ? "is not JSON"
						    : fleet_job_of(record, &j);
	if (wrong == NULL && !record_is_owners(j.names[FLEET_USER], owner))
		wrong = "belongs to another user than it says";
	int rc = 0;
	if (wrong != NULL)
		refuse(g, where, wrong);
	if (wrong != NULL && wrong == j.doubt)
		rc = set_aside(g, &j, e);
	else if (wrong == NULL)
		rc = take_back(g, &j, e);
	bool late = wrong == NULL && j.start < (double)g->kept_from;
	g->counts.late += late;
	if (rc == 0 && wrong == NULL && !late)
		rc = put(g, &j, text, len, e);
	cJSON_Delete(record);
	if (rc == 0 && ++g->pending >= COMMIT_EVERY)
		rc = ingest_commit(g, e);
	return rc;
}

int ingest_alert(struct ingest *g, const char *text, size_t len, const char *where, const char *owner, struct error *e)
{
	const char *wrong;
	bool is_new;
	int rc = alerts_put(g->f, text, len, owner, &wrong, &is_new, e);
	if (rc == 0 && wrong != NULL)
		refuse(g, where, wrong);
	g->counts.alerts += rc == 0 && is_new;
	return rc;
}

/* ---- all of it ---- */

#define COLUMN(name, kind, of, column) ", \"" #name "\""
#define MARK(name, kind, of, column) ",?"

static bool prepare(struct ingest *g, struct error *e)
{
	const struct {
		sqlite3_stmt **s;
		const char *sql;
	} all[] = {
		{&g->find_name, "SELECT id FROM names WHERE kind=? AND name=?"},
		{&g->add_name, "INSERT INTO names(kind, name) VALUES(?,?)"},
		{&g->find_job, "SELECT id, user FROM jobs WHERE key=?"},
		{&g->remove_job, "DELETE FROM jobs WHERE id=?"},
		{&g->add_job,
		 "INSERT INTO jobs(key, job, cluster, user, account, partition, program, build, mpi, nodes, ranks, "
		 "start,"
		 " elapsed_s, core_hours, useful, wait, parallel, load_balance, issue, loss_core_hours, complete,"
		 " hung_core_hours, state, idle_core_hours" RECORD_FIELDS_ADDED(COLUMN) ") "
											"VALUES(?,?,?,?,?,?,?,?,?,?,?,?"
											",?,?,?,?,?,?,?,?,?,?,?,"
											"?" RECORD_FIELDS_ADDED(
												MARK) ")"},
		{&g->add_record, "INSERT INTO records VALUES(?,?,?)"},
		{&g->add_run, "INSERT INTO runs VALUES(?,?)"},
		{&g->find_record, "SELECT bytes, deflated FROM records WHERE job=?"},
		{&g->set_aside, "INSERT OR REPLACE INTO set_aside VALUES(?,?,?)"},
		{&g->add_details, DETAILS_INSERT},
		{&g->take_back, "DELETE FROM set_aside WHERE key=?"},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if ((*all[i].s = fleet_prepare(g->f, all[i].sql, e)) == NULL)
			return false;
	return true;
}

/* Somebody else may have let jobs go since the last transaction. */
int ingest_resume(struct ingest *g, struct error *e)
{
	int rc = fleet_run(g->f, "BEGIN IMMEDIATE", e);
	return rc == 0 ? fleet_kept_from(g->f, &g->kept_from, e) : rc;
}

struct ingest *ingest_begin(struct fleet *f, void (*say)(void *context, const char *text), void *context,
			    struct error *e)
{
	struct ingest *g = calloc(1, sizeof(*g));
	if (g == NULL || (g->deflate = libdeflate_alloc_compressor(6)) == NULL) {
		fail(e, -ENOMEM, "out of memory");
		free(g);
		return NULL;
	}
	g->f = f;
	g->say = say;
	g->context = context;
	if (prepare(g, e) && ingest_resume(g, e) == 0)
		return g;
	ingest_end(g);
	return NULL;
}

int ingest_pause(struct ingest *g, struct error *e)
{
	g->pending = 0;
	return fleet_run(g->f, "COMMIT", e);
}

int ingest_commit(struct ingest *g, struct error *e)
{
	int rc = ingest_pause(g, e);
	return rc < 0 ? rc : ingest_resume(g, e);
}

struct ingest_counts ingest_counts(const struct ingest *g)
{
	return g->counts;
}

void ingest_end(struct ingest *g)
{
	if (g == NULL)
		return;
	sqlite3_stmt *all[] = {g->find_name, g->add_name,    g->find_job,  g->remove_job, g->add_job,	 g->add_record,
			       g->add_run,   g->find_record, g->set_aside, g->take_back,  g->add_details};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sqlite3_finalize(all[i]);
	sqlite3_exec(g->f->db, "ROLLBACK", NULL, NULL, NULL);
	for (size_t i = 0; i < g->names.n; i++)
		free(g->names.at[i].text);
	vec_done(&g->names);
	index_done(&g->by_name);
	libdeflate_free_compressor(g->deflate);
	buf_done(&g->packed);
	buf_done(&g->run);
	free(g);
}
