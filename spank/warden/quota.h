/* quota.h - how much root keeps on a node for whom. Every place where something of a job stays beyond a call asks here
 * first (docs/STEPDIR.md): what a user may have, what all may have, what stays free of the file system, whatever is
 * kept in it, and when it goes although nobody fetched it. What is refused is counted, and the sweep says it. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include <sys/types.h>

enum quota_area { QUOTA_LIVE, QUOTA_DEFERRED, QUOTA_JOBS, QUOTA_KEPT, QUOTA_AREAS };

#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define DAYS 86400u

/* clang-format off */
/* A bound is a number of bytes, and at most such a part of the file system. What stays free is the part, and no more
 * than the bytes; of inodes the part. The age is that of the last write, 0: it goes with its job. */
#define QUOTA_TABLE(X) /* \
	  area  directory  user: bytes, part, entries   all: bytes, part, entries   free: bytes, part   age */ \
	X(LIVE, "live",     8 * MIB,  32,  4096,         64 * MIB, 8, 65536,         64 * MIB,   20,    0) \
	X(DEFERRED, "late", 1 * MIB,  64,   256,         16 * MIB, 16, 4096,         64 * MIB,   20,    1 * DAYS) \
	X(JOBS, "jobs",     8 * MIB,  64,  2048,         32 * MIB, 16, 8192,         64 * MIB,   20,   30 * DAYS) \
	X(KEPT, "kept",   512 * MIB,   8,  1000,          4 * GIB,  2, 16000,        UINT64_MAX, 10,    7 * DAYS)
/* clang-format on */

struct quota_bound {
	uint64_t bytes;
	unsigned part; /* 8: an eighth */
	unsigned entries;
};

struct quota {
	const char *directory;
	struct quota_bound user, all;
	uint64_t free_bytes;
	unsigned free_part;
	unsigned age_seconds;
};

extern const struct quota quotas[QUOTA_AREAS];

struct quota_use {
	uint64_t bytes;
	unsigned entries;
};

/* What such a bound lets somebody have on this file system. */
uint64_t quota_bytes(const struct quota_bound *b, const struct statvfs *fs);
/* What may be used of the file system still; nothing when it is short of inodes. */
uint64_t quota_room(const struct quota *q, const struct statvfs *fs);
/* What all have, and this user, of the files in live/, late/ or jobs/: each is root's and has a line "uid=NUMBER". */
void quota_count(enum quota_area area, int area_fd, uid_t uid, struct quota_use *ret_user, struct quota_use *ret_all);
/* May this user have one file of need_bytes more there? 0; or -EDQUOT, -ENOSPC with text, and it is counted. Two who
 * ask at once may both get the last of it. */
int quota_admit(enum quota_area area, int area_fd, uid_t uid, uint64_t need_bytes, struct error *e);
/* One more that was not kept. */
void quota_refuse(enum quota_area area, int area_fd);
/* How many, since somebody asked last. */
uint64_t quota_take_refused(enum quota_area area, int area_fd);
