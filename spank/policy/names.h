/* names.h - what this host calls its users and groups. The service behind it (nsswitch.conf(5)) may be slow, or gone,
 * and answers may be as long as it likes; so it is asked by a child (base/ask.h), NAMES_MS at most. */
#pragma once

#include "spank/policy/policy.h"

#define NAMES_MS 3000u
#define NAMES_ENTRY_BYTES_MAX (64u << 20) /* of one entry: a group with all its members */
#define NAMES_UNKNOWN "?"		  /* in a list of groups: one or more whose name could not be had */

/* Sets the fact `user`, unless the name cannot be had. */
void names_user(struct policy_facts *f, uid_t uid);
/* Sets the fact `group`: all numbers, the names that they have here, and NAMES_UNKNOWN for those that cannot be had. */
void names_groups(struct policy_facts *f, gid_t gid, const gid_t *more, size_t nmore);
/* The number of a group. 0; -ENOENT: there is none of this name; or another -errno: it cannot be had. */
int names_group(const char *name, gid_t *ret_gid);
