-- fleet.sql - all jobs of a fleet in PostgreSQL 12 or newer, a table of each month. `mpitrace publish` makes this where a destination
-- of mpitrace.conf has type = postgresql, and brings what is older to it; or who may do so by hand, as the role that publishes:
--
--     psql -f contrib/postgresql/fleet.sql
--
-- Whose jobs were in a database of `mpitrace fleet` before brings them along, once however often it is done:
--
--     mpitrace fleet query --db fleet.db --csv 'select * from job_list' > jobs.csv
--     psql -c "\copy mpitrace.incoming from 'jobs.csv' csv header" -c 'call mpitrace.take()'
--
-- job_list has the columns of job_list of `mpitrace fleet query`, in the same order. days are sums by day, kept by triggers, which stay
-- when a month is dropped; sums are the same by month, so that a question about ten years reads few rows.

SET client_min_messages = warning;
DO $$ BEGIN
	PERFORM pg_advisory_xact_lock(2027, 1);
END $$;

CREATE SCHEMA IF NOT EXISTS mpitrace;

-- A table that is not partitioned is one of before; what is in it comes along at the end.
DO $$ BEGIN
	IF EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('mpitrace.jobs') AND relkind = 'r') THEN
		DROP VIEW IF EXISTS mpitrace.days;
		DROP PROCEDURE IF EXISTS mpitrace.take();
		DROP TABLE IF EXISTS mpitrace.incoming;
		ALTER TABLE mpitrace.jobs RENAME TO jobs_before;
	END IF;
END $$;

-- kept_from: jobs that began before it were dropped, and are in days. late: records of that time that came since, which are in no sum,
-- since nobody can tell whether they were before.
CREATE TABLE IF NOT EXISTS mpitrace.about (version integer NOT NULL, kept_from timestamp NOT NULL, late bigint NOT NULL);
INSERT INTO mpitrace.about SELECT 1, '-infinity', 0 WHERE NOT EXISTS (SELECT FROM mpitrace.about);
-- rolled_until: days before it are in months, too.
ALTER TABLE mpitrace.about ADD COLUMN IF NOT EXISTS rolled_until date NOT NULL DEFAULT '-infinity';

CREATE SEQUENCE IF NOT EXISTS mpitrace.job_ids;

CREATE TABLE IF NOT EXISTS mpitrace.jobs (
	id bigint NOT NULL DEFAULT nextval('mpitrace.job_ids'),
	key text NOT NULL,                -- cluster, job, step, restart
	cluster text, job text, "user" text NOT NULL, account text, partition text,
	program text, build_id text, mpi text,
	nodes integer NOT NULL, ranks integer NOT NULL,
	start timestamp NOT NULL,         -- UTC
	elapsed_s double precision NOT NULL,
	core_hours double precision NOT NULL,
	useful double precision,          -- shares of core_hours; null where it is not known, then wait is what hung
	wait double precision NOT NULL,
	parallel double precision,        -- efficiencies, null where they are not known
	load_balance double precision,
	issue text, loss_core_hours double precision NOT NULL,
	complete integer NOT NULL,        -- 1: no rank and no event is missing
	hung_core_hours double precision NOT NULL, -- of core_hours: no rank advanced any more
	state text NOT NULL,              -- how it ended: COMPLETED, FAILED, TIMEOUT ...; UNKNOWN
	idle_core_hours double precision NOT NULL, -- of core_hours: of processors on which no rank ran
	name text, qos text, array_job_id text, array_task_id bigint, het_job_id text, het_offset bigint,
	submit timestamp, "end" timestamp, exit_code bigint, signal bigint, tasks bigint, alloc_cpus bigint, gpus bigint,
	req_mem_bytes bigint, max_rss_bytes bigint, energy_j double precision,
	record text                       -- all of it, JSON; null where only job_list was loaded
) PARTITION BY RANGE (start);
-- Anybody may write any id, but only their own name.
CREATE UNIQUE INDEX IF NOT EXISTS jobs_by_key ON mpitrace.jobs (key, "user", start);
CREATE INDEX IF NOT EXISTS jobs_by_start ON mpitrace.jobs (start);
CREATE INDEX IF NOT EXISTS jobs_by_program ON mpitrace.jobs (program, start);
CREATE INDEX IF NOT EXISTS jobs_by_user ON mpitrace.jobs ("user", start);
CREATE INDEX IF NOT EXISTS jobs_by_loss ON mpitrace.jobs (loss_core_hours); -- of a day, a month or all, those that lost most

