/* hostlist.h - the names in a list of hosts as Slurm writes them: "n[1-3,07],rack[0-1]n[00-15],login" (scontrol(1),
 * "show hostnames"). The text comes from a trace: anything may be in it. */
#pragma once

#include <stddef.h>

#define HOSTLIST_NAME_MAX 256 /* bytes of one name, with its end */
#define HOSTLIST_BRACKETS_MAX 4

/* Calls found for every name, in order; what it returns other than 0 ends the walk and is returned. 0 at the end,
 * -EINVAL for a text that is no list (names before the mistake have been passed on), -ENAMETOOLONG. */
int hostlist_each(const char *text, int (*found)(void *context, const char *name), void *context);
