/* policy.h - what a site allows and wants: which jobs are traced, how, how much, and where the results go.
 * In: mpitrace.conf and conf.d/ (docs/POLICY.md, mpitrace.conf(5)), and the facts of a job.  Out: a decision, each
 * value with the line that made it. Knows nothing of Slurm: the plugin and `mpitrace doctor` ask the same code. */
#pragma once

#include "base/error.h"
#include "spank/policy/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define POLICY_FILE "/etc/mpitrace/mpitrace.conf"

/* clang-format off */
/* Every setting once: name, kind, what the kind needs to know, built-in value ("" = none), may a rule set it, what
 * counts of several rules of which nobody knows whether they fit (enum policy_doubt), meaning.
 * docs/POLICY.md and the man page show this table (a unit test compares). */
#define POLICY_SETTING_TABLE(X) \
	X(LEVEL,           level,           CHOICE,  "off|profile|events",      "off",    true,  LEAST,   "what is recorded of a job that asks for nothing") \
	X(MAX_LEVEL,       max_level,       CHOICE,  "off|profile|events",      "events", true,  LEAST,   "the most that a job can ask for") \
	X(OVERRIDE,        override,        CHOICE,  "none|off|all",            "all",    true,  LEAST,   "what users may change: nothing, `off` only, or all within the caps") \
	X(SAMPLE,          sample,          PERCENT, "",                        "100%",   true,  LEAST,   "share of the jobs that get `level`; the others do not, unless they ask") \
	X(SAMPLE_SECONDS,  sample_seconds,  TIME,    "",                        "1",      true,  CERTAIN, "time between samples of what all ranks do (`mpitrace live`), 0 = none") \
	X(STACK,           stack,           COUNT,   "32",                      "0",      true,  LEAST,   "callers recorded with each call") \
	X(MAX_STACK,       max_stack,       COUNT,   "32",                      "32",     true,  LEAST,   "the most that a user may ask for") \
	X(BUDGET,          budget,          SIZE,    "",                        "0",      true,  BOUND,   "bytes of events per rank, 0 = an even share of the plugin's `budget=` of a node") \
	X(MAX_BUDGET,      max_budget,      SIZE,    "",                        "0",      true,  BOUND,   "the most that a user may ask for, 0 = no limit") \
	X(TRACE_BYTES,     trace_bytes,     SIZE,    "",                        "0",      true,  BOUND,   "bytes of a step's trace on each node, 0 = as plugstack.conf has it") \
	X(SPOOL_BYTES,     spool_bytes,     SIZE,    "",                        "0",      true,  BOUND,   "bytes of a step in a node's spool, 0 = as plugstack.conf has it") \
	X(NODE_BYTES,      node_bytes,      SIZE,    "",                        "0",      false, CERTAIN, "bytes of all steps in a node's spool, 0 = as plugstack.conf has it") \
	X(RESERVE_BYTES,   reserve_bytes,   SIZE,    "",                        "0",      false, CERTAIN, "bytes that stay free where traces go, 0 = as plugstack.conf has it") \
	X(REPORT,          report,          CHOICE,  "srun|epilog|none",        "srun",   true,  CERTAIN, "who makes the report") \
	X(REPORT_SECONDS,  report_seconds,  TIME,    "",                        "0",      true,  CERTAIN, "time that making the report may take, 0 = as plugstack.conf has it") \
	X(PAGE_BYTES,      page_bytes,      SIZE,    "",                        "5000000", true, CERTAIN, "bytes of a report with viewer and trace in it, at most 5,000,000; of a larger trace it has a part; 0 = it has none") \
	X(FINISH,          finish,          CHOICE,  "leave|queue|sweep",       "sweep",  true,  CERTAIN, "where a long analysis goes: nowhere, into a job, to the sweeper") \
	X(FINISH_PROCESSES, finish_processes, COUNT, "32",                    "1",      true,  CERTAIN,  "processes of such a job that share the analysis, by MPI") \
	X(OUTPUT,          output,          OUTPUT,  "",                        "",       true,  CERTAIN, "pattern of the directory of the results") \
	X(DIRECTORY,       directory,       PATH,    "",                        "",       false, CERTAIN, "central directory: without `output`, results go to `<directory>/%u/mpitrace-%j`") \
	X(RETENTION,       retention,       TIME,    "",                        "0",      false, CERTAIN, "age at which results in the central directory may be removed, 0 = never") \
	X(QUOTA,           quota,           SIZE,    "",                        "0",      false, CERTAIN, "bytes of one user in the central directory, 0 = no limit") \
	X(DIRECTORY_BYTES, directory_bytes, SIZE,    "",                        "0",      false, CERTAIN, "bytes of the central directory, 0 = no limit") \
	X(READERS,         readers,         GROUP,   "",                        "",       true,  NOBODY,  "group that may read the results") \
	X(FILE_MODE,       file_mode,       CHOICE,  "umask|0600|0640|0644",    "umask",  true,  OWNER,   "mode of files of results; directories have the same with search") \
	X(REDACT,          redact,          FLAGS,   "none|arguments|paths|hosts", "none", true, UNION,   "what is left out of traces: arguments, directories, names of hosts") \
	X(OUTBOX,          outbox,          PATH,    "",                        "",       false, CERTAIN, "directory where each finished step leaves a job record; none: no records") \
	X(ALERT_SECONDS,   alert_seconds,   TIME,    "",                        "0",      true,  LEAST,   "time after which a step that hangs leaves an alert in the outbox while it runs, 0 = never") \
	X(RECORD_USERS,    record_users,    CHOICE,  "name|hash|none",          "name",   false, CERTAIN, "how job records name users: as they are, by a keyed hash, not at all") \
	X(RECORD_MODULES,  record_modules,  CHOICE,  "no|yes",                  "no",     true,  LEAST,   "whether job records have names of the job's environment modules") \
	X(SITE_KEY,        site_key,        PATH,    "",                        "",       false, CERTAIN, "file with the key of that hash, 16 to 4096 bytes")

