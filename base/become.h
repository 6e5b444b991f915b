/* become.h - giving up root for a user, for good, and what such a process may still do.
 * Only system calls, nothing is allocated: usable between fork and exec. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IDENTITY_GROUPS_MAX 256
#define IDENTITY_TEXT_MAX (IDENTITY_GROUPS_MAX * 11 + 32)

struct identity {
	uid_t uid;
	gid_t gid;
	const gid_t *gids; /* supplementary */
	int ngids;
};

/* Groups, gid, uid, each checked afterwards, no_new_privs. False if anything is not as it must be, also for uid 0; the
 * caller must then _exit. */
bool become(const struct identity *who);
/* Nobody but root looks into this process or changes it from now on (ptrace(2), /proc/PID/mem), and it dies with the
 * one that started it. For after become(): whoever started it can not reach it in between, as root's it was closed. */
bool become_closed(void);
/* Of that resource (RLIMIT_..., setrlimit(2)) no more than this, and never again more. */
void become_limited(int resource, uint64_t value);

/* What a confined process may do all the same. */
enum confined { CONFINED_ALONE = 0, CONFINED_THREADS = 1, CONFINED_COUNTERS = 2 };

/* No new programs, no network, no looking into others, no memory that limits do not count; no further process or thread
 * without CONFINED_THREADS, no perf_event_open(2) without CONFINED_COUNTERS. False if the kernel has no seccomp(2): the
 * caller goes on, limits hold all the same. */
bool become_confined(unsigned may);

/* "UID:GID:G,G,...", as `mpitrace --as` takes it. The length, or -1 when it finds no room. */
int identity_format(const struct identity *who, char *ret_text, size_t cap_bytes);
/* False for what is none. *ret_who points into ret_gids. */
bool identity_parse(const char *text, struct identity *ret_who, gid_t ret_gids[IDENTITY_GROUPS_MAX]);
