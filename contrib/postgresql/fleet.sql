-- fleet.sql - the jobs of a fleet for PostgreSQL 12 or newer, for sites whose dashboards ask there: the columns of job_list of
-- `mpitrace fleet query`, in the same order. What has come before is replaced by what comes again, so a whole export may be
-- loaded as often as one likes:
--
--     psql -f contrib/postgresql/fleet.sql
--     mpitrace fleet query --db fleet.db --csv 'select * from job_list' > jobs.csv
--     psql -c "\copy mpitrace.incoming from 'jobs.csv' csv header" -c 'call mpitrace.take()'

CREATE SCHEMA IF NOT EXISTS mpitrace;

CREATE TABLE IF NOT EXISTS mpitrace.jobs (
	id bigint NOT NULL,               -- in the SQLite file
	key text PRIMARY KEY,             -- cluster, job, step, restart
	cluster text, job text, "user" text, account text, partition text,
	program text, build_id text, mpi text,
	nodes integer NOT NULL, ranks integer NOT NULL,
	start timestamp NOT NULL,         -- UTC
	elapsed_s double precision NOT NULL,
	core_hours double precision NOT NULL,
	useful double precision NOT NULL, -- shares of core_hours
	wait double precision NOT NULL,
	parallel double precision,        -- efficiencies, null where they are not known
	load_balance double precision,
	issue text, loss_core_hours double precision NOT NULL,
	complete integer NOT NULL,        -- 1: no rank and no event is missing
	hung_core_hours double precision NOT NULL, -- of core_hours: no rank advanced any more
	state text NOT NULL,              -- how it ended: COMPLETED, FAILED, TIMEOUT ...; UNKNOWN
	idle_core_hours double precision NOT NULL, -- of core_hours: of processors on which no rank ran
	name text, qos text, array_job_id text, array_task_id integer, het_job_id text, het_offset integer,
	submit timestamp, "end" timestamp, exit_code integer, signal integer, tasks integer, alloc_cpus integer, gpus integer,
	req_mem_bytes bigint, max_rss_bytes bigint, energy_j double precision
);
CREATE INDEX IF NOT EXISTS jobs_start ON mpitrace.jobs (start);
CREATE INDEX IF NOT EXISTS jobs_program ON mpitrace.jobs (program, start);
CREATE INDEX IF NOT EXISTS jobs_user ON mpitrace.jobs ("user", start);

-- What is loaded, before it is known whether it came before. Not logged: it can be exported again.
CREATE UNLOGGED TABLE IF NOT EXISTS mpitrace.incoming (LIKE mpitrace.jobs);

CREATE OR REPLACE PROCEDURE mpitrace.take() LANGUAGE sql AS $$
	DELETE FROM mpitrace.jobs j USING mpitrace.incoming i WHERE j.key = i.key;
	INSERT INTO mpitrace.jobs SELECT DISTINCT ON (key) * FROM mpitrace.incoming ORDER BY key, id DESC;
	DELETE FROM mpitrace.incoming;
$$;

-- Sums by day, as on the pages.
CREATE OR REPLACE VIEW mpitrace.days AS
	SELECT start::date AS day, program, "user", account, count(*) AS jobs, sum(core_hours) AS core_hours,
	       sum(core_hours * useful) AS useful, sum(core_hours * (1 - useful - wait) - idle_core_hours) AS mpi,
	       sum(core_hours * wait) AS waiting, sum(loss_core_hours) AS lost,
	       sum(hung_core_hours) AS hung, sum(idle_core_hours) AS idle
	FROM mpitrace.jobs GROUP BY 1, 2, 3, 4;
