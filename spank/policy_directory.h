/* policy_directory.h - a user's place in the central directory of a site. */
#pragma once

#include <sys/types.h>

/* As root: make <directory>/<user>, of the user and of the group that may read (-1: the user's own), if the directory
 * is root's alone. By a child that is given up after a second: a file system that hangs must not hold the step. */
void policy_directory(const char *directory, const char *user, uid_t uid, gid_t gid, gid_t readers, unsigned mask);
