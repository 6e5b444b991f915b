/* links_db.c - see links.h: which switch a node is on, by Slurm's topology.conf(5), and what was found, in tables. */
#include "fleet/links.h"

#include "base/hostlist.h"
#include "base/regular.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MOST 200000u
#define SWITCH_BYTES_MOST 256u

/* ---- topology.conf ---- */

struct reading {
	struct fleet *f;
	sqlite3_stmt *name, *node;
	const char *at; /* the switch */
	struct error *e;
	unsigned nodes;
};

static int run(struct fleet *f, sqlite3_stmt *s, struct error *e)
{
	int rc = sqlite3_step(s);
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : fleet_fail(f, e);
}

static int add_node(void *context, const char *node)
{
	struct reading *r = context;
	if (++r->nodes > NODES_MOST)
		return fail(r->e, -E2BIG, "more than %u nodes", NODES_MOST);
	sqlite3_bind_text(r->name, 1, node, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(r->node, 1, r->at, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(r->node, 2, node, -1, SQLITE_TRANSIENT);
	int rc = run(r->f, r->name, r->e);
	return rc == 0 ? run(r->f, r->node, r->e) : rc;
}

/* "SwitchName=s1 Nodes=n[1-4] LinkSpeed=7": the lowest switches have nodes, others switches. */
static int read_line(struct reading *r, char *line)
{
	const char *at = NULL, *nodes = NULL;
	char *rest = line, *word;
	line[strcspn(line, "#")] = '\0';
	while ((word = strsep(&rest, " \t\r\n")) != NULL) {
		if (strncasecmp(word, "SwitchName=", 11) == 0)
			at = word + 11;
		else if (strncasecmp(word, "Nodes=", 6) == 0)
			nodes = word + 6;
	}
	if (at == NULL || nodes == NULL || *at == '\0' || strlen(at) > SWITCH_BYTES_MOST)
		return 0;
	r->at = at;
	int rc = hostlist_each(nodes, add_node, r);
	return rc == -EINVAL || rc == -ENAMETOOLONG ? fail(r->e, rc, "switch %.64s: no list of nodes", at) : rc;
}

static int read_all(struct reading *r, FILE *in)
{
	char *line = NULL;
	size_t cap = 0;
	int rc = 0;
	while (rc == 0 && getline(&line, &cap, in) > 0)
		rc = read_line(r, line);
	free(line);
	return rc == 0 && r->nodes == 0 ? fail(r->e, -EINVAL, "no switch with nodes") : rc;
}

static int replace(struct fleet *f, FILE *in, struct error *e)
{
	struct reading r = {.f = f, .e = e};
	int rc = fleet_run(f, "BEGIN IMMEDIATE; DELETE FROM switches; DELETE FROM estimated", e);
	if (rc < 0)
		return rc;
	r.name = fleet_prepare(f, "INSERT OR IGNORE INTO names(kind, name) VALUES(7, ?1)", e);
	r.node = fleet_prepare(f, "INSERT OR REPLACE INTO switches SELECT id, ?1 FROM names WHERE kind=7 AND name=?2",
			       e);
	rc = r.name != NULL && r.node != NULL ? read_all(&r, in) : -EIO;
	sqlite3_finalize(r.name);
	sqlite3_finalize(r.node);
	if (rc == 0)
		return fleet_run(f, "COMMIT", e);
	sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

int links_topology(struct fleet *f, const char *path, struct error *e)
{
	struct error why = {""};
	FILE *in = regular_stream(path, e);
	if (in == NULL)
		return -errno;
	int rc = replace(f, in, &why);
	fclose(in);
	return rc == 0 ? 0 : fail(e, rc, "%s: %s", path, why.text);
}

/* ---- what was found ---- */

/* Numbers of switches are from 1 on, in the order of their names; of each name of the scan. */
static int load(struct fleet *f, const struct scan *s, uint32_t *switch_of, struct error *e)
{
	VEC(uint32_t) of_name = {0};
	int got = SQLITE_DONE, rc = 0;
	sqlite3_stmt *q =
		fleet_prepare(f, "SELECT node, dense_rank() OVER (ORDER BY switch) FROM switches ORDER BY node", e);
	if (q == NULL)
		return -EIO;
	while (rc == 0 && (got = sqlite3_step(q)) == SQLITE_ROW) {
		size_t node = (size_t)sqlite3_column_int64(q, 0);
		rc = node < 1u << 28 ? vec_reach(&of_name, node) : -ENOMEM;
		if (rc == 0)
			of_name.at[node] = (uint32_t)sqlite3_column_int64(q, 1);
	}
	rc = rc < 0 ? fail(e, rc, "out of memory") : got == SQLITE_DONE ? 0 : fleet_fail(f, e);
	for (size_t i = 0; i < s->names.n && rc == 0; i++)
		switch_of[i] = s->names.at[i] < of_name.n ? of_name.at[s->names.at[i]] : 0;
	sqlite3_finalize(q);
	vec_done(&of_name);
	return rc;
}

static int keep_days(struct fleet *f, sqlite3_stmt *s, int place, const struct link_effect *x, struct error *e)
{
	int rc = 0;
	for (size_t i = 0; i < x->cost.n && rc == 0; i++) {
		sqlite3_bind_int(s, 1, place);
		sqlite3_bind_int64(s, 2, x->cost.at[i].day);
		sqlite3_bind_double(s, 3, x->cost.at[i].hours);
		rc = run(f, s, e);
	}
	return rc;
}

/* Null of what has been so all the time. */
static void bind_since(sqlite3_stmt *s, int at, const struct link_effect *x)
{
	const double times[] = {x->since, x->since_low, x->since_high}, reals[] = {x->before, x->change_p};
	for (int k = 0; k < 3 && x->since > 0; k++)
		sqlite3_bind_int64(s, at + k, (sqlite3_int64)times[k]);
	for (int k = 0; k < 2 && x->since > 0; k++)
		sqlite3_bind_double(s, at + 3 + k, reals[k]);
}

static int keep_pairs(struct fleet *f, sqlite3_stmt *s, int place, const struct link_effect *x, struct error *e)
{
	int rc = 0;
	for (int k = 0; k < LINK_EVIDENCE && x->evidence[k].with != 0 && rc == 0; k++) {
		sqlite3_bind_int(s, 1, place);
		sqlite3_bind_int(s, 2, k);
		sqlite3_bind_int64(s, 3, x->evidence[k].with);
		sqlite3_bind_int64(s, 4, x->evidence[k].without);
		rc = run(f, s, e);
	}
	return rc;
}

static void bind(sqlite3_stmt *s, int place, const struct link_effect *x)
{
	const double reals[] = {x->effect, x->z, x->q};
	const uint32_t numbers[] = {x->program, x->user, x->other, x->jobs, x->without, x->blocks, x->days};
	int at = 0;
	sqlite3_bind_int(s, ++at, place);
	sqlite3_bind_int64(s, ++at, x->at == LINK_NONE ? 0 : (sqlite3_int64)x->at);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sqlite3_bind_int64(s, ++at, numbers[i]);
	for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
		sqlite3_bind_double(s, ++at, reals[i]);
	bind_since(s, ++at, x);
}

static int estimate(struct fleet *f, const struct scan *s, link_list *ret_list, struct error *e)
{
	uint32_t *switch_of = calloc(s->names.n + 1, sizeof(*switch_of));
	int rc = switch_of != NULL ? load(f, s, switch_of, e) : fail(e, -ENOMEM, "out of memory");
	struct link_omitted o = {0};
	if (rc == 0 && links_find(s, switch_of, ret_list, &o) < 0)
		rc = fail(e, -ENOMEM, "out of memory: %zu jobs", s->jobs.n);
	if (o.jobs + o.programs > 0)
		fprintf(stderr,
			"mpitrace fleet: who waits beside whom: %llu jobs are left out, with too many beside them, and "
			"%llu pairs of programs\n",
			(unsigned long long)o.jobs, (unsigned long long)o.programs);
	free(switch_of);
	return rc;
}

/* The first day that is looked at: LINK_JOBS from there on, or fewer. */
static int first_day(struct fleet *f, uint32_t day_end, uint32_t *ret_day, struct error *e)
{
	char sql[400];
	double day;
	uint32_t first = day_end > LINK_LAST_DAYS ? day_end - LINK_LAST_DAYS : 0;
	snprintf(sql, sizeof(sql),
		 "SELECT min(day) FROM (SELECT day, sum(n) OVER (ORDER BY day DESC) AS since FROM (SELECT day,"
		 " total(jobs) AS n FROM outcomes WHERE day>=%u GROUP BY day)) WHERE since<=%u",
		 first, LINK_JOBS);
	int rc = fleet_number(f, sql, (double)day_end, &day, e);
	if (rc == 0)
		*ret_day = (uint32_t)day;
	return rc;
}

/* Who was beside whom is known when all jobs are there. */
int links_estimate(struct fleet *f, const struct scan *s, link_list *ret_list, struct error *e)
{
	struct scan whole;
	double switches;
	uint32_t first;
	int rc = fleet_number(f, "SELECT count(DISTINCT switch) FROM switches", 0, &switches, e);
	if (rc < 0)
		return rc;
	if (s->thinned == 0 || s->thinned + LINK_LAST_DAYS < s->day_end || switches < 2)
		return estimate(f, s, ret_list, e);
	rc = first_day(f, s->day_end, &first, e);
	if (rc == 0)
		rc = scan_load_from(f, first, &whole, e);
	if (rc < 0)
		return rc;
	rc = estimate(f, &whole, ret_list, e);
	scan_done(&whole);
	return rc;
}

int links_keep(struct fleet *f, const link_list *list, struct error *e)
{
	if (fleet_run(f, "DELETE FROM links; DELETE FROM link_days; DELETE FROM link_jobs", e) < 0)
		return -EIO;
	sqlite3_stmt *link = fleet_prepare(
		f,
		"INSERT INTO links SELECT ?1, ifnull((SELECT switch FROM (SELECT DISTINCT switch FROM switches ORDER BY"
		" switch LIMIT 1 OFFSET ?2-1) WHERE ?2>0), ''), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
		" ?13, ?14, ?15, ?16, ?17",
		e);
	sqlite3_stmt *day = link != NULL ? fleet_prepare(f,
							 "INSERT INTO link_days VALUES(?,?,?) ON CONFLICT DO UPDATE SET"
							 " hours=hours+excluded.hours",
							 e)
					 : NULL;
	sqlite3_stmt *pair = day != NULL ? fleet_prepare(f, "INSERT INTO link_jobs VALUES(?,?,?,?)", e) : NULL;
	int rc = pair != NULL ? 0 : -EIO;
	for (size_t i = 0; i < list->n && rc == 0; i++) {
		sqlite3_clear_bindings(link);
		bind(link, (int)i, &list->at[i]);
		rc = run(f, link, e);
		rc = rc == 0 ? keep_days(f, day, (int)i, &list->at[i], e) : rc;
		rc = rc == 0 ? keep_pairs(f, pair, (int)i, &list->at[i], e) : rc;
	}
	sqlite3_finalize(link);
	sqlite3_finalize(day);
	sqlite3_finalize(pair);
	return rc;
}
