/* layout.h - the record of a step on one node, the file `layout` in the step's directory (docs/STEPDIR.md).
 * In: what Slurm's plugin, as root, or `mpitrace run` knows of the step.  Out: lines key=value, for agent and epilog.
 * Who writes gathers the values; how they stand in the file, and what is accepted from it, is here and nowhere else. */
#pragma once

#include "base/error.h"
#include "format/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_FILENAME "layout"

/* clang-format off */
/* Every key once, in the order in which they are written: those that name an identity first. docs/STEPDIR.md shows this
 * table (a unit test compares). */
#define LAYOUT_TABLE(X) \
	X(UID,      uid,      "user of the job") \
	X(GID,      gid,      "group of the job") \
	X(GIDS,     gids,     "further groups, comma-separated") \
	X(JOB_ID,   job_id,   "number of the job") \
	X(RESTART,  restart,  "number of times the job was requeued") \
	X(STEP_ID,  step_id,  "number of the step, or `batch`") \
	X(NODEID,   nodeid,   "number of this node in the step, from 0") \
	X(NNODES,   nnodes,   "nodes of the step, 0 = unknown") \
	X(NTASKS,   ntasks,   "tasks of the step, 0 = unknown") \
	X(TASKS,    tasks,    "global ids of the tasks on this node, comma-separated") \
	X(MODE,     mode,     "`events`, or `profile`: totals only") \
	X(BUDGET,   budget,   "bytes of events per rank, 0 = no limit") \
	X(STACK,    stack,    "callers of each call that are recorded") \
	X(SAMPLE,   sample,   "seconds between samples of what all ranks do, 0 = none; absent = 1") \
	X(REPORT,   report,   "who makes the report: `srun`, the step's first `node`, or `none`") \
	X(BUDGET_S, report_s, "seconds the report may take on the node, 0 = 1 s or 2 % of the step's time") \
	X(PAGE,     page,     "bytes a report may have with viewer and trace in it, 0 = it carries neither; absent = 5,000,000") \
	X(TRACE,    trace,    "bytes this node's trace may have, 0 = no limit") \
	X(RESERVE,  reserve,  "bytes of the output's file system that are left free, 0 = a twentieth of it, at most 1 GiB") \
	X(UMASK,    umask,    "mode bits that the user's files do not get, octal; the owner's they always get") \
	X(NAME,     name,     "what the user calls the step") \
	X(OUT,      out,      "directory of the results, `.../mpitrace-<job>/step-<step>`; empty = the trace stays in the spool") \
	X(FILE,     file,     "name of the trace without `.mpic`, if not that of the node") \
	X(CLUSTER,  cluster,  "name of the cluster") \
	X(NODE,     node,     "name of this node") \
	X(NODELIST, nodelist, "nodes of the step, in Slurm's form") \
	X(SWITCHES, switches, "SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN, joined by a blank") \
	X(SLURM,    slurm,    "version of Slurm") \
	X(SUBMIT,   submit,   "directory from which the job was submitted") \
	X(PROGRAM,  program,  "the program as it was called") \
	X(ARGV,     argv,     "JSON array of the command line; a long one ends with \"...\"") \
	X(POLICY,   policy,   "what the site's policy decided, and why; absent without one, like the next ones") \
	X(REDACT,   redact,   "what the trace must not hold: `arguments`, `paths`, `hosts`, comma-separated") \
	X(READERS,  readers,  "number of the group that may read the results") \
	X(FINISH,   finish,   "where a long analysis goes: `leave`, `queue` or `sweep`") \
	X(ACCOUNT,  account,  "account of the job, if the prolog knew it") \
	X(PARTITION, partition, "partition of the job, likewise") \
	X(MODULES,  modules,  "environment modules of the job, comma-separated; `+N`: that many more; absent if the site wants none") \
	X(ALERT,    alert,    "seconds after which a step that hangs leaves an alert, 0 or absent = never") \
	X(PARENT,   parent,   "process below which those of the step are: slurmstepd, or `mpitrace run`")
/* clang-format on */

enum layout_key {
#define LAYOUT_ENUM(id, name, meaning) LAYOUT_##id,
	LAYOUT_TABLE(LAYOUT_ENUM)
#undef LAYOUT_ENUM
		LAYOUT_KEYS
};

struct layout_row {
	const char *name, *meaning;
};

extern const struct layout_row layout_rows[LAYOUT_KEYS];

/* A zeroed struct is an empty record; layout_done() frees. */
struct layout {
	char *values[LAYOUT_KEYS]; /* NULL: the key is absent */
	bool failed;		   /* no memory for a value: layout_write() says so */
};

void layout_done(struct layout *l);

/* ---- writing ---- */

/* Line breaks become blanks, so that no value can pose as another key. NULL is the empty text. */
void layout_set(struct layout *l, enum layout_key key, const char *text);
void layout_set_number(struct layout *l, enum layout_key key, uint64_t value);
void layout_set_list(struct layout *l, enum layout_key key, const uint32_t *numbers, size_t n);
/* LAYOUT_ARGV and LAYOUT_PROGRAM. */
void layout_set_argv(struct layout *l, char *const *argv, int argc);
/* Write dir_fd/layout under a temporary name and rename it; one that is there under that name is an error. 0, or -errno
 * with text. */
int layout_write(int dir_fd, const struct layout *l, struct error *e);

/* ---- reading ---- */

/* Read dir_fd/layout (an O_PATH descriptor will do). `own`: only if it belongs to who reads it, else -EPERM before
 * a byte is read. Keys that are not known are passed over; -EBADMSG for a key that stands twice, a line that is
 * none, or a last line that is cut. 0, or -errno with text. */
int layout_read(int dir_fd, bool own, struct layout *ret_layout, struct error *e);
/* The same of a file that is open; fd < 0 is why it is not. */
int layout_read_open(int fd, struct layout *ret_layout, struct error *e);
bool layout_has(const struct layout *l, enum layout_key key);
/* The value, "" when absent; owned by the record. */
const char *layout_text(const struct layout *l, enum layout_key key);
/* The value, or fallback when it is absent or no number from 0 to UINT64_MAX. */
uint64_t layout_number(const struct layout *l, enum layout_key key, uint64_t fallback);
/* A list of numbers: how many, or -EBADMSG when it is none or longer than max. */
int layout_list(const struct layout *l, enum layout_key key, uint32_t *ret_numbers, size_t max);
