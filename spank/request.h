/* request.h - what the user asked for: the argument of srun|sbatch|salloc
 * --mpitrace[=key=value,...]. */
#pragma once

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
/* Every option once: behind --mpitrace=, and in front of the program of `mpitrace run`, which by itself is on and makes
 * the report. One that takes a value has "=" there. */
#define REQUEST_TABLE(X) \
	X(on,      "",                  "") \
	X(off,     "",                  "") \
	X(out,     "=DIR",              " [--out DIR]") \
	X(name,    "=NAME",             " [--name NAME]") \
	X(profile, "",                  " [--profile]") \
	X(stack,   "=0..32",            " [--stack N]") \
	X(budget,  "=SIZE[K|M|G]",      " [--budget SIZE]") \
	X(sample,  "=SECONDS",          " [--sample S]") \
	X(report,  "=srun|epilog|none", "") \
	X(quiet,   "",                  " [--quiet]")
/* clang-format on */

#define REQUEST_KEY_TEXT(key, value, run) " " #key value
#define REQUEST_RUN_TEXT(key, value, run) run
#define REQUEST_KEYS REQUEST_TABLE(REQUEST_KEY_TEXT)	  /* " on off out=DIR ..." */
#define REQUEST_RUN_USAGE REQUEST_TABLE(REQUEST_RUN_TEXT) /* " [--out DIR] ..." */
#define REQUEST_NAME_MAX 201 /* of a file, with room for "-999", ".mpitrace" and what is temporary */
#define REQUEST_STACK_MAX 32
#define REQUEST_SAMPLE_MAX 86400

/* Who makes the report. SRUN: srun when it ends, else the epilog. */
enum request_report { REPORT_SRUN, REPORT_EPILOG, REPORT_NONE };

/* What the user wrote, as opposed to what is so by itself. */
enum request_given {
	REQUEST_GAVE_OUT = 1,
	REQUEST_GAVE_BUDGET = 2,
	REQUEST_GAVE_STACK = 4,
	REQUEST_GAVE_REPORT = 8,
	REQUEST_GAVE_SAMPLE = 16,
};

/* What the site decided besides (spank/policy.h); zeros without a policy. */
struct request_site {
	char place[PATH_MAX];		 /* the step's directory, in place of out=; "" = as the user has it */
	char why[1024];			 /* what applied and why, one line */
	char readers[64];		 /* group that may read the results, a number; "" = none */
	char refusal[512];		 /* why nothing can be recorded all the same; "" = it can */
	char page[24];			 /* bytes of a report that carries its trace; "" = not said */
	char finish[16];		 /* leave, queue or sweep; "" = not said */
	unsigned finish_processes;	 /* of a job that makes a report; 0, 1: one */
	unsigned redact;		 /* enum policy_redact */
	char account[64], partition[64]; /* of the job, as the prolog knew them; "" = not known */
	uint64_t max_budget_bytes;	 /* of a rank; 0 = no cap */
	bool modules;			 /* names of environment modules are recorded */
	unsigned alert_s;		 /* a step that hangs for so long leaves an alert; 0 = never */
	unsigned umask;			 /* for files of results, with REQUEST_UMASK_GIVEN */
};
#define REQUEST_UMASK_GIVEN 01000u

struct request {
	bool on;
	bool profile;	       /* totals only, no events */
	bool quiet;	       /* not a word on standard error, whatever becomes of it */
	uint64_t budget_bytes; /* of events per rank; 0 = no limit */
	unsigned stack;	       /* frames recorded per call */
	char sample[16];       /* seconds between samples of what ranks do, 0 = none; "" = as the agent does */
	enum request_report report;
	char out[PATH_MAX]; /* directory, as given; empty: the job's directory */
	char name[REQUEST_NAME_MAX];
	unsigned given; /* enum request_given */
	struct request_site site;
};

struct request_key {
	const char *name;
	bool takes_value, of_run; /* `mpitrace run` has it */
	int (*set)(struct request *r, const char *value, struct error *e);
};

/* The row of a key, or NULL. */
const struct request_key *request_key(const char *name);

/* Put the value (NULL: none) into *r. 0, or -EINVAL with what is wrong with it, as in "\"33\" is not a depth ...". */
int request_set(const struct request_key *key, const char *value, struct request *r, struct error *e);

/* Parse text (NULL, "" and Slurm's "(null)": on, with defaults) into *ret_request, replacing it.
 * 0, or -EINVAL with a text for the user that names the key and the known ones. */
int request_parse(const char *text, struct request *ret_request, struct error *e);
