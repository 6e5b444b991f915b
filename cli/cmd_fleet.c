/* cmd_fleet.c - `mpitrace fleet`: all jobs of a machine in one database, on pages, and asked. */
#include "cli/cli.h"
#include "base/index.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "fleet/estimate.h"
#include "fleet/forget.h"
#include "fleet/links.h"
#include "fleet/monday.h"
#include "fleet/query.h"
#include "fleet/report.h"
#include "fleet/retention.h"
#include "fleet/sources.h"
#include "spank/policy/policy.h"
#include "fleet/publish/program.h"
#include "reports/web/programs.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SAID_MOST 20		   /* messages about records that are left out; the rest is counted */
#define SETTLED_S 60		   /* a file of an outbox that is younger is left for the next time */
#define REFUSED_KEPT_S (7 * 86400) /* and one that is no record for somebody to look at it */

struct options {
	const char *db, *out, *user, *url, *until, *config, *topology;
	bool remove, csv, json, timing, account;
	long days, jobs, public_least, keep; /* keep: 0: all */
	char **paths;
	int npaths;
};

static int complain(const struct error *e)
{
	fprintf(stderr, "mpitrace fleet: %s\n", e->text);
	return EXIT_BAD_INPUT;
}

/* ---- ingest ---- */

struct ingesting {
	struct ingest *g;
	unsigned said;
	uint64_t had_no_room, waiting;
	VEC(uint64_t) refused; /* hashes of paths */
	struct index by_path;  /* of them */
	bool forgetful;	       /* there was no memory for all of them */
	int rc;		       /* nothing is taken any more: */
	struct error e;
};

static void say(void *context, const char *text)
{
	struct ingesting *i = context;
	char *clean = i->said++ < SAID_MOST ? utf8_clean(text, strlen(text)) : NULL; /* anybody named the files */
	if (clean != NULL)
		fprintf(stderr, "mpitrace fleet: %s\n", clean);
	free(clean);
}

static void remember_refused(void *context, const char *path)
{
	struct ingesting *i = context;
	uint64_t hash = index_hash(INDEX_SEED, path, strlen(path));
	if (vec_push(&i->refused, hash) < 0 || index_add(&i->by_path, hash, (uint32_t)i->refused.n - 1) < 0)
		i->forgetful = true;
}

static int ingest_one(void *context, const char *text, size_t len, const char *where, const char *owner,
		      struct error *e)
{
	struct ingesting *i = context;
	uint64_t refused = ingest_counts(i->g).refused;
	if (i->rc < 0)
		return fail(e, i->rc, "%s", i->e.text);
	int rc = ingest_record(i->g, text, len, where, owner, e);
	if (ingest_counts(i->g).refused != refused)
		remember_refused(i, where);
	return rc;
}

static bool same_hash(const void *context, uint32_t at)
{
	(void)context, (void)at;
	return true;
}

static int take_alert(void *context, const char *text, size_t len, const char *where, const char *owner,
		      struct error *e)
{
	struct ingesting *i = context;
	return ingest_alert(i->g, text, len, where, owner, e);
}

/* One that was left out stays for a week, so that somebody may look at it; then it would only fill the outbox. */
static bool is_kept(void *context, const char *path, const struct stat *st)
{
	struct ingesting *i = context;
	uint64_t hash = index_hash(INDEX_SEED, path, strlen(path));
	return (i->forgetful || index_find(&i->by_path, hash, same_hash, NULL) != INDEX_NONE) &&
	       st->st_mtime >= time(NULL) - REFUSED_KEPT_S && st->st_mtime <= time(NULL) + SETTLED_S;
}

/* Sacct may keep us for a minute: others have the database meanwhile. */
static void asking(void *context, enum source_asking how)
{
	struct ingesting *i = context;
	if (how == ASKING_BEGINS && i->rc == 0)
		i->rc = ingest_pause(i->g, &i->e);
	if (how == ASKING_ENDS && i->rc == 0)
		i->rc = ingest_resume(i->g, &i->e);
}

static int each_path(const struct options *o, struct ingesting *i, uint64_t *unread, struct error *e)
{
	struct source_taker t = {.take = ingest_one,
				 .alert = take_alert,
				 .say = say,
				 .unread = remember_refused,
				 .had_no_room = &i->had_no_room,
				 .account = o->account,
				 .waiting = &i->waiting,
				 .waits = remember_refused,
				 .asking = asking,
				 .context = i,
				 .version = MPITRACE_VERSION};
	int rc = 0;
	for (int k = 0; k < o->npaths && rc == 0; k++)
		rc = source_each(o->paths[k], &t, unread, e);
	if (rc == 0 && i->rc < 0)
		return fail(e, i->rc, "%s", i->e.text);
	return rc == 0 ? ingest_commit(i->g, e) : rc;
}

