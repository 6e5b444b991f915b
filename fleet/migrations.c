/* migrations.c - what a database of version n - 1 needs to become one of version n: a row is never changed once a
 * release has it, a new one is added. */
#include "fleet/migrations.h"

/* Sums by day are kept by triggers: whoever changes jobs, also by hand, changes them. A job counts on the day on which
 * it began. Hours of a sum are core-hours: useful, in MPI without waiting, waiting. */
static const char sums_of[] =
	"CREATE TRIGGER job_added AFTER INSERT ON jobs BEGIN"
	" INSERT INTO days VALUES(new.start/86400, new.program, new.user, new.account, 1, new.core_hours,"
	"  new.core_hours*new.useful, new.core_hours*(1-new.useful-new.wait), new.core_hours*new.wait,"
	"  new.loss_core_hours) ON CONFLICT DO UPDATE SET jobs=jobs+1, core_hours=core_hours+excluded.core_hours,"
	"  useful=useful+excluded.useful, mpi=mpi+excluded.mpi, wait=wait+excluded.wait, loss=loss+excluded.loss;"
	" INSERT INTO causes VALUES(new.start/86400, new.issue, 1, new.loss_core_hours) ON CONFLICT DO UPDATE SET"
	"  jobs=jobs+1, loss=loss+excluded.loss;"
	"END;"
	"CREATE TRIGGER job_removed AFTER DELETE ON jobs BEGIN"
	" UPDATE days SET jobs=jobs-1, core_hours=core_hours-old.core_hours, useful=useful-old.core_hours*old.useful,"
	"  mpi=mpi-old.core_hours*(1-old.useful-old.wait), wait=wait-old.core_hours*old.wait,"
	"  loss=loss-old.loss_core_hours WHERE day=old.start/86400 AND program=old.program AND user=old.user AND"
	"  account=old.account;"
	" UPDATE causes SET jobs=jobs-1, loss=loss-old.loss_core_hours WHERE day=old.start/86400 AND issue=old.issue;"
	" DELETE FROM records WHERE job=old.id; DELETE FROM runs WHERE job=old.id;"
	"END;";

/* Name number 0 is what is not known, so that sums group it like any other. */
static const char tables[] =
	"CREATE TABLE names(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE(kind, name));"
	"INSERT INTO names VALUES(0, 0, '');"
	"CREATE TABLE jobs(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, cluster INTEGER NOT NULL, "
	"job TEXT NOT NULL,"
	" user INTEGER NOT NULL, account INTEGER NOT NULL, partition INTEGER NOT NULL, program INTEGER NOT NULL,"
	" build INTEGER NOT NULL, mpi INTEGER NOT NULL, nodes INTEGER NOT NULL, ranks INTEGER NOT NULL,"
	" start INTEGER NOT NULL, elapsed_s REAL NOT NULL, core_hours REAL NOT NULL, useful REAL NOT NULL,"
	" wait REAL NOT NULL, parallel REAL, load_balance REAL, issue INTEGER NOT NULL, loss_core_hours REAL NOT NULL,"
	" complete INTEGER NOT NULL);"
	"CREATE INDEX jobs_by_start ON jobs(start);"
	"CREATE INDEX jobs_by_loss ON jobs(loss_core_hours);"
	"CREATE INDEX jobs_by_program ON jobs(program, loss_core_hours);"
	"CREATE INDEX jobs_by_user ON jobs(user, loss_core_hours);"
	"CREATE TABLE records(job INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, deflated BLOB NOT NULL);"
	"CREATE TABLE runs(job INTEGER PRIMARY KEY, nodes BLOB NOT NULL);"
	"CREATE TABLE days(day INTEGER NOT NULL, program INTEGER NOT NULL, user INTEGER NOT NULL, account INTEGER NOT "
	"NULL,"
	" jobs INTEGER NOT NULL, core_hours REAL NOT NULL, useful REAL NOT NULL, mpi REAL NOT NULL, wait REAL NOT NULL,"
	" loss REAL NOT NULL, PRIMARY KEY(day, program, user, account)) WITHOUT ROWID;"
	"CREATE TABLE causes(day INTEGER NOT NULL, issue INTEGER NOT NULL, jobs INTEGER NOT NULL, loss REAL NOT NULL,"
	" PRIMARY KEY(day, issue)) WITHOUT ROWID;";