/* What is known of a job: name, how a rule compares it, meaning. */
#define POLICY_FACT_TABLE(X) \
	X(USER,       user,       USER,    "name of the user") \
	X(UID,        uid,        RANGE,   "number of the user") \
	X(GROUP,      group,      GROUP,   "the user's groups, names or numbers") \
	X(ACCOUNT,    account,    NAME,    "account") \
	X(PARTITION,  partition,  NAME,    "partition") \
	X(QOS,        qos,        NAME,    "quality of service") \
	X(NODES,      nodes,      RANGE,   "nodes of the job") \
	X(TASKS,      tasks,      RANGE,   "tasks of the job") \
	X(PROGRAM,    program,    PROGRAM, "the program as it is called; without a slash: its last component") \
	X(JOB_NAME,   job_name,   TEXT,    "name of the job") \
	X(JOB,        job,        NONE,    "number of the job") \
	X(HET_JOB,    het_job,    NONE,    "number of the whole, if the job is a component of a heterogeneous one") \
	X(RESTART,    restart,    NONE,    "number of times the job was requeued") \
	X(ARRAY,      array,      NONE,    "number of the job array") \
	X(ARRAY_TASK, array_task, NONE,    "index in the job array") \
	X(STEP,       step,       NONE,    "number of the step, or `batch`")
/* clang-format on */

enum policy_setting {
#define POLICY_ENUM(id, ...) POLICY_##id,
	POLICY_SETTING_TABLE(POLICY_ENUM) POLICY_SETTINGS
#undef POLICY_ENUM
};

enum policy_fact {
#define POLICY_ENUM(id, ...) FACT_##id,
	POLICY_FACT_TABLE(POLICY_ENUM) POLICY_FACTS
#undef POLICY_ENUM
};

