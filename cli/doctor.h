/* doctor.h - the checks of `mpitrace doctor`. Each is one function and one row in cmd_doctor.c; it
 * looks at this host and says what it found and, when that is not right, what to do. */
#pragma once

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
check_fn check_front, check_openmpi, check_mpich, check_preload, check_clock, check_viewer;
/* doctor_slurm.c */
check_fn check_slurm, check_plugin, check_plugstack, check_slurmd, check_spool;
/* doctor_node.c */
check_fn check_programs, check_containers, check_room, check_late;
/* doctor_policy.c */
check_fn check_policy;
/* Print what a job of these facts ("user=alice", ...) would get, and why. file: NULL for the one that the plugin reads;
 * another one may also belong to the caller, who tries it out. An enum exit_code. */
int doctor_policy(const char *file, char *const *facts, int nfacts, bool json);

/* doctor_plugstack.c: what plugstack.conf says about our plugin. */
struct plugstack {
	char path[PATH_MAX]; /* of plugstack.conf; empty if no Slurm configuration was found */
	bool readable;
	unsigned times;		/* lines that name mpitrace.so */
	bool required;		/* one of them stops jobs when the plugin fails */
	char plugin[PATH_MAX];	/* as written in the first of them */
	struct config config;	/* its arguments, defaults for the rest */
	bool before_pyxis;	/* a container plugin comes behind us */
	char bad_argument[256]; /* one that the plugin does not know */
};

/* Read it now. */
void plugstack_read(struct plugstack *ret_p);