CREATE OR REPLACE VIEW mpitrace.job_list AS
	SELECT id, key, cluster, job, "user", account, partition, program, build_id, mpi, nodes, ranks, start, elapsed_s, core_hours, useful,
	       wait, parallel, load_balance, issue, loss_core_hours, complete, hung_core_hours, state, idle_core_hours, name, qos,
	       array_job_id, array_task_id, het_job_id, het_offset, submit, "end", exit_code, signal, tasks, alloc_cpus, gpus,
	       req_mem_bytes, max_rss_bytes, energy_j
	FROM mpitrace.jobs;

-- Sums by day, of all jobs that ever were. not_known: core-hours of jobs whose useful is null, but for what hung, which waited; shares are of
-- core_hours - not_known. hash is of the texts, which together are too long for an index.
CREATE TABLE IF NOT EXISTS mpitrace.days (
	day date NOT NULL, cluster text NOT NULL, program text NOT NULL, "user" text NOT NULL, account text NOT NULL,
	issue text NOT NULL, state text NOT NULL, hash bytea NOT NULL,
	jobs bigint NOT NULL, core_hours double precision NOT NULL, useful double precision NOT NULL, mpi double precision NOT NULL,
	waiting double precision NOT NULL, lost double precision NOT NULL, hung double precision NOT NULL, idle double precision NOT NULL,
	not_known double precision NOT NULL DEFAULT 0,
	PRIMARY KEY (day, hash)
);
CREATE INDEX IF NOT EXISTS days_by_user ON mpitrace.days ("user");

-- The same by month, of months that are over.
CREATE TABLE IF NOT EXISTS mpitrace.months (
	month date NOT NULL, cluster text NOT NULL, program text NOT NULL, "user" text NOT NULL, account text NOT NULL,
	issue text NOT NULL, state text NOT NULL, hash bytea NOT NULL,
	jobs bigint NOT NULL, core_hours double precision NOT NULL, useful double precision NOT NULL, mpi double precision NOT NULL,
	waiting double precision NOT NULL, lost double precision NOT NULL, hung double precision NOT NULL, idle double precision NOT NULL,
	not_known double precision NOT NULL DEFAULT 0,
	PRIMARY KEY (month, hash)
);
CREATE INDEX IF NOT EXISTS months_by_user ON mpitrace.months ("user");
CREATE INDEX IF NOT EXISTS months_by_program ON mpitrace.months (program);

-- Before version 3 there was no job of which it is not known how it spent its time.
ALTER TABLE mpitrace.jobs ALTER COLUMN useful DROP NOT NULL;
ALTER TABLE mpitrace.days ADD COLUMN IF NOT EXISTS not_known double precision NOT NULL DEFAULT 0;
ALTER TABLE mpitrace.months ADD COLUMN IF NOT EXISTS not_known double precision NOT NULL DEFAULT 0;

-- Days that are not in months. The day stands in the question, so that the server knows that these are few.
CREATE OR REPLACE FUNCTION mpitrace.days_since() RETURNS SETOF mpitrace.days LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT * FROM mpitrace.days WHERE day >= %L', (SELECT rolled_until FROM mpitrace.about));
END $$;

CREATE OR REPLACE VIEW mpitrace.sums AS
	SELECT month, cluster, program, "user", account, issue, state, jobs, core_hours, useful, mpi, waiting, lost, hung, idle, not_known
	FROM mpitrace.months
	UNION ALL SELECT date_trunc('month', day)::date, cluster, program, "user", account, issue, state, jobs, core_hours, useful, mpi, waiting,
	                 lost, hung, idle, not_known
	FROM mpitrace.days_since();

