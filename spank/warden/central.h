/* central.h - a site's central directory: each user's results below <directory>/<user> (docs/POLICY.md). */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define CENTRAL_USAGE ".usage" /* root's; <user> and CENTRAL_ALL hold one number: bytes, as the last sweep found them */
#define CENTRAL_ALL ".all"     /* as far as they could be counted */
#define CENTRAL_UNKNOWN UINT64_MAX

/* The number in <directory>/.usage/<name>, 0 when there is none yet; CENTRAL_UNKNOWN when not all could be counted, or
 * it cannot be read or is not root's alone. */
uint64_t central_usage(int directory_fd, const char *name);
/* Remove results that are older than retention_seconds (0: none), as their user, and count what each user has. Prints
 * what it did. Another sweep at it, or one a few minutes ago, is enough: then nothing happens. */
void central_sweep(const char *directory, uint64_t retention_seconds);