/* What `mpitrace fleet report` finds out; made anew whenever jobs have come. */
static const char results[] =
	"CREATE TABLE estimated(jobs INTEGER NOT NULL, last INTEGER NOT NULL);"
	"CREATE TABLE node_effects(node INTEGER PRIMARY KEY, effect REAL NOT NULL, low REAL NOT NULL, high REAL NOT "
	"NULL,"
	" z REAL NOT NULL, q REAL NOT NULL, jobs INTEGER NOT NULL, suspected INTEGER NOT NULL);"
	"CREATE TABLE node_jobs(node INTEGER NOT NULL, place INTEGER NOT NULL, job INTEGER NOT NULL,"
	" deviation REAL NOT NULL, PRIMARY KEY(node, place)) WITHOUT ROWID;"
	"CREATE TABLE changes(program INTEGER NOT NULL, day INTEGER NOT NULL, before REAL NOT NULL, after REAL NOT "
	"NULL,"
	" change REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, p REAL NOT NULL, jobs_before INTEGER NOT NULL,"
	" jobs_after INTEGER NOT NULL, hours_since REAL NOT NULL, PRIMARY KEY(program, day)) WITHOUT ROWID;"
	"CREATE TABLE day_sums(day INTEGER PRIMARY KEY, jobs INTEGER NOT NULL, core_hours REAL NOT NULL,"
	" useful REAL NOT NULL, mpi REAL NOT NULL, wait REAL NOT NULL, loss REAL NOT NULL);"
	"CREATE TABLE weeks(name INTEGER NOT NULL, week INTEGER NOT NULL, jobs INTEGER NOT NULL,"
	" core_hours REAL NOT NULL, useful REAL NOT NULL, mpi REAL NOT NULL, wait REAL NOT NULL, loss REAL NOT NULL,"
	" PRIMARY KEY(name, week)) WITHOUT ROWID;"
	"CREATE TABLE user_programs(user INTEGER NOT NULL, program INTEGER NOT NULL, jobs INTEGER NOT NULL,"
	" core_hours REAL NOT NULL, useful REAL NOT NULL, mpi REAL NOT NULL, wait REAL NOT NULL, loss REAL NOT NULL,"
	" PRIMARY KEY(user, program)) WITHOUT ROWID;"
	"CREATE INDEX user_programs_by_program ON user_programs(program);"
	"CREATE TABLE program_ranks(program INTEGER NOT NULL, ranks INTEGER NOT NULL, jobs INTEGER NOT NULL,"
	" core_hours REAL NOT NULL, parallel REAL, PRIMARY KEY(program, ranks)) WITHOUT ROWID;"
	"CREATE TABLE program_versions(program INTEGER NOT NULL, build INTEGER NOT NULL, mpi INTEGER NOT NULL,"
	" first INTEGER NOT NULL, last INTEGER NOT NULL, jobs INTEGER NOT NULL, core_hours REAL NOT NULL, parallel "
	"REAL,"
	" PRIMARY KEY(program, build, mpi)) WITHOUT ROWID;";

static const char views[] =
	"CREATE VIEW job_list AS SELECT j.id, j.key, c.name AS cluster, j.job, u.name AS user, a.name AS account,"
	" t.name AS partition, p.name AS program, b.name AS build_id, m.name AS mpi, j.nodes, j.ranks,"
	" datetime(j.start, 'unixepoch') AS start, j.elapsed_s, j.core_hours, j.useful, j.wait, j.parallel,"
	" j.load_balance, i.name AS issue, j.loss_core_hours, j.complete FROM jobs j JOIN names c ON c.id=j.cluster"
	" JOIN names u ON u.id=j.user JOIN names a ON a.id=j.account JOIN names t ON t.id=j.partition"
	" JOIN names p ON p.id=j.program JOIN names b ON b.id=j.build JOIN names m ON m.id=j.mpi"
	" JOIN names i ON i.id=j.issue;"
	"CREATE VIEW node_list AS SELECT n.name AS node, e.effect, e.low, e.high, e.z, e.q, e.jobs, e.suspected"
	" FROM node_effects e JOIN names n ON n.id=e.node;"
	"CREATE VIEW change_list AS SELECT p.name AS program, date(c.day*86400, 'unixepoch') AS day, c.before, c.after,"
	" c.change, c.low, c.high, c.p, c.jobs_before, c.jobs_after, c.hours_since FROM changes c"
	" JOIN names p ON p.id=c.program;";

/* What a slow node may have cost; all is estimated anew. */
static const char node_costs[] =
	"ALTER TABLE node_effects ADD COLUMN lost REAL NOT NULL DEFAULT 0; DELETE FROM estimated;"
	"DROP VIEW node_list; CREATE VIEW node_list AS SELECT n.name AS node, e.effect, e.low, e.high, e.z, e.q, "
	"e.jobs,"
	" e.suspected, e.lost AS lost_at_most FROM node_effects e JOIN names n ON n.id=e.node;";