static bool same_directory(const char *a, const char *b)
{
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Does the site publish what is in this outbox? Who cannot know keeps the files. */
static bool is_published(const char *path)
{
	struct policy_errors errors = {{""}, 0, NULL, NULL};
	struct policy_facts nobody = {0};
	struct policy *p = NULL;
	if (policy_load("", 0, &p, &errors) < 0)
		return true;
	struct policy_decision d = policy_decide(p, &nobody);
	bool yes = policy_destination_key(p, 0) != NULL && same_directory(policy_text(&d, POLICY_OUTBOX), path);
	policy_free(p);
	return yes;
}

/* What `mpitrace publish` has not taken stays: it says until when it has, by a stamp that only the directory's owner
 * can have made. */
static int64_t taken_until(const char *path, int64_t began)
{
	char name[4096];
	struct stat dir, stamp;
	snprintf(name, sizeof(name), "%s/" PUBLISH_STAMP, path);
	if (stat(path, &dir) == 0 && lstat(name, &stamp) == 0 && S_ISREG(stamp.st_mode) && stamp.st_uid == dir.st_uid) {
		int64_t until = (int64_t)stamp.st_mtime - SETTLED_S;
		return until < began ? until : began;
	}
	return is_published(path) ? 0 : began;
}

/* What was there before we began, has settled, and is in the database. */
static int clean_up(const struct options *o, struct ingesting *i, int64_t began, struct error *e)
{
	int rc = 0;
	for (int k = 0; k < o->npaths && rc == 0; k++) {
		struct source_removal r = {taken_until(o->paths[k], began), is_kept, i};
		rc = source_remove(o->paths[k], &r, e);
	}
	return rc;
}

static int keep_days(const struct options *o, struct fleet *f, uint64_t *ret_jobs, struct error *e)
{
	*ret_jobs = 0;
	return o->keep > 0 ? fleet_keep(f, (int64_t)time(NULL), (unsigned)o->keep, ret_jobs, e) : 0;
}

static void print_counts(const struct ingesting *i, const struct ingest_counts *c, uint64_t unread, uint64_t gone)
{
	const struct {
		uint64_t n;
		const char *before, *after;
	} more[] = {{c->doubtful, " (", " because of their times)"},
		    {c->late, ", ", " too late: the jobs of their day have been pruned"},
		    {i->waiting, ", ", " wait for Slurm's account"},
		    {c->alerts, ", ", " alerts of steps that hang"},
		    {gone, "; ", " jobs pruned"}};
	printf("%llu record%s added, %llu replaced, %llu known already, %llu left out", (unsigned long long)c->added,
	       c->added == 1 ? "" : "s", (unsigned long long)c->replaced, (unsigned long long)c->known,
	       (unsigned long long)c->refused + (unsigned long long)unread);
	for (size_t k = 0; k < sizeof(more) / sizeof(more[0]); k++)
		if (more[k].n > 0)
			printf("%s%llu%s", more[k].before, (unsigned long long)more[k].n, more[k].after);
	printf("\n");
}

static int ingest(const struct options *o)
{
	struct fleet f = {0};
	struct error e;
	struct ingesting i = {0};
	uint64_t unread = 0, gone = 0;
	int64_t began = (int64_t)time(NULL);
	if (o->npaths == 0 && o->topology == NULL)
		return usage_error("fleet", "ingest needs records, traces, or directories with them");
	if (fleet_open(o->db, FLEET_CREATE, &f, &e) < 0)
		return complain(&e);
	if (o->topology != NULL && links_topology(&f, o->topology, &e) < 0)
		return fleet_close(&f), complain(&e);
	i.g = ingest_begin(&f, say, &i, &e);
	int rc = i.g != NULL ? each_path(o, &i, &unread, &e) : -1;
	struct ingest_counts c = i.g != NULL ? ingest_counts(i.g) : (struct ingest_counts){0};
	ingest_end(i.g);
	if (rc == 0)
		rc = keep_days(o, &f, &gone, &e);
	fleet_close(&f);
	if (rc == 0 && o->remove)
		rc = clean_up(o, &i, began - SETTLED_S, &e);
	vec_done(&i.refused);
	index_done(&i.by_path);
	if (rc < 0)
		return complain(&e);
	if (i.had_no_room > 0)
		fprintf(stderr,
			"mpitrace fleet: steps without a record: %llu, because the outbox's file system was full\n",
			(unsigned long long)i.had_no_room);
	print_counts(&i, &c, unread, gone);
	return c.refused + unread > 0 ? EXIT_PARTIAL : EXIT_DONE;
}

/* ---- report, query, check ---- */

static int report(const struct options *o)
{
	struct fleet f = {0};
	struct error e;
	struct fleet_report r = {.directory = o->out,
				 .days = (unsigned)o->days,
				 .jobs = (unsigned)o->jobs,
				 .user = o->user,
				 .public_least = (unsigned)o->public_least,
				 .timing = o->timing};
	if (o->out == NULL || o->npaths > 0)
		return usage_error("fleet", "report writes pages into the directory of -o, and takes nothing else");
	if (o->public_least < 0 || (o->public_least > 0 && o->user != NULL))
		return usage_error("fleet", "--public takes a number of users, 2 or more, and no --user");
	int rc = fleet_open(o->db, FLEET_WRITE, &f, &e);
	if (rc == 0)
		rc = fleet_estimate(&f, &e);
	if (rc == 0)
		rc = fleet_report(&f, &r, &e);
	fleet_close(&f);
	return rc < 0 ? complain(&e) : EXIT_DONE;
}

/* --until as a day, else the last Monday. */
static bool parse_until(const struct options *o, int64_t *ret_until)
{
	struct tm tm = {0};
	const char *end = o->until != NULL ? strptime(o->until, "%Y-%m-%d", &tm) : NULL;
	if (o->until != NULL && (end == NULL || *end != '\0'))
		return false;
	*ret_until = o->until != NULL ? (int64_t)timegm(&tm) : monday_before((int64_t)time(NULL));
	return true;
}

static int monday(const struct options *o)
{
	struct fleet f = {0};
	struct error e;
	struct monday m = {0};
	int64_t until;
	if (!parse_until(o, &until))
		return usage_error("fleet", "--until takes a day as in 2026-03-02, not \"%.64s\"", o->until);
	if (o->npaths > 0)
		return usage_error("fleet", "monday takes no more than its options");
	int rc = fleet_open(o->db, FLEET_WRITE, &f, &e);
	if (rc == 0)
		rc = fleet_estimate(&f, &e);
	if (rc == 0)
		rc = monday_read(&f, until, &m, &e);
	if (rc == 0)
		rc = monday_save(&f, &m, &e);
	if (rc == 0)
		(o->json ? monday_put_json : monday_put_mail)(&m, o->url, stdout);
	monday_done(&m);
	fleet_close(&f);
	return rc < 0 ? complain(&e) : EXIT_DONE;
}

/* The store of the configuration, which another program talks to: this one runs on nodes, and knows no network. */
static int query_store(const struct options *o)
{
	char *words[8] = {"publish", "--query", o->paths[0]};
	size_t n = 3;
	if (o->json || o->csv)
		words[n++] = o->json ? "--json" : "--csv";
	if (o->config != NULL) {
		words[n++] = "--config";
		words[n++] = (char *)o->config;
	}
	return exec_beside(PUBLISH_PROGRAM, "fleet/publish", words);
}

static int query(const struct options *o)
{
	struct fleet f = {0};
	struct error e;
	if (o->npaths != 1)
		return usage_error("fleet", "query takes one SQL query");
	if (o->db == NULL)
		return query_store(o);
	int rc = fleet_open(o->db, FLEET_READ, &f, &e);
	if (rc == 0)
		rc = fleet_query(&f, o->paths[0], o->json ? QUERY_JSON : o->csv ? QUERY_CSV : QUERY_TEXT, stdout, &e);
	fleet_close(&f);
	return rc < 0 ? complain(&e) : EXIT_DONE;
}

static int forget(const struct options *o)
{
	struct fleet f = {0};
	struct error e;
	struct fleet_forgotten n = {0};
	if (o->user == NULL || o->npaths > 0)
		return usage_error("fleet", "forget takes --user NAME, and nothing else");
	int rc = fleet_open(o->db, FLEET_WRITE, &f, &e);
	if (rc == 0)
		rc = fleet_forget(&f, o->user, &n, &e);
	fleet_close(&f);
	if (rc == 0)
		printf("%s of %s removed, %s set aside\n", fmt_plain(fmt_many((double)n.jobs, "job")).s, o->user,
		       fmt_plain(fmt_many((double)n.set_aside, "record")).s);
	return rc < 0 ? complain(&e) : EXIT_DONE;
}

static int prune(const struct options *o)
{
	struct fleet f = {0};
	struct error e;
	uint64_t gone;
	if (o->keep == 0 || o->npaths > 0)
		return usage_error("fleet", "prune takes --keep DAYS, and nothing else");
	int rc = fleet_open(o->db, FLEET_WRITE, &f, &e);
	if (rc == 0)
		rc = keep_days(o, &f, &gone, &e);
	fleet_close(&f);
	if (rc == 0)
		printf("%s pruned\n", fmt_plain(fmt_many((double)gone, "job")).s);
	return rc < 0 ? complain(&e) : EXIT_DONE;
}

static int check(const struct options *o)
{
	struct fleet f = {0};
	struct error e;
	double jobs, pruned;
	int rc = fleet_open(o->db, FLEET_READ, &f, &e);
	if (rc == 0)
		rc = fleet_check(&f, &e);
	if (rc == 0)
		rc = fleet_number(&f, "SELECT count(*) FROM jobs", 0, &jobs, &e);
	if (rc == 0)
		rc = fleet_number(&f, "SELECT jobs FROM let_go", 0, &pruned, &e);
	if (rc == 0)
		printf("%s: whole, %s, %s pruned\n", o->db, fmt_plain(fmt_many(jobs, "job")).s,
		       fmt_plain(fmt_count(pruned)).s);
	fleet_close(&f);
	return rc < 0 ? complain(&e) : EXIT_DONE;
}

/* ---- arguments ---- */

static const struct what {
	const char *name;
	int (*run)(const struct options *o);
} whats[] = {{"ingest", ingest}, {"report", report}, {"monday", monday}, {"forget", forget},
	     {"query", query},	 {"check", check},   {"prune", prune}};

static int parse_number(const char *name, const char *text, long *ret_value)
{
	char *end;
	long n = strtol(text, &end, 10);
	if (*text == '\0' || *end != '\0' || n < 0 || n > 100000)
		return usage_error("fleet", "--%s takes a number from 0 to 100000, not \"%.64s\"", name, text);
	*ret_value = n;
	return -1;
}

static int parse_keep(struct options *o, const char *text)
{
	int code = parse_number("keep", text, &o->keep);
	if (code < 0 && o->keep < (long)RETENTION_DAYS_LEAST)
		return usage_error("fleet", "--keep takes a number of days, %u or more", RETENTION_DAYS_LEAST);
	return code;
}

static int parse_option(struct options *o, int key, const char *value)
{
	if (key == 'd')
		o->db = value;
	else if (key == 'o')
		o->out = value;
	else if (key == 'u')
		o->user = value;
	else if (key == 'l')
		o->url = value;
	else if (key == 'U')
		o->until = value;
	else if (key == 'C')
		o->config = value;
	else if (key == 'r')
		o->remove = true;
	else if (key == 'c')
		o->csv = true;
	else if (key == 'j')
		o->json = true;
	else if (key == 't')
		o->timing = true;
	else if (key == 'T')
		o->topology = value;
	else if (key == 'a')
		o->account = true;
	else if (key == 'p') {
		char *end;
		o->public_least = strtol(value, &end, 10);
		if (*end != '\0' || o->public_least < 2 || o->public_least > 100000)
			o->public_least = -1;
	} else if (key == 'k')
		return parse_keep(o, value);
	else if (key == 'D' || key == 'J')
		return parse_number(key == 'D' ? "days" : "jobs", value, key == 'D' ? &o->days : &o->jobs);
	else
		return usage_error("fleet", "unknown option, or its value is missing");
	return -1;
}

static int fleet(int argc, char **argv)
{
	static const struct option names[] = {{"db", required_argument, NULL, 'd'},
					      {"output", required_argument, NULL, 'o'},
					      {"user", required_argument, NULL, 'u'},
					      {"remove", no_argument, NULL, 'r'},
					      {"csv", no_argument, NULL, 'c'},
					      {"json", no_argument, NULL, 'j'},
					      {"timing", no_argument, NULL, 't'},
					      {"days", required_argument, NULL, 'D'},
					      {"sacct", no_argument, NULL, 'a'},
					      {"url", required_argument, NULL, 'l'},
					      {"until", required_argument, NULL, 'U'},
					      {"jobs", required_argument, NULL, 'J'},
					      {"public", required_argument, NULL, 'p'},
					      {"keep", required_argument, NULL, 'k'},
					      {"config", required_argument, NULL, 'C'},
					      {"topology", required_argument, NULL, 'T'},
					      {NULL, 0, NULL, 0}};
	struct options o = {.days = 31, .jobs = 1000};
	const struct what *what = NULL;
	int c, code = -1;
	for (size_t i = 0; argc > 1 && i < sizeof(whats) / sizeof(whats[0]); i++)
		if (strcmp(argv[1], whats[i].name) == 0)
			what = &whats[i];
	if (argc > 1 && strcmp(argv[1], "serve") == 0)
		return exec_beside(WEB_PROGRAM, "fleet", argv);
	if (what == NULL)
		return usage_error("fleet",
				   "give a command: ingest, report, monday, serve, query, forget, prune or check");
	optind = opterr = 0;
	while (code < 0 && (c = getopt_long(argc - 1, argv + 1, "o:", names, NULL)) != -1)
		code = parse_option(&o, c, optarg);
	if (code >= 0)
		return code;
	if (o.db == NULL && what->run != query)
		return usage_error("fleet", "--db FILE is missing");
	o.paths = argv + 1 + optind;
	o.npaths = argc - 1 - optind;
	return what->run(&o);
}

const struct command cmd_fleet = {"fleet", fleet, FLEET_SUMMARY, FLEET_USAGE};
