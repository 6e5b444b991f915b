/* warden_spool.h - a spool of its own for each test of root's side. Needs root. */
#pragma once

#include "format/layout.h"
#include "spank/warden/spool.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define USER 4242u
#define GROUP 4343u

static char base[64], spool[96];
static int live_fd;

static inline void warden_begin(void)
{
	if (geteuid() != 0)
		cr_skip_test("needs root");
	snprintf(base, sizeof(base), "/tmp/mpitrace-warden-XXXXXX");
	cr_assert_not_null(mkdtemp(base));
	cr_assert_eq(chmod(base, 0755), 0);
	snprintf(spool, sizeof(spool), "%s/spool", base);
	live_fd = spool_open(spool, "live", true, NULL);
	cr_assert_geq(live_fd, 0);
}

static inline void warden_end(void)
{
	char command[128];
	if (geteuid() != 0)
		return;
	close(live_fd);
	snprintf(command, sizeof(command), "rm -rf %s", base);
	cr_assert_eq(system(command), 0);
}

static inline const char *below(const char *name)
{
	static char path[4][512];
	static unsigned turn;
	char *to = path[turn++ % 4];
	snprintf(to, sizeof(path[0]), "%s/%s", base, name);
	return to;
}

static inline void put(const char *path, const char *text, uid_t uid, mode_t mode)
{
	FILE *f = fopen(path, "w");
	cr_assert_not_null(f, "%s", path);
	fputs(text, f);
	fclose(f);
	cr_assert_eq(chown(path, uid, uid == 0 ? 0 : GROUP), 0);
	cr_assert_eq(chmod(path, mode), 0);
}

static inline bool there(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

static inline void age(const char *path, time_t seconds)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
	cr_assert_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static inline struct layout record(void)
{
	struct layout l = {0};
	layout_set_number(&l, LAYOUT_UID, USER);
	layout_set_number(&l, LAYOUT_GID, GROUP);
	layout_set_list(&l, LAYOUT_GIDS, (const uint32_t[]){GROUP, 11, 12}, 3);
	layout_set_number(&l, LAYOUT_NODEID, 1);
	layout_set_number(&l, LAYOUT_NNODES, 5);
	layout_set(&l, LAYOUT_REPORT, "srun");
	layout_set_number(&l, LAYOUT_BUDGET_S, 17);
	layout_set(&l, LAYOUT_OUT, "/home/u/mpitrace-1/step-0");
	return l;
}