/* How jobs ended, and what passed when nobody advanced; of jobs from before, neither is known. */
static const char outcomes[] =
	"ALTER TABLE jobs ADD COLUMN hung_core_hours REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN outcome TEXT NOT NULL DEFAULT 'UNKNOWN';"
	"CREATE TABLE outcomes(day INTEGER NOT NULL, outcome TEXT NOT NULL, jobs INTEGER NOT NULL,"
	" core_hours REAL NOT NULL, hung REAL NOT NULL, PRIMARY KEY(day, outcome)) WITHOUT ROWID;"
	"INSERT INTO outcomes SELECT start/86400, outcome, count(*), total(core_hours), 0 FROM jobs GROUP BY 1, 2;"
	"CREATE TRIGGER outcome_added AFTER INSERT ON jobs BEGIN"
	" INSERT INTO outcomes VALUES(new.start/86400, new.outcome, 1, new.core_hours, new.hung_core_hours)"
	"  ON CONFLICT DO UPDATE SET jobs=jobs+1, core_hours=core_hours+excluded.core_hours, hung=hung+excluded.hung;"
	"END;"
	"CREATE TRIGGER outcome_removed AFTER DELETE ON jobs BEGIN"
	" UPDATE outcomes SET jobs=jobs-1, core_hours=core_hours-old.core_hours, hung=hung-old.hung_core_hours"
	"  WHERE day=old.start/86400 AND outcome=old.outcome;"
	"END;"
	"DROP VIEW job_list; CREATE VIEW job_list AS SELECT j.id, j.key, c.name AS cluster, j.job, u.name AS user,"
	" a.name AS account, t.name AS partition, p.name AS program, b.name AS build_id, m.name AS mpi, j.nodes, "
	"j.ranks,"
	" datetime(j.start, 'unixepoch') AS start, j.elapsed_s, j.core_hours, j.useful, j.wait, j.parallel,"
	" j.load_balance, i.name AS issue, j.loss_core_hours, j.complete, j.hung_core_hours, j.outcome FROM jobs j"
	" JOIN names c ON c.id=j.cluster JOIN names u ON u.id=j.user JOIN names a ON a.id=j.account"
	" JOIN names t ON t.id=j.partition JOIN names p ON p.id=j.program JOIN names b ON b.id=j.build"
	" JOIN names m ON m.id=j.mpi JOIN names i ON i.id=j.issue;";

/* Records whose times cannot be: counted, and in no sum. */
static const char doubtful[] =
	"CREATE TABLE set_aside(key TEXT PRIMARY KEY, start TEXT NOT NULL, why TEXT NOT NULL) WITHOUT ROWID;";

/* What Slurm's account knows of a job (fleet/fields.h), and processors on which no rank ran: they are in core_hours,
 * and neither useful nor in MPI. */
static const char account[] =
	"DROP VIEW job_list; DROP TRIGGER job_added; DROP TRIGGER job_removed; DROP TRIGGER outcome_added;"
	"DROP TRIGGER outcome_removed; ALTER TABLE jobs RENAME COLUMN outcome TO state;"
	"ALTER TABLE jobs ADD COLUMN idle_core_hours REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE jobs ADD COLUMN name TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE jobs ADD COLUMN qos TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE jobs ADD COLUMN array_job_id TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE jobs ADD COLUMN array_task_id INTEGER;"
	"ALTER TABLE jobs ADD COLUMN het_job_id TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE jobs ADD COLUMN het_offset INTEGER;"
	"ALTER TABLE jobs ADD COLUMN submit INTEGER; ALTER TABLE jobs ADD COLUMN \"end\" INTEGER;"
	"ALTER TABLE jobs ADD COLUMN exit_code INTEGER; ALTER TABLE jobs ADD COLUMN signal INTEGER;"
	"ALTER TABLE jobs ADD COLUMN tasks INTEGER; ALTER TABLE jobs ADD COLUMN alloc_cpus INTEGER;"
	"ALTER TABLE jobs ADD COLUMN gpus INTEGER; ALTER TABLE jobs ADD COLUMN req_mem_bytes INTEGER;"
	"ALTER TABLE jobs ADD COLUMN max_rss_bytes INTEGER; ALTER TABLE jobs ADD COLUMN energy_j REAL;"
	"CREATE VIEW job_list AS SELECT j.id, j.key, c.name AS cluster, j.job, u.name AS user,"
	" a.name AS account, t.name AS partition, p.name AS program, b.name AS build_id, m.name AS mpi, j.nodes,"
	" j.ranks, datetime(j.start, 'unixepoch') AS start, j.elapsed_s, j.core_hours, j.useful, j.wait, j.parallel,"
	" j.load_balance, i.name AS issue, j.loss_core_hours, j.complete, j.hung_core_hours, j.state,"
	" j.idle_core_hours, j.name, j.qos, j.array_job_id, j.array_task_id, j.het_job_id, j.het_offset,"
	" datetime(j.submit, 'unixepoch') AS submit, datetime(j.\"end\", 'unixepoch') AS \"end\", j.exit_code,"
	" j.signal, j.tasks, j.alloc_cpus, j.gpus, j.req_mem_bytes, j.max_rss_bytes, j.energy_j FROM jobs j"
	" JOIN names c ON c.id=j.cluster JOIN names u ON u.id=j.user JOIN names a ON a.id=j.account"
	" JOIN names t ON t.id=j.partition JOIN names p ON p.id=j.program JOIN names b ON b.id=j.build"
	" JOIN names m ON m.id=j.mpi JOIN names i ON i.id=j.issue;";

