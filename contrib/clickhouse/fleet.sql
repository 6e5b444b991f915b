-- fleet.sql - the jobs of a fleet for ClickHouse (18.16 or newer), where `mpitrace publish` puts them:
--
--     clickhouse-client --multiquery < contrib/clickhouse/fleet.sql
--
-- and in mpitrace.conf
--
--     [destination fleet]
--     type = clickhouse
--     url = http://127.0.0.1:8123
--     database = mpitrace
--
-- A row that comes again, and a later one of the same step, take the place of the one that is there: at the next merge, and at once
-- for whoever asks the views. Columns are those of job_list of `mpitrace fleet query`. A table of 1.0 takes rows as before, without how
-- jobs ended, until it is told of two columns more, once:
--
--     ALTER TABLE mpitrace.jobs ADD COLUMN hung_core_hours Float64 DEFAULT 0, ADD COLUMN outcome String DEFAULT 'UNKNOWN'

CREATE DATABASE IF NOT EXISTS mpitrace;

CREATE TABLE IF NOT EXISTS mpitrace.jobs (
	id String,                        -- cluster, job, step, restart
	job String, cluster String, user String, account String, partition String,
	program String, build_id String, mpi String,
	nodes UInt32, ranks UInt32,
	start DateTime,                   -- UTC
	elapsed_s Float64,
	core_hours Float64,
	useful Float64,                   -- shares of core_hours
	wait Float64,
	parallel Nullable(Float64),       -- efficiencies, NULL where they are not known
	load_balance Nullable(Float64),
	issue String, loss_core_hours Float64,
	complete UInt8,                   -- 1: no rank and no event is missing
	hung_core_hours Float64 DEFAULT 0, -- in which no rank advanced any more; part of wait
	outcome String DEFAULT 'UNKNOWN', -- in Slurm's words
	record String                     -- all of it, JSON
) ENGINE = ReplacingMergeTree() ORDER BY (id, user); -- anybody may write any id, but only their own name

CREATE VIEW IF NOT EXISTS mpitrace.job_list AS SELECT * FROM mpitrace.jobs FINAL;

-- Sums by day, as on the pages.
CREATE VIEW IF NOT EXISTS mpitrace.days AS
	SELECT toDate(start) AS day, cluster, program, user, account, count() AS jobs, sum(core_hours) AS hours,
	       sum(core_hours * useful) AS useful_hours, sum(core_hours * (1 - useful - wait)) AS mpi_hours,
	       sum(core_hours * wait) AS waiting_hours, sum(loss_core_hours) AS lost_hours
	FROM mpitrace.jobs FINAL GROUP BY day, cluster, program, user, account;
