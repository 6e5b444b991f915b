/* config.h - what the administrator wrote behind the plugin's path in plugstack.conf. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct config {
	char spool[PATH_MAX];	   /* spool=DIR; %n = this host's name */
	char libdir[PATH_MAX];	   /* libdir=DIR, where libmpitrace.so is */
	char bindir[PATH_MAX];	   /* bindir=DIR, where mpitrace is */
	char libexecdir[PATH_MAX]; /* libexecdir=DIR, where mpitrace-warden is */
	char policy
		[PATH_MAX]; /* policy=FILE, "": POLICY_FILE; the site's rules, whose limits count where none is here */
	bool default_on;    /* default=on: trace also without --mpitrace */
	bool own_mount;	    /* spool_fs=tmpfs: each step has a file system of its own in memory; none: the spool's */
	bool share_with_slurmd;	 /* spool_shared=yes: with spool_fs=none, also where slurmd keeps its own files */
	uint64_t spool_bytes;	 /* of a step on a node; 0: by its tasks */
	uint64_t node_bytes;	 /* of all steps of a node; 0: an eighth of its memory */
	uint64_t reserve_bytes;	 /* left free where the traces go; 0: a twentieth, at most 1 GiB */
	uint64_t trace_bytes;	 /* of a step's trace on a node */
	uint64_t budget_bytes;	 /* of events of a step on a node, shared by its ranks, unless budget= asks for more */
	uint64_t report_seconds; /* for a report; 0: 1 s, or 2 % of the step's time */
};

/* Fill *ret_config from the arguments, defaults for the rest. An argument that is not understood is
 * skipped and returned, so that the caller can say so: a bad plugstack.conf must not stop jobs.
 * NULL if all is well. */
const char *config_parse(int argc, char **argv, struct config *ret_config);
#define CONFIG_KEYS \
	"spool=DIR libdir=DIR bindir=DIR libexecdir=DIR policy=FILE default=on|off spool_fs=tmpfs|none " \
	"spool_shared=yes|no " \
	"spool_bytes=SIZE node_bytes=SIZE reserve_bytes=SIZE trace_bytes=SIZE budget=SIZE report_seconds=N"