static const char sums_with_idle[] =
	"CREATE TRIGGER job_added AFTER INSERT ON jobs BEGIN"
	" INSERT INTO days VALUES(new.start/86400, new.program, new.user, new.account, 1, new.core_hours,"
	"  new.core_hours*new.useful, new.core_hours*(1-new.useful-new.wait)-new.idle_core_hours,"
	"  new.core_hours*new.wait, new.loss_core_hours) ON CONFLICT DO UPDATE SET jobs=jobs+1,"
	"  core_hours=core_hours+excluded.core_hours, useful=useful+excluded.useful, mpi=mpi+excluded.mpi,"
	"  wait=wait+excluded.wait, loss=loss+excluded.loss;"
	" INSERT INTO causes VALUES(new.start/86400, new.issue, 1, new.loss_core_hours) ON CONFLICT DO UPDATE SET"
	"  jobs=jobs+1, loss=loss+excluded.loss;"
	" INSERT INTO outcomes VALUES(new.start/86400, new.state, 1, new.core_hours, new.hung_core_hours)"
	"  ON CONFLICT DO UPDATE SET jobs=jobs+1, core_hours=core_hours+excluded.core_hours, hung=hung+excluded.hung;"
	"END;"
	"CREATE TRIGGER job_removed AFTER DELETE ON jobs BEGIN"
	" UPDATE days SET jobs=jobs-1, core_hours=core_hours-old.core_hours, useful=useful-old.core_hours*old.useful,"
	"  mpi=mpi-old.core_hours*(1-old.useful-old.wait)+old.idle_core_hours, wait=wait-old.core_hours*old.wait,"
	"  loss=loss-old.loss_core_hours WHERE day=old.start/86400 AND program=old.program AND user=old.user AND"
	"  account=old.account;"
	" UPDATE causes SET jobs=jobs-1, loss=loss-old.loss_core_hours WHERE day=old.start/86400 AND issue=old.issue;"
	" UPDATE outcomes SET jobs=jobs-1, core_hours=core_hours-old.core_hours, hung=hung-old.hung_core_hours"
	"  WHERE day=old.start/86400 AND outcome=old.state;"
	" DELETE FROM records WHERE job=old.id; DELETE FROM runs WHERE job=old.id;"
	"END;";

/* Since when a node is as it is, users that changed, and how sure that day is; all is estimated anew. */
static const char since_when[] =
	"DELETE FROM estimated;"
	"ALTER TABLE node_effects ADD COLUMN since INTEGER;"
	"ALTER TABLE node_effects ADD COLUMN since_low INTEGER; ALTER TABLE node_effects ADD COLUMN since_high INTEGER;"
	"ALTER TABLE node_effects ADD COLUMN before REAL; ALTER TABLE node_effects ADD COLUMN change_p REAL;"
	"ALTER TABLE changes ADD COLUMN day_low INTEGER; ALTER TABLE changes ADD COLUMN day_high INTEGER;"
	"DROP VIEW node_list; CREATE VIEW node_list AS SELECT n.name AS node, e.effect, e.low, e.high, e.z, e.q,"
	" e.jobs, e.suspected, e.lost AS lost_at_most, datetime(e.since, 'unixepoch') AS since,"
	" datetime(e.since_low, 'unixepoch') AS since_low, datetime(e.since_high, 'unixepoch') AS since_high, e.before,"
	" e.change_p FROM node_effects e JOIN names n ON n.id=e.node;"
	"DROP VIEW change_list; CREATE VIEW change_list AS SELECT CASE p.kind WHEN 1 THEN '' ELSE p.name END AS"
	" program, CASE p.kind WHEN 1 THEN p.name ELSE '' END AS user, date(c.day*86400, 'unixepoch') AS day, "
	"c.before, c.after, c.change, c.low, c.high, c.p,"
	" c.jobs_before, c.jobs_after, c.hours_since, date(c.day_low*86400, 'unixepoch') AS day_low,"
	" date(c.day_high*86400, 'unixepoch') AS day_high FROM changes c JOIN names p ON p.id=c.program;";

/* What Monday's page said, so that the next one can say what has become of it; what slow nodes cost in a week. */
static const char mondays[] =
	"CREATE TABLE mondays(until INTEGER NOT NULL, place INTEGER NOT NULL, key TEXT NOT NULL, core_hours REAL NOT "
	"NULL,"
	" sentence TEXT NOT NULL, PRIMARY KEY(until, place)) WITHOUT ROWID;"
	"ALTER TABLE node_effects ADD COLUMN lost_week REAL NOT NULL DEFAULT 0; DELETE FROM estimated;";

/* What a suspected node cost day by day, so that it can be said of any week. */
static const char node_days[] =
	"CREATE TABLE node_days(node INTEGER NOT NULL, day INTEGER NOT NULL, lost REAL NOT NULL, PRIMARY KEY(node, "
	"day))"
	" WITHOUT ROWID; ALTER TABLE node_effects DROP COLUMN lost_week; DELETE FROM estimated;";

/* For pages of an account. */
static const char by_account[] = "CREATE INDEX jobs_by_account ON jobs(account, loss_core_hours);"
				 "CREATE INDEX days_by_account ON days(account);";

/* Jobs that began before let_go.day are gone, and their sums stay: of days, causes and outcomes, and what these do not
 * have but a user's forgetting and a program's page need. let_go has how many they were, less what was forgotten. */
