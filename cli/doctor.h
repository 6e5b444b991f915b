/* doctor.h - the checks of `mpitrace doctor`. Each is one function and one row in doctor_checks.c; it looks
 * at this host and says what it found and, when that is not right, what to do. */
#pragma once

#include "cli/doctor_path.h"
#include "spank/config.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum verdict_level { VERDICT_OK, VERDICT_WARN, VERDICT_BAD };

struct verdict {
	enum verdict_level level;
	char what[1024];
	char next[512]; /* empty if there is nothing to do */
};

typedef void check_fn(struct verdict *v);

/* Fill *v; next may be NULL. A later call replaces an earlier one. */
void verdict_say(struct verdict *v, enum verdict_level level, const char *next, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* First line that the shell command prints, without its newline; false if it prints none or fails.
 */
bool first_line_of(const char *command, char *ret_line, size_t cap_bytes);

/* doctor_tracer.c */
check_fn check_front, check_openmpi, check_mpich, check_abi, check_preload, check_clock, check_viewer;
/* doctor_slurm.c */
check_fn check_slurm, check_plugstack, check_slurmd;
/* Of the Slurm that is here, as it says it; false without one. */
bool slurm_version(char *ret_line, size_t cap_bytes);
/* Of a name in /proc. */
bool is_slurmd(const char *pid);
/* Is one at work on this host, or in this container? */
bool has_slurmd(void);
/* doctor_spool.c */
check_fn check_spool;
/* doctor_plugin.c */
check_fn check_plugin;
/* doctor_node.c */
check_fn check_programs, check_containers, check_room, check_late;
/* doctor_policy.c */
check_fn check_policy;
/* Print what a job of these facts ("user=alice", ...) would get, and why. file: NULL for the one that the plugin reads;
 * another one may also belong to the caller, who tries it out. An enum exit_code. */
int doctor_policy(const char *file, char *const *facts, int nfacts, bool json);

/* doctor_try.c */
typedef void try_row(const char *name, const struct verdict *v);
/* Run one traced step on each node, or on all that are idle, and hand over a verdict of each, as they end. */
void doctor_try(char *const *nodes, int n, try_row *row);
/* In such a step: print what it was given. An enum exit_code. */
int doctor_step(void);
/* doctor_checks.c: those of a host; behind the last one NULL. */
extern const struct doctor_check {
	const char *name;
	check_fn *check;
} doctor_checks[];
/* The first of them that is BAD, and its name; false: there is none. */
bool doctor_first_bad(struct verdict *ret_v, const char **ret_name);

/* doctor_plugstack.c: what plugstack.conf says about our plugin. */
struct plugstack {
	char path[PATH_MAX]; /* of plugstack.conf; empty if no Slurm configuration was found */
	bool there;
	unsigned times;	       /* lines that name mpitrace.so, and that Slurm takes */
	char plugin[PATH_MAX]; /* as written in the first of them, or in one that Slurm passes over */
	struct config config;  /* its arguments, defaults for the rest */
	bool spool_by_host;    /* spool= has a %n */
	bool before_pyxis;     /* a container plugin comes behind us */
	unsigned files;	       /* that were read */
	struct verdict wrong;  /* what is, with file and line; VERDICT_OK: nothing */
};

/* Read it now, with all that it includes. */
void plugstack_read(struct plugstack *ret_p);
/* The plugin's file: the configured one, else where it would be: */
#define PLUGIN_PATH MPITRACE_SLURMDIR "/mpitrace.so"
const char *plugin_path(const struct plugstack *p);
/* The path of slurm.conf, which need not be there; the value of one of its keys, includes followed: false if it has
 * none. */
const char *slurm_conf(void);
bool slurm_conf_value(const char *key, char *ret_value, size_t cap_bytes);

/* doctor_tracer.c: what keeps the tracer that plugstack.conf names from programs, in *v; false: nothing. That of this
 * mpitrace has been looked at. */
bool tracer_elsewhere(const struct plugstack *p, struct verdict *v);