-- Months that were over before that day, a month's first. Days of before stay as they are.
CREATE OR REPLACE FUNCTION mpitrace.roll(until date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	since date := (SELECT rolled_until FROM mpitrace.about);
BEGIN
	IF until <= since THEN
		RETURN;
	END IF;
	INSERT INTO mpitrace.months SELECT date_trunc('month', day)::date, cluster, program, "user", account, issue, state, hash, sum(jobs),
		sum(core_hours), sum(useful), sum(mpi), sum(waiting), sum(lost), sum(hung), sum(idle), sum(not_known)
		FROM mpitrace.days WHERE day >= since AND day < until GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;
	UPDATE mpitrace.about SET rolled_until = until;
END $$;

-- Jobs that came or went change the sums of their days. Dropping a table of jobs calls no trigger: its sums stay.
CREATE OR REPLACE FUNCTION mpitrace.jobs_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
	rolled date := (SELECT rolled_until FROM mpitrace.about);
BEGIN
	WITH s(day, cluster, program, "user", account, issue, state, hash, jobs, core_hours, useful, mpi, waiting, lost, hung, idle, not_known) AS (
		SELECT c.start::date, coalesce(c.cluster, ''), coalesce(c.program, ''), c."user", coalesce(c.account, ''),
		       coalesce(c.issue, ''), c.state,
		       sha256(convert_to(jsonb_build_array(coalesce(c.cluster, ''), coalesce(c.program, ''), c."user",
		                                           coalesce(c.account, ''), coalesce(c.issue, ''), c.state)::text, 'UTF8')),
		       sign * count(*), sign * sum(c.core_hours), sign * coalesce(sum(c.core_hours * c.useful), 0),
		       sign * coalesce(sum(c.core_hours * (1 - c.useful - c.wait) - c.idle_core_hours), 0), sign * sum(c.core_hours * c.wait),
		       sign * sum(c.loss_core_hours), sign * sum(c.hung_core_hours), sign * sum(c.idle_core_hours),
		       sign * sum(CASE WHEN c.useful IS NULL THEN c.core_hours * (1 - c.wait) ELSE 0 END)
		FROM changed c GROUP BY 1, 2, 3, 4, 5, 6, 7, 8),
	of_days AS (
		INSERT INTO mpitrace.days AS d SELECT * FROM s
		ON CONFLICT (day, hash) DO UPDATE SET jobs = d.jobs + excluded.jobs, core_hours = d.core_hours + excluded.core_hours,
			useful = d.useful + excluded.useful, mpi = d.mpi + excluded.mpi, waiting = d.waiting + excluded.waiting,
			lost = d.lost + excluded.lost, hung = d.hung + excluded.hung, idle = d.idle + excluded.idle,
			not_known = d.not_known + excluded.not_known)
	INSERT INTO mpitrace.months AS m
		SELECT date_trunc('month', s.day)::date, s.cluster, s.program, s."user", s.account, s.issue, s.state, s.hash, sum(s.jobs),
		       sum(s.core_hours), sum(s.useful), sum(s.mpi), sum(s.waiting), sum(s.lost), sum(s.hung), sum(s.idle),
		       sum(s.not_known)
		FROM s WHERE s.day < rolled GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
		ON CONFLICT (month, hash) DO UPDATE SET jobs = m.jobs + excluded.jobs, core_hours = m.core_hours + excluded.core_hours,
			useful = m.useful + excluded.useful, mpi = m.mpi + excluded.mpi, waiting = m.waiting + excluded.waiting,
			lost = m.lost + excluded.lost, hung = m.hung + excluded.hung, idle = m.idle + excluded.idle,
			not_known = m.not_known + excluded.not_known;
	IF sign < 0 THEN
		DELETE FROM mpitrace.months m WHERE m.jobs = 0
			AND m.month IN (SELECT DISTINCT date_trunc('month', c.start)::date FROM changed c);
		DELETE FROM mpitrace.days d WHERE d.jobs = 0 AND d.day IN (SELECT DISTINCT c.start::date FROM changed c);
	END IF;
	RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS jobs_came ON mpitrace.jobs;
CREATE TRIGGER jobs_came AFTER INSERT ON mpitrace.jobs REFERENCING NEW TABLE AS changed
	FOR EACH STATEMENT EXECUTE FUNCTION mpitrace.jobs_changed();
DROP TRIGGER IF EXISTS jobs_went ON mpitrace.jobs;
CREATE TRIGGER jobs_went AFTER DELETE ON mpitrace.jobs REFERENCING OLD TABLE AS changed
	FOR EACH STATEMENT EXECUTE FUNCTION mpitrace.jobs_changed();

-- Drop the months that ended that many months before this one began.
CREATE OR REPLACE FUNCTION mpitrace.keep(months integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	since timestamp := date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => months);
	part text;
BEGIN
	UPDATE mpitrace.about SET kept_from = since WHERE kept_from < since;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	FOR part IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'mpitrace.jobs'::regclass AND c.relname < to_char(since, '"jobs_"YYYY_MM') LOOP
		EXECUTE format('DROP TABLE mpitrace.%I', part);
	END LOOP;
END $$;

-- The table of a month, where there is none yet.
CREATE OR REPLACE FUNCTION mpitrace.make_month(month timestamp) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	part text := to_char(month, '"jobs_"YYYY_MM');
BEGIN
	IF to_regclass('mpitrace.' || part) IS NULL THEN
		EXECUTE format('CREATE TABLE mpitrace.%I PARTITION OF mpitrace.jobs FOR VALUES FROM (%L) TO (%L)',
		               part, month, month + interval '1 month');
	END IF;
END $$;

-- Put them in, once; of two of the same step and user the last one. again: there may be others of the same steps, which they replace;
-- else what is there already is the same.
CREATE OR REPLACE FUNCTION mpitrace.add(given mpitrace.jobs[], again boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	since timestamp := (SELECT kept_from FROM mpitrace.about);
	too_late bigint := (SELECT count(*) FROM unnest(given) r WHERE r.start < since);
	fresh mpitrace.jobs[] := ARRAY(
		SELECT DISTINCT ON ((g.r).key, (g.r)."user") g.r FROM (SELECT r, row_number() OVER () AS place FROM unnest(given) r) g
		WHERE (g.r).start >= since ORDER BY (g.r).key, (g.r)."user", place DESC);
	columns text := (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'mpitrace.jobs'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'id');
BEGIN
	IF too_late > 0 THEN
		UPDATE mpitrace.about SET late = late + too_late;
	END IF;
	PERFORM mpitrace.make_month(m) FROM (SELECT DISTINCT date_trunc('month', r.start) AS m FROM unnest(fresh) r) x;
	IF again THEN
		DELETE FROM mpitrace.jobs j USING unnest(fresh) r WHERE j.key = r.key AND j."user" = r."user";
	END IF;
	EXECUTE format('INSERT INTO mpitrace.jobs(%s) SELECT %s FROM unnest($1) ON CONFLICT DO NOTHING', columns, columns) USING fresh;
END $$;

-- A batch of `mpitrace publish`, an array of objects with the columns of jobs. One at a time. months: so many are kept; 0: all.
CREATE OR REPLACE FUNCTION mpitrace.put(batch json, again boolean, months integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(2027, 2);
	IF months > 0 THEN
		PERFORM mpitrace.keep(months);
	END IF;
	PERFORM mpitrace.roll(date_trunc('month', now() AT TIME ZONE 'UTC')::date);
	PERFORM mpitrace.add(ARRAY(SELECT r FROM json_populate_recordset(NULL::mpitrace.jobs, batch) r), again);
END $$;

-- Rows of job_list from a file, before it is known whether they came before. Not logged: it can be exported again.
CREATE UNLOGGED TABLE IF NOT EXISTS mpitrace.incoming AS SELECT * FROM mpitrace.job_list WITH NO DATA;

CREATE OR REPLACE PROCEDURE mpitrace.take() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(2027, 2);
	UPDATE mpitrace.incoming SET "user" = '' WHERE "user" IS NULL;
	PERFORM mpitrace.add(a.day, true) FROM (
		SELECT array_agg(json_populate_record(NULL::mpitrace.jobs, to_json(i)) ORDER BY i.id) AS day
		FROM mpitrace.incoming i GROUP BY i.start::date) a;
	DELETE FROM mpitrace.incoming;
END $$;

-- What there is of a user, in jobs and in what was dropped.
CREATE OR REPLACE FUNCTION mpitrace.count_of(who text) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT greatest((SELECT count(*) FROM mpitrace.jobs WHERE "user" = who),
	                (SELECT coalesce(sum(jobs), 0) FROM mpitrace.days WHERE "user" = who)::bigint);
$$;
CREATE OR REPLACE FUNCTION mpitrace.forget(who text) RETURNS void LANGUAGE sql AS $$
	DELETE FROM mpitrace.jobs WHERE "user" = who;
	DELETE FROM mpitrace.days WHERE "user" = who;
	DELETE FROM mpitrace.months WHERE "user" = who;
	DELETE FROM mpitrace.incoming WHERE "user" = who;
$$;

-- As SQLite has it: 0 of no rows, so that the same question may be asked of both.
CREATE OR REPLACE AGGREGATE mpitrace.total(double precision) (SFUNC = float8pl, STYPE = double precision, INITCOND = '0');

DO $$ BEGIN
	IF to_regclass('mpitrace.jobs_before') IS NOT NULL THEN
		INSERT INTO mpitrace.incoming SELECT * FROM mpitrace.jobs_before;
		CALL mpitrace.take();
		DROP TABLE mpitrace.jobs_before;
	END IF;
END $$;

UPDATE mpitrace.about SET version = 3 WHERE version < 3;