static const char retention[] =
	"CREATE TABLE let_go(day INTEGER NOT NULL, jobs INTEGER NOT NULL, core_hours REAL NOT NULL);"
	"INSERT INTO let_go VALUES(0, 0, 0);"
	"CREATE TABLE past_causes(user INTEGER NOT NULL, day INTEGER NOT NULL, issue INTEGER NOT NULL,"
	" jobs INTEGER NOT NULL, loss REAL NOT NULL, PRIMARY KEY(user, day, issue)) WITHOUT ROWID;"
	"CREATE TABLE past_outcomes(user INTEGER NOT NULL, day INTEGER NOT NULL, outcome TEXT NOT NULL,"
	" jobs INTEGER NOT NULL, core_hours REAL NOT NULL, hung REAL NOT NULL,"
	" PRIMARY KEY(user, day, outcome)) WITHOUT ROWID;"
	"CREATE TABLE past_versions(user INTEGER NOT NULL, program INTEGER NOT NULL, build INTEGER NOT NULL,"
	" mpi INTEGER NOT NULL, size INTEGER NOT NULL, jobs INTEGER NOT NULL, core_hours REAL NOT NULL,"
	" judged REAL NOT NULL, parallel REAL NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,"
	" PRIMARY KEY(user, program, build, mpi, size)) WITHOUT ROWID;";

static const char sums_that_stay[] =
	"DROP TRIGGER job_removed; CREATE TRIGGER job_removed AFTER DELETE ON jobs BEGIN"
	" UPDATE days SET jobs=jobs-1, core_hours=core_hours-old.core_hours, useful=useful-old.core_hours*old.useful,"
	"  mpi=mpi-old.core_hours*(1-old.useful-old.wait)+old.idle_core_hours, wait=wait-old.core_hours*old.wait,"
	"  loss=loss-old.loss_core_hours WHERE day=old.start/86400 AND program=old.program AND user=old.user AND"
	"  account=old.account AND day>=(SELECT l.day FROM let_go l);"
	" UPDATE causes SET jobs=jobs-1, loss=loss-old.loss_core_hours WHERE day=old.start/86400 AND issue=old.issue"
	"  AND day>=(SELECT l.day FROM let_go l);"
	" UPDATE outcomes SET jobs=jobs-1, core_hours=core_hours-old.core_hours, hung=hung-old.hung_core_hours"
	"  WHERE day=old.start/86400 AND outcome=old.state AND day>=(SELECT l.day FROM let_go l);"
	" DELETE FROM records WHERE job=old.id; DELETE FROM runs WHERE job=old.id;"
	"END;";

/* What can be said of the last week, in the order of monday.sql, found out with all else: `monday` is the end of it. */
static const char matters[] =
	"ALTER TABLE estimated ADD COLUMN monday INTEGER NOT NULL DEFAULT 0; DELETE FROM estimated;"
	"CREATE TABLE matters(place INTEGER NOT NULL, least REAL NOT NULL, key TEXT NOT NULL, recipient TEXT NOT NULL,"
	" hours REAL NOT NULL, item TEXT NOT NULL, letter TEXT NOT NULL, link TEXT NOT NULL, covers TEXT NOT NULL,"
	" mostly TEXT NOT NULL);";
/* Steps that hang, until their records come. */
static const char alerts[] =
	"CREATE TABLE alerts(claim TEXT PRIMARY KEY, id TEXT NOT NULL, user TEXT NOT NULL, cluster TEXT NOT NULL,"
	" partition TEXT NOT NULL, since INTEGER NOT NULL, time INTEGER NOT NULL, alert TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TRIGGER alert_over AFTER INSERT ON jobs BEGIN"
	" DELETE FROM alerts WHERE (claim=new.key OR id=new.key) AND user=(SELECT name FROM names WHERE id=new.user);"
	"END;";

/* What a record has beside the columns of job_list (fleet/details.h); of jobs from before nobody knows it. */
static const char details[] =
	"CREATE TABLE details(job INTEGER PRIMARY KEY, implementation TEXT, version TEXT, transports TEXT, modules "
	"TEXT,"
	" io_read_bytes INTEGER, io_written_bytes INTEGER, io_s REAL);"
	"CREATE TRIGGER details_removed AFTER DELETE ON jobs BEGIN DELETE FROM details WHERE job=old.id; END;"
	"CREATE VIEW job_details AS SELECT j.id, j.key, d.implementation AS mpi_implementation, d.version AS "
	"mpi_version,"
	" d.transports, d.modules, d.io_read_bytes, d.io_written_bytes, d.io_s FROM jobs j LEFT JOIN details d ON "
	"d.job=j.id;";

/* Which switch a node is on, and whose jobs wait because of it or of others there (fleet/links.h). */
static const char links[] =
	"CREATE TABLE switches(node INTEGER PRIMARY KEY, switch TEXT NOT NULL);"
	"CREATE TABLE links(place INTEGER PRIMARY KEY, switch TEXT NOT NULL, program INTEGER NOT NULL, user INTEGER "
	"NOT NULL,"
	" other INTEGER NOT NULL, jobs INTEGER NOT NULL, jobs_without INTEGER NOT NULL, blocks INTEGER NOT NULL,"
	" days INTEGER NOT NULL, effect REAL NOT NULL, z REAL NOT NULL, q REAL NOT NULL);"
	"CREATE TABLE link_days(place INTEGER NOT NULL, day INTEGER NOT NULL, hours REAL NOT NULL, PRIMARY KEY(place, "
	"day))"
	" WITHOUT ROWID; DELETE FROM estimated;"
	"CREATE VIEW link_list AS SELECT l.switch, p.name AS program, u.name AS user, o.name AS beside, l.effect, l.q,"
	" l.jobs, l.jobs_without, l.blocks, l.days, (SELECT total(hours) FROM link_days d WHERE d.place=l.place)"
	" AS core_hours_at_most FROM links l JOIN names p ON p.id=l.program JOIN names u ON u.id=l.user"
	" JOIN names o ON o.id=l.other ORDER BY l.place;";

