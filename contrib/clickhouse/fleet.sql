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
-- for whoever asks the views. Columns are those of job_list of `mpitrace fleet query`. A table from before takes rows of today
-- as well, without what it has no column for; ALTER TABLE mpitrace.jobs ADD COLUMN gives it one, as it is written here. A `useful` of before
-- has 0 where it is not known, until ALTER TABLE mpitrace.jobs MODIFY COLUMN useful Nullable(Float64); then DROP TABLE mpitrace.days, and run
-- this again.

CREATE DATABASE IF NOT EXISTS mpitrace;

CREATE TABLE IF NOT EXISTS mpitrace.jobs (
	id String,                        -- cluster, job, step, restart
	job String, cluster String, user String, account String, partition String,
	program String, build_id String, mpi String,
	nodes UInt32, ranks UInt32,
	start DateTime,                   -- UTC
	elapsed_s Float64,
	core_hours Float64,
	useful Nullable(Float64),         -- shares of core_hours; NULL where it is not known, then wait is what hung
	wait Float64,
	parallel Nullable(Float64),       -- efficiencies, NULL where they are not known
	load_balance Nullable(Float64),
	issue String, loss_core_hours Float64,
	complete UInt8,                   -- 1: no rank and no event is missing
	hung_core_hours Float64 DEFAULT 0, -- in which no rank advanced any more; part of wait
	state String DEFAULT 'UNKNOWN', -- how it ended, in Slurm's words
	idle_core_hours Float64 DEFAULT 0, -- of processors on which no rank ran; neither useful nor in MPI
	name String DEFAULT '', qos String DEFAULT '',
	array_job_id String DEFAULT '', array_task_id Nullable(UInt32), het_job_id String DEFAULT '', het_offset Nullable(UInt32),
	submit Nullable(DateTime), `end` Nullable(DateTime),
	exit_code Nullable(UInt8), signal Nullable(UInt8), tasks Nullable(UInt32), alloc_cpus Nullable(UInt32), gpus Nullable(UInt32),
	req_mem_bytes Nullable(UInt64), max_rss_bytes Nullable(UInt64), energy_j Nullable(Float64),
	record String                     -- all of it, JSON
) ENGINE = ReplacingMergeTree() ORDER BY (id, user); -- anybody may write any id, but only their own name

CREATE VIEW IF NOT EXISTS mpitrace.job_list AS SELECT * FROM mpitrace.jobs FINAL;

-- Sums by day, as on the pages. Shares are of hours - not_known_hours: those of jobs whose useful is NULL, but for what hung.
CREATE VIEW IF NOT EXISTS mpitrace.days AS
	SELECT toDate(start) AS day, cluster, program, user, account, count() AS jobs, sum(core_hours) AS hours,
	       ifNull(sum(core_hours * useful), 0) AS useful_hours,
	       ifNull(sum(core_hours * (1 - useful - wait) - idle_core_hours), 0) AS mpi_hours,
	       sum(core_hours * wait) AS waiting_hours, sum(idle_core_hours) AS idle_hours, sum(loss_core_hours) AS lost_hours,
	       sumIf(core_hours * (1 - wait), isNull(useful)) AS not_known_hours
	FROM mpitrace.jobs FINAL GROUP BY day, cluster, program, user, account;