/* The numbers of choices are their places in the table. */
enum policy_level { POLICY_LEVEL_OFF, POLICY_LEVEL_PROFILE, POLICY_LEVEL_EVENTS };
enum policy_override { POLICY_OVERRIDE_NONE, POLICY_OVERRIDE_OFF, POLICY_OVERRIDE_ALL };
enum policy_redact { POLICY_REDACT_ARGUMENTS = 2, POLICY_REDACT_PATHS = 4, POLICY_REDACT_HOSTS = 8 };

enum policy_kind {
	POLICY_KIND_CHOICE,
	POLICY_KIND_FLAGS,
	POLICY_KIND_COUNT,
	POLICY_KIND_SIZE,
	POLICY_KIND_TIME,
	POLICY_KIND_PERCENT, /* millionths */
	POLICY_KIND_OUTPUT,
	POLICY_KIND_PATH,
	POLICY_KIND_GROUP,
};

/* What takes away most. CERTAIN: nothing of a user's or for them hangs on it; the rule that fits for certain counts. */
enum policy_doubt {
	POLICY_DOUBT_CERTAIN,
	POLICY_DOUBT_LEAST,
	POLICY_DOUBT_BOUND, /* the least, where 0 is no bound */
	POLICY_DOUBT_UNION, /* of flags, each of which leaves something out */
	POLICY_DOUBT_NOBODY,
	POLICY_DOUBT_OWNER, /* who owns a file, and nobody else */
};

enum policy_match {
	POLICY_MATCH_NONE,
	POLICY_MATCH_NAME,
	POLICY_MATCH_USER,  /* a name, and never a number */
	POLICY_MATCH_TEXT,  /* a name that its user chose: of any characters */
	POLICY_MATCH_GROUP, /* one of a list of names and numbers */
	POLICY_MATCH_RANGE,
	POLICY_MATCH_PROGRAM,
};

struct policy_setting_row {
	const char *name;
	enum policy_kind kind;
	const char *limits, *fallback;
	bool in_rules;
	enum policy_doubt doubt;
	const char *meaning;
};

struct policy_fact_row {
	const char *name;
	enum policy_match match;
	const char *meaning;
};

extern const struct policy_setting_row policy_settings[POLICY_SETTINGS];
extern const struct policy_fact_row policy_facts[POLICY_FACTS];

/* ---- the policy ---- */

struct policy;
struct policy_section;

/* Who takes the errors of a policy, each one line with file and line; text is the first of them. */
struct policy_errors {
	struct error first;
	unsigned count;
	void (*say)(void *context, const char *text); /* may be NULL */
	void *context;
};

/* The file; "": POLICY_FILE. */
const char *policy_path(const char *file);
/* Read file and conf.d/ beside it, *.conf in the order of their names. One that is named must be there; POLICY_FILE, by
 * "", need not: the policy then has the built-in values. Files and their directories must belong to root or to `owner`
 * (0 for root only) and be writable by nobody else. 0, or -errno with every error told: then the answer is "off" for
 * all jobs. */
int policy_load(const char *file, uid_t owner, struct policy **ret_policy, struct policy_errors *errors);
/* The same from memory, one file called name; for tests. */
int policy_parse(const char *name, const char *text, size_t len_bytes, struct policy **ret_policy,
		 struct policy_errors *errors);
/* NULL is fine. */
void policy_free(struct policy *p);
/* No file was there. */
bool policy_is_empty(const struct policy *p);
unsigned policy_count_rules(const struct policy *p);
unsigned policy_count_files(const struct policy *p);
const char *policy_file(const struct policy *p, unsigned file);
/* The name of the nth rule that asks for this fact, NULL behind the last. What nobody asks for need not be looked up.
 */
const char *policy_asks(const struct policy *p, enum policy_fact fact, unsigned nth);
/* A rule that can never apply, because an earlier one fits every job; NULL if there is none. */
const char *policy_unreachable(const struct policy *p);

/* ---- where records go (fleet/publish/) ---- */

/* One KEY = VALUE of a [destination NAME], as it is written. */
struct policy_destination_key {
	char *section, *key, *value;
	unsigned file, line;
};

/* Number i in the order of the files, those of a section together; NULL behind the last. The policy's. */
const struct policy_destination_key *policy_destination_key(const struct policy *p, size_t i);