/* Of all days, for pages of an account: these are too many to be added up for each of them. */
static const char account_sums[] =
	"CREATE TABLE account_sums(account INTEGER NOT NULL, user INTEGER NOT NULL, program INTEGER NOT NULL,"
	" jobs INTEGER NOT NULL, core_hours REAL NOT NULL, useful REAL NOT NULL, mpi REAL NOT NULL, wait REAL NOT NULL,"
	" loss REAL NOT NULL, PRIMARY KEY(account, user, program)) WITHOUT ROWID;"
	"DROP INDEX days_by_account; DELETE FROM estimated;";

/* What judging needs of a day (fleet/samples.h), and what it adds to versions and sizes of programs: until a job of it
 * comes or goes. */
static const char samples[] =
	"CREATE TABLE samples(day INTEGER PRIMARY KEY, jobs INTEGER NOT NULL, taken INTEGER NOT NULL, packed BLOB NOT "
	"NULL);"
	"CREATE TABLE version_days(day INTEGER NOT NULL, program INTEGER NOT NULL, build INTEGER NOT NULL,"
	" mpi INTEGER NOT NULL, size INTEGER NOT NULL, jobs INTEGER NOT NULL, core_hours REAL NOT NULL,"
	" judged REAL NOT NULL, parallel REAL NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,"
	" PRIMARY KEY(day, program, build, mpi, size)) WITHOUT ROWID;"
	"CREATE TRIGGER sample_added AFTER INSERT ON jobs BEGIN DELETE FROM samples WHERE day=new.start/86400; END;"
	"CREATE TRIGGER sample_removed AFTER DELETE ON jobs BEGIN DELETE FROM samples WHERE day=old.start/86400; END;"
	"DELETE FROM estimated;";

/* Of some jobs it is not known how much was useful: they are in no sum but that of core-hours, and of what hung. */
static const char not_known[] =
	"DROP VIEW job_list; DROP VIEW job_details; DROP TRIGGER job_added; DROP TRIGGER job_removed;"
	"ALTER TABLE jobs ADD COLUMN useful_share REAL; UPDATE jobs SET useful_share=useful;"
	"ALTER TABLE jobs DROP COLUMN useful; ALTER TABLE jobs RENAME COLUMN useful_share TO useful;"
	"CREATE VIEW job_details AS SELECT j.id, j.key, d.implementation AS mpi_implementation, d.version AS "
	"mpi_version,"
	" d.transports, d.modules, d.io_read_bytes, d.io_written_bytes, d.io_s FROM jobs j LEFT JOIN details d ON "
	"d.job=j.id;"
	"CREATE VIEW job_list AS SELECT j.id, j.key, c.name AS cluster, j.job, u.name AS user,"
	" a.name AS account, t.name AS partition, p.name AS program, b.name AS build_id, m.name AS mpi, j.nodes,"
	" j.ranks, datetime(j.start, 'unixepoch') AS start, j.elapsed_s, j.core_hours, j.useful, j.wait, j.parallel,"
	" j.load_balance, i.name AS issue, j.loss_core_hours, j.complete, j.hung_core_hours, j.state,"
	" j.idle_core_hours, j.name, j.qos, j.array_job_id, j.array_task_id, j.het_job_id, j.het_offset,"
	" datetime(j.submit, 'unixepoch') AS submit, datetime(j.\"end\", 'unixepoch') AS \"end\", j.exit_code,"
	" j.signal, j.tasks, j.alloc_cpus, j.gpus, j.req_mem_bytes, j.max_rss_bytes, j.energy_j FROM jobs j"
	" JOIN names c ON c.id=j.cluster JOIN names u ON u.id=j.user JOIN names a ON a.id=j.account"
	" JOIN names t ON t.id=j.partition JOIN names p ON p.id=j.program JOIN names b ON b.id=j.build"
	" JOIN names m ON m.id=j.mpi JOIN names i ON i.id=j.issue;"
	"CREATE INDEX jobs_not_known ON jobs(core_hours, wait, idle_core_hours) WHERE useful IS NULL; DELETE FROM "
	"estimated;";

