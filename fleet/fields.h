/* fields.h - what a job record has of Slurm's own account, one row a field: its name, what kind of text or number it
 * is, the column of sacct that tells it, and of what: the step, or the whole job. Whoever lists such fields goes by
 * these rows: the record and what sacct adds to it (account.c), the database and the pages, every destination. Held to
 * them by tests/integration/job_fields.py: docs/job.schema.json, docs/FLEET.md, and the tables in contrib/. */
#pragma once

enum field_kind {
	FIELD_TEXT,
	FIELD_COUNT,
	FIELD_NUMBER,
	FIELD_BYTES,  /* with a suffix K to E */
	FIELD_TIME,   /* seconds since 1970 in sacct and the database, as text in the record */
	FIELD_STATE,  /* the first word */
	FIELD_CODE,   /* before the colon; */
	FIELD_SIGNAL, /* behind it */
	FIELD_ARRAY,  /* of 12_3: 12; */
	FIELD_TASK,   /* 3 */
	FIELD_HET,    /* of 12+1: 12; */
	FIELD_OFFSET, /* 1 */
	FIELD_GPUS,   /* of gres/gpu=4: 4 */
};

#define FIELD_IS_TEXT(kind) ((kind) == FIELD_TEXT || (kind) == FIELD_ARRAY || (kind) == FIELD_HET)

enum field_of { OF_STEP, OF_JOB };

/* Fields that version 1 had, which Slurm knows better than who recorded. */
#define RECORD_FIELDS_KNOWN(X) \
	X(account, TEXT, JOB, "Account") \
	X(partition, TEXT, JOB, "Partition") \
	X(state, STATE, STEP, "State") \
	X(start, TIME, STEP, "Start") \
	X(nodes, COUNT, STEP, "NNodes")

/* Those that came with version 2: each is a column of the database and of destinations. */
#define RECORD_FIELDS_ADDED(X) \
	X(name, TEXT, JOB, "JobName") \
	X(qos, TEXT, JOB, "QOS") \
	X(array_job_id, ARRAY, JOB, "JobID") \
	X(array_task_id, TASK, JOB, "JobID") \
	X(het_job_id, HET, JOB, "JobID") \
	X(het_offset, OFFSET, JOB, "JobID") \
	X(submit, TIME, JOB, "Submit") \
	X(end, TIME, STEP, "End") \
	X(exit_code, CODE, STEP, "ExitCode") \
	X(signal, SIGNAL, STEP, "ExitCode") \
	X(tasks, COUNT, STEP, "NTasks") \
	X(alloc_cpus, COUNT, STEP, "AllocCPUS") \
	X(gpus, GPUS, STEP, "AllocTRES") \
	X(req_mem_bytes, BYTES, JOB, "ReqMem") \
	X(max_rss_bytes, BYTES, STEP, "MaxRSS") \
	X(energy_j, NUMBER, STEP, "ConsumedEnergyRaw")

#define RECORD_FIELDS(X) RECORD_FIELDS_KNOWN(X) RECORD_FIELDS_ADDED(X)

#define FIELD_ID(name, kind, of, column) RECORD_FIELD_##name,
enum record_field { RECORD_FIELDS(FIELD_ID) RECORD_FIELD_COUNT };
#undef FIELD_ID
