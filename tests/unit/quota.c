/* quota.c - what root keeps on a node for whom, without a node. */
#include "spank/warden/quota.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char spool[] = "/tmp/mpitrace-quota-XXXXXX";
static int area_fd;

static void make_area(void)
{
	char area[64];
	cr_assert(mkdtemp(spool) != NULL);
	snprintf(area, sizeof(area), "%s/late", spool);
	cr_assert_eq(mkdir(area, 0700), 0);
	area_fd = open(area, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(area_fd, 0);
}

static void drop_area(void)
{
	char command[128];
	close(area_fd);
	snprintf(command, sizeof(command), "rm -rf %s", spool);
	cr_assert_eq(system(command), 0);
}

static void leave(unsigned number, const char *head, unsigned more_bytes)
{
	char name[32];
	snprintf(name, sizeof(name), "%u", number);
	int fd = openat(area_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	cr_assert_geq(fd, 0);
	dprintf(fd, "%s\n%*s", head, (int)more_bytes, "");
	close(fd);
}

static struct statvfs file_system(uint64_t megabytes, uint64_t free_megabytes)
{
	return (struct statvfs){.f_frsize = 1 << 20, .f_blocks = megabytes, .f_bavail = free_megabytes};
}

Test(quota, a_bound_is_its_bytes_or_its_part_whichever_is_less)
{
	const struct quota_bound b = {.bytes = 8 << 20, .part = 16};
	struct statvfs large = file_system(1000, 1000), small = file_system(64, 64);
	cr_expect_eq(quota_bytes(&b, &large), 8u << 20);
	cr_expect_eq(quota_bytes(&b, &small), 4u << 20);
}

Test(quota, what_is_to_stay_free_stays_free)
{
	const struct quota q = {.free_bytes = 64 << 20, .free_part = 20};
	struct statvfs large = file_system(10000, 100), small = file_system(100, 6), full = file_system(100, 5);
	cr_expect_eq(quota_room(&q, &large), 36u << 20);
	cr_expect_eq(quota_room(&q, &small), 1u << 20);
	cr_expect_eq(quota_room(&q, &full), 0);
	large.f_files = 1000;
	large.f_favail = 49;
	cr_expect_eq(quota_room(&q, &large), 0, "nor are the last inodes taken");
}

Test(quota, every_area_has_each_bound)
{
	for (int i = 0; i < QUOTA_AREAS; i++) {
		const struct quota *q = &quotas[i];
		cr_expect(q->user.bytes > 0 && q->user.bytes < q->all.bytes, "%s", q->directory);
		cr_expect(q->user.part > q->all.part && q->all.part > 1, "%s", q->directory);
		cr_expect(q->user.entries > 0 && q->user.entries < q->all.entries, "%s", q->directory);
		cr_expect(q->free_bytes > 0 && q->free_part > 1, "%s", q->directory);
		cr_expect(q->age_seconds > 0 || i == QUOTA_LIVE, "%s", q->directory);
	}
}

Test(quota, a_user_has_so_many_entries_and_others_have_theirs, .init = make_area, .fini = drop_area)
{
	struct error e = {""};
	const unsigned most = quotas[QUOTA_DEFERRED].user.entries;
	for (unsigned i = 0; i + 1 < most; i++)
		leave(i, "user=somebody\nuid=77", 0);
	cr_expect_eq(quota_admit(QUOTA_DEFERRED, area_fd, 77, 100, &e), 0, "%s", e.text);
	leave(most, "uid=77", 0);
	cr_expect_eq(quota_admit(QUOTA_DEFERRED, area_fd, 77, 100, &e), -EDQUOT);
	cr_expect_neq(strstr(e.text, "the user has records"), NULL, "%s", e.text);
	cr_expect_eq(quota_admit(QUOTA_DEFERRED, area_fd, 7, 100, &e), 0, "%s", e.text);
	cr_expect_eq(quota_take_refused(QUOTA_DEFERRED, area_fd), 1);
}

Test(quota, a_user_has_so_many_bytes, .init = make_area, .fini = drop_area)
{
	struct quota_use user, all;
	struct error e = {""};
	leave(1, "uid=77", (unsigned)quotas[QUOTA_DEFERRED].user.bytes - 8192);
	leave(2, "uid=770", 100);
	leave(3, "nobody's", 100);
	quota_count(QUOTA_DEFERRED, area_fd, 77, &user, &all);
	cr_expect_eq(user.entries, 1);
	cr_expect_eq(all.entries, 3);
	cr_expect(user.bytes >= quotas[QUOTA_DEFERRED].user.bytes - 8192 && all.bytes > user.bytes);
	cr_expect_eq(quota_admit(QUOTA_DEFERRED, area_fd, 77, 1, &e), 0, "%s", e.text);
	cr_expect_eq(quota_admit(QUOTA_DEFERRED, area_fd, 77, 16384, &e), -EDQUOT);
	cr_expect_eq(quota_admit(QUOTA_DEFERRED, area_fd, 770, 16384, &e), 0, "%s", e.text);
}

Test(quota, refusals_are_counted_and_said_once, .init = make_area, .fini = drop_area)
{
	cr_expect_eq(quota_take_refused(QUOTA_DEFERRED, area_fd), 0);
	for (int i = 0; i < 3; i++)
		quota_refuse(QUOTA_DEFERRED, area_fd);
	quota_refuse(QUOTA_KEPT, area_fd);
	cr_expect_eq(quota_take_refused(QUOTA_DEFERRED, area_fd), 3);
	cr_expect_eq(quota_take_refused(QUOTA_DEFERRED, area_fd), 0);
	cr_expect_eq(quota_take_refused(QUOTA_KEPT, area_fd), 1);
}

static void size_text(uint64_t bytes, char ret_text[32])
{
	if (bytes == UINT64_MAX)
		ret_text[0] = '\0';
	else if (bytes >= GIB)
		snprintf(ret_text, 32, "%llu GiB, ", (unsigned long long)(bytes / GIB));
	else
		snprintf(ret_text, 32, "%llu MiB, ", (unsigned long long)(bytes / MIB));
}

Test(quota, the_table_of_the_documentation_is_this_one)
{
	static char text[1 << 16], line[256], user[32], all[32], stays[32], age[32];
	FILE *f = fopen(getenv("MPITRACE_STEPDIR_MD"), "r");
	cr_assert(f != NULL);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	for (int i = 0; i < QUOTA_AREAS; i++) {
		const struct quota *q = &quotas[i];
		size_text(q->user.bytes, user);
		size_text(q->all.bytes, all);
		size_text(q->free_bytes, stays);
		snprintf(age, sizeof(age), "%u day%s", q->age_seconds / DAYS, q->age_seconds > DAYS ? "s" : "");
		snprintf(line, sizeof(line), "| `%s/` | %s1/%u, %u | %s1/%u, %u | %s1/%u | %s |", q->directory, user,
			 q->user.part, q->user.entries, all, q->all.part, q->all.entries, stays, q->free_part,
			 q->age_seconds > 0 ? age : "the job's");
		cr_expect_neq(strstr(text, line), NULL, "missing: %s", line);
	}
}