static const char sums_of_known[] =
	"CREATE TRIGGER job_added AFTER INSERT ON jobs BEGIN"
	" INSERT INTO days VALUES(new.start/86400, new.program, new.user, new.account, 1, new.core_hours,"
	"  ifnull(new.core_hours*new.useful, 0),"
	"  ifnull(new.core_hours*(1-new.useful-new.wait)-new.idle_core_hours, 0),"
	"  new.core_hours*new.wait, new.loss_core_hours) ON CONFLICT DO UPDATE SET jobs=jobs+1,"
	"  core_hours=core_hours+excluded.core_hours, useful=useful+excluded.useful, mpi=mpi+excluded.mpi,"
	"  wait=wait+excluded.wait, loss=loss+excluded.loss;"
	" INSERT INTO causes VALUES(new.start/86400, new.issue, 1, new.loss_core_hours) ON CONFLICT DO UPDATE "
	"SET"
	"  jobs=jobs+1, loss=loss+excluded.loss;"
	" INSERT INTO outcomes VALUES(new.start/86400, new.state, 1, new.core_hours, new.hung_core_hours)"
	"  ON CONFLICT DO UPDATE SET jobs=jobs+1, core_hours=core_hours+excluded.core_hours, "
	"hung=hung+excluded.hung;"
	"END;"
	"CREATE TRIGGER job_removed AFTER DELETE ON jobs BEGIN"
	" UPDATE days SET jobs=jobs-1, core_hours=core_hours-old.core_hours,"
	"  useful=useful-ifnull(old.core_hours*old.useful, 0),"
	"  mpi=mpi-ifnull(old.core_hours*(1-old.useful-old.wait)-old.idle_core_hours, 0),"
	"  wait=wait-old.core_hours*old.wait,"
	"  loss=loss-old.loss_core_hours WHERE day=old.start/86400 AND program=old.program AND user=old.user "
	"AND"
	"  account=old.account AND day>=(SELECT l.day FROM let_go l);"
	" UPDATE causes SET jobs=jobs-1, loss=loss-old.loss_core_hours WHERE day=old.start/86400 AND "
	"issue=old.issue"
	"  AND day>=(SELECT l.day FROM let_go l);"
	" UPDATE outcomes SET jobs=jobs-1, core_hours=core_hours-old.core_hours, hung=hung-old.hung_core_hours"
	"  WHERE day=old.start/86400 AND outcome=old.state AND day>=(SELECT l.day FROM let_go l);"
	" DELETE FROM records WHERE job=old.id; DELETE FROM runs WHERE job=old.id;"
	"END;";

/* Core-hours of which it is not known how they were spent: those of jobs whose useful time is not known, less what
 * hung, which was waiting. Shares are of all others. Of jobs that were let go before, nobody knows how many they
 * were. */
static const char hours_not_known[] =
	"ALTER TABLE days ADD COLUMN not_known REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE day_sums ADD COLUMN not_known REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE weeks ADD COLUMN not_known REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE user_programs ADD COLUMN not_known REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE account_sums ADD COLUMN not_known REAL NOT NULL DEFAULT 0;"
	"UPDATE days SET not_known=j.hours FROM (SELECT start/86400 AS day, program, user, account,"
	"  total(core_hours*(1-wait)) AS hours FROM jobs WHERE useful IS NULL GROUP BY 1, 2, 3, 4) j"
	"  WHERE j.day=days.day AND j.program=days.program AND j.user=days.user AND j.account=days.account;"
	"DELETE FROM estimated;";

static const char sums_with_not_known[] =
	"DROP TRIGGER job_added; CREATE TRIGGER job_added AFTER INSERT ON jobs BEGIN"
	" INSERT INTO days VALUES(new.start/86400, new.program, new.user, new.account, 1, new.core_hours,"
	"  ifnull(new.core_hours*new.useful, 0),"
	"  ifnull(new.core_hours*(1-new.useful-new.wait)-new.idle_core_hours, 0),"
	"  new.core_hours*new.wait, new.loss_core_hours,"
	"  CASE WHEN new.useful IS NULL THEN new.core_hours*(1-new.wait) ELSE 0 END) ON CONFLICT DO UPDATE SET"
	"  jobs=jobs+1, core_hours=core_hours+excluded.core_hours, useful=useful+excluded.useful,"
	"  mpi=mpi+excluded.mpi, wait=wait+excluded.wait, loss=loss+excluded.loss,"
	"  not_known=not_known+excluded.not_known;"
	" INSERT INTO causes VALUES(new.start/86400, new.issue, 1, new.loss_core_hours) ON CONFLICT DO UPDATE SET"
	"  jobs=jobs+1, loss=loss+excluded.loss;"
	" INSERT INTO outcomes VALUES(new.start/86400, new.state, 1, new.core_hours, new.hung_core_hours)"
	"  ON CONFLICT DO UPDATE SET jobs=jobs+1, core_hours=core_hours+excluded.core_hours, hung=hung+excluded.hung;"
	"END;"
	"DROP TRIGGER job_removed; CREATE TRIGGER job_removed AFTER DELETE ON jobs BEGIN"
	" UPDATE days SET jobs=jobs-1, core_hours=core_hours-old.core_hours,"
	"  useful=useful-ifnull(old.core_hours*old.useful, 0),"
	"  mpi=mpi-ifnull(old.core_hours*(1-old.useful-old.wait)-old.idle_core_hours, 0),"
	"  wait=wait-old.core_hours*old.wait, loss=loss-old.loss_core_hours,"
	"  not_known=not_known-CASE WHEN old.useful IS NULL THEN old.core_hours*(1-old.wait) ELSE 0 END"
	"  WHERE day=old.start/86400 AND program=old.program AND user=old.user AND account=old.account"
	"  AND day>=(SELECT l.day FROM let_go l);"
	" UPDATE causes SET jobs=jobs-1, loss=loss-old.loss_core_hours WHERE day=old.start/86400 AND issue=old.issue"
	"  AND day>=(SELECT l.day FROM let_go l);"
	" UPDATE outcomes SET jobs=jobs-1, core_hours=core_hours-old.core_hours, hung=hung-old.hung_core_hours"
	"  WHERE day=old.start/86400 AND outcome=old.state AND day>=(SELECT l.day FROM let_go l);"
	" DELETE FROM records WHERE job=old.id; DELETE FROM runs WHERE job=old.id;"
	"END;";

