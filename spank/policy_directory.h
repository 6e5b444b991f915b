/* policy_directory.h - a user's place in the central directory of a site. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct policy_place {
	const char *directory, *user;
	uid_t uid;
	gid_t gid, readers; /* readers: the group that may read, or -1 */
	unsigned mask;
};

/* What the last sweep has counted there, or CENTRAL_UNKNOWN (spank/warden/central.h). */
struct policy_usage {
	uint64_t user_bytes, all_bytes;
};

/* As root: make <directory>/<user>, of the user and of the group that may read, if the directory is root's alone, and
 * say what is there already. By a child that is given up after a second: a file system that hangs must not hold the
 * step; then nothing is known of it: false. */
bool policy_directory(const struct policy_place *p, struct policy_usage *ret_usage);