/* ---- facts ---- */

/* A zeroed struct knows nothing; policy_facts_done() frees. */
struct policy_facts {
	char *values[POLICY_FACTS];
};

void policy_facts_done(struct policy_facts *f);
/* NULL: not known. Control characters become blanks; what is too long counts as not known. */
void policy_facts_set(struct policy_facts *f, enum policy_fact fact, const char *text);
void policy_facts_set_number(struct policy_facts *f, enum policy_fact fact, uint64_t value);
/* "user=alice". 0, or -EINVAL with text that names the known ones. */
int policy_facts_take(struct policy_facts *f, const char *text, struct error *e);
/* Into dir_fd/name, mode 0600, under a temporary name and renamed. 0 or -errno. */
int policy_facts_write(const struct policy_facts *f, int dir_fd, const char *name);
/* Back from there, if it is our own. 0 or -errno. */
int policy_facts_read(struct policy_facts *ret_facts, int dir_fd, const char *name);

/* ---- the decision ---- */

struct policy_value {
	bool set;
	uint64_t number;
	char *text; /* as written */
	unsigned file, line;
};

struct policy_decision {
	const struct policy *policy;
	const struct policy_value *values[POLICY_SETTINGS];
	const char *rule; /* NULL: no rule fits */
	unsigned rule_number;
	bool sampled_out;		    /* by `sample`: the level is off, unless the user asks */
	unsigned unknown;		    /* bit of each fact that a rule before this one would have needed */
	unsigned doubted;		    /* bit of each setting of which rules that may fit say different things */
	const struct policy_section *taker; /* the first rule that may fit and has taken something away; NULL: none */
};

/* The first rule that fits decides; what it does not set stands in [defaults], else is built in. A rule before it that
 * needs a fact that is not known counts where it takes away, and not where it gives: of each setting the value that
 * takes away most. Points into the policy. */
struct policy_decision policy_decide(const struct policy *p, const struct policy_facts *f);
/* The same as if what is not known fitted no rule: a guess, for what permits nothing. */
struct policy_decision policy_guess(const struct policy *p, const struct policy_facts *f);
/* All that may be decided while some facts are not known yet: call each for every rule that may fit up to the first
 * that certainly does, and for [defaults] if there is none. Stops when each returns false. */
void policy_consider(const struct policy *p, const struct policy_facts *f,
		     bool (*each)(void *context, const struct policy_decision *d), void *context);
uint64_t policy_number(const struct policy_decision *d, enum policy_setting key);
/* "" when it is not set. */
const char *policy_text(const struct policy_decision *d, enum policy_setting key);
/* The name of the choice. */
const char *policy_choice(const struct policy_decision *d, enum policy_setting key, char ret_name[16]);
/* "FILE:LINE", "built in", or that it is for doubt. */
const char *policy_where(const struct policy_decision *d, enum policy_setting key, char ret_text[512]);
/* The rule and its place, and which facts were not known: for people. */
const char *policy_why(const struct policy_decision *d, char ret_text[POLICY_WHY_MAX]);
/* The level without a user's wish: `level`, or off when the sample passes the job over. */
enum policy_level policy_level(const struct policy_decision *d);
/* umask for files of results, or -1: that of the process. */
int policy_umask(const struct policy_decision *d);
/* Is the job one of the share (millionths)? The same on every node, at every restart and for ever. */
bool policy_sampled(uint64_t job, uint64_t share_ppm);

/* ---- the output directory ---- */

#define POLICY_STEP_MARK '\1' /* for a step that is not known; no fact holds it */

/* Put what is known into the pattern. The last component is step-<step> unless the pattern names the step itself. 0, or
 * -errno with text: a value is not known, or the path is too long. */
int policy_expand(const char *pattern, const struct policy_facts *f, char *ret_path, size_t cap_bytes, struct error *e);
/* `output`, or what follows from `directory`, or "". */
const char *policy_output(const struct policy_decision *d, char ret_pattern[POLICY_OUTPUT_MAX + 32]);