/* What came with a change (fleet/came_with.h). */
static const char changes_with[] =
	"CREATE TABLE change_with(program INTEGER NOT NULL, day INTEGER NOT NULL, kind TEXT NOT NULL, came TEXT NOT "
	"NULL,"
	" went TEXT NOT NULL, text TEXT NOT NULL);"
	"CREATE INDEX change_with_by_change ON change_with(program, day);"
	"DROP VIEW change_list; CREATE VIEW change_list AS SELECT CASE p.kind WHEN 1 THEN '' ELSE p.name END AS"
	" program, CASE p.kind WHEN 1 THEN p.name ELSE '' END AS user, date(c.day*86400, 'unixepoch') AS day,"
	" c.before, c.after, c.change, c.low, c.high, c.p, c.jobs_before, c.jobs_after, c.hours_since,"
	" date(c.day_low*86400, 'unixepoch') AS day_low, date(c.day_high*86400, 'unixepoch') AS day_high,"
	" (SELECT group_concat(w.text, ', ') FROM change_with w WHERE w.program=c.program AND w.day=c.day) AS came_with"
	" FROM changes c JOIN names p ON p.id=c.program; DELETE FROM estimated;";

/* Since when a switch is slow, or a program waits beside another one. */
static const char links_since[] =
	"ALTER TABLE links ADD COLUMN since INTEGER; ALTER TABLE links ADD COLUMN since_low INTEGER;"
	"ALTER TABLE links ADD COLUMN since_high INTEGER; ALTER TABLE links ADD COLUMN before REAL;"
	"ALTER TABLE links ADD COLUMN change_p REAL;"
	"CREATE TABLE link_jobs(place INTEGER NOT NULL, at INTEGER NOT NULL, job INTEGER NOT NULL, other INTEGER NOT "
	"NULL,"
	" PRIMARY KEY(place, at)) WITHOUT ROWID;"
	"DROP VIEW link_list; CREATE VIEW link_list AS SELECT l.switch, p.name AS program, u.name AS user, o.name AS"
	" beside, l.effect, l.q, l.jobs, l.jobs_without, l.blocks, l.days, (SELECT total(hours) FROM link_days d WHERE"
	" d.place=l.place) AS core_hours_at_most, datetime(l.since, 'unixepoch') AS since,"
	" datetime(l.since_low, 'unixepoch') AS since_low, datetime(l.since_high, 'unixepoch') AS since_high, l.before,"
	" l.change_p FROM links l JOIN names p ON p.id=l.program JOIN names u ON u.id=l.user"
	" JOIN names o ON o.id=l.other ORDER BY l.place; DELETE FROM estimated;";

/* Of a node that is slow for some programs only, for how many, and for how many not; all is estimated anew. */
static const char node_programs[] =
	"ALTER TABLE node_effects ADD COLUMN programs INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE node_effects ADD COLUMN others INTEGER NOT NULL DEFAULT 0; DELETE FROM estimated;"
	"DROP VIEW node_list; CREATE VIEW node_list AS SELECT n.name AS node, e.effect, e.low, e.high, e.z, e.q,"
	" e.jobs, e.suspected, e.lost AS lost_at_most, datetime(e.since, 'unixepoch') AS since,"
	" datetime(e.since_low, 'unixepoch') AS since_low, datetime(e.since_high, 'unixepoch') AS since_high, e.before,"
	" e.change_p, e.programs AS slow_for_programs, e.others AS not_for_programs"
	" FROM node_effects e JOIN names n ON n.id=e.node;";

/* What anybody was shown of a week (fleet/page_public.c), of at least so many users each; code: a program, or '' for
 * others. No job or user can be told from it, also when theirs go. */
static const char public_weeks[] =
	"CREATE TABLE public_weeks(week INTEGER NOT NULL, code TEXT NOT NULL, least INTEGER NOT NULL, jobs REAL NOT "
	"NULL,"
	" core_hours REAL NOT NULL, useful REAL NOT NULL, mpi REAL NOT NULL, wait REAL NOT NULL, loss REAL NOT NULL,"
	" not_known REAL NOT NULL, PRIMARY KEY(week, code)) WITHOUT ROWID;";

const struct fleet_migration fleet_migrations[] = {
	{{tables, sums_of, results, views}},
	{{node_costs}},
	{{outcomes}},
	{{doubtful}},
	{{account, sums_with_idle}},
	{{since_when}},
	{{mondays}},
	{{node_days}},
	{{by_account}},
	{{retention, sums_that_stay}},
	{{matters}},
	{{alerts}},
	{{details}},
	{{links}},
	{{account_sums}},
	{{samples}},
	{{not_known, sums_of_known}},
	{{hours_not_known, sums_with_not_known}},
	{{changes_with}},
	{{links_since}},
	{{node_programs}},
	{{public_weeks}},
};

const int fleet_version = (int)(sizeof(fleet_migrations) / sizeof(fleet_migrations[0]));
