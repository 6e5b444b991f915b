/* races.c - a user's process exchanges names in the spool while root removes it, or while the agent opens what is in
 * it: as often as RACES says. What is checked by its name and then opened by it loses such a race within some
 * hundred. */
#include "collect/output.h"
#include "collect/process.h"
#include "spank/warden/remove.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RACES 1500u
#define TRIES 1000
#define INSIDE 1u /* ranks of the two segment files */
#define OUTSIDE 2u

static char root[] = "/tmp/mpitrace-races-XXXXXX";
static int root_fd;
static atomic_bool over;

static void make_root(void)
{
	cr_assert_not_null(mkdtemp(root));
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(root_fd, 0);
}

static void drop_root(void)
{
	close(root_fd);
	remove_tree(AT_FDCWD, root);
}

static unsigned races(void)
{
	const char *text = getenv("RACES");
	return text != NULL ? (unsigned)atoi(text) : RACES;
}

static void put_file(const char *name, const void *data, size_t len_bytes)
{
	int fd = openat(root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert(fd >= 0 && write(fd, data, len_bytes) == (ssize_t)len_bytes);
	close(fd);
}

static bool exists(const char *name)
{
	struct stat st;
	return fstatat(root_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The user: the first name changes places with each of the others until it is over; any may be gone at the moment. */
static void *exchange(void *context)
{
	char *const *names = context;
	while (!atomic_load(&over))
		for (char *const *other = names + 1; *other != NULL; other++)
			renameat2(root_fd, names[0], root_fd, *other, RENAME_EXCHANGE);
	return NULL;
}

static pthread_t start_exchanging(char *const names[])
{
	pthread_t thread;
	atomic_store(&over, false);
	cr_assert_eq(pthread_create(&thread, NULL, exchange, (void *)(uintptr_t)names), 0);
	return thread;
}

static void stop(pthread_t thread)
{
	atomic_store(&over, true);
	pthread_join(thread, NULL);
}

/* A directory, and links to one outside, whichever of them is listed first. */
static char *job_names[] = {"job/ranks/d", "job/ranks/a", "job/ranks/b", "job/ranks/x", "job/ranks/y", NULL};

static void make_job(void)
{
	mkdirat(root_fd, "job", 0700);
	mkdirat(root_fd, "job/ranks", 0700);
	for (char *const *name = job_names; *name != NULL; name++)
		cr_assert_eq(
			name == job_names ? mkdirat(root_fd, *name, 0700) : symlinkat("../../keep", root_fd, *name), 0);
}

Test(races, removing_a_spool_never_follows_a_link_that_was_a_directory, .init = make_root, .fini = drop_root,
     .timeout = 3000)
{
	mkdirat(root_fd, "keep", 0700);
	put_file("keep/file", "x", 1);
	pthread_t user = start_exchanging(job_names);
	for (unsigned i = 0; i < races(); i++) {
		make_job();
		for (unsigned tries = 0; exists("job") && tries < TRIES; tries++)
			remove_tree(root_fd, "job"); /* a name that changed meanwhile is left, until the next time */
		cr_assert(exists("keep/file"), "race %u", i);
		cr_assert_not(exists("job"), "race %u", i);
	}
	stop(user);
}

static void put_segment(const char *name, uint32_t rank)
{
	struct segfile *f = calloc(1, SEGFILE_HEAD_BYTES);
	cr_assert_not_null(f);
	f->magic = SEGFILE_MAGIC;
	f->version = SEGFILE_VERSION;
	f->rank = rank;
	put_file(name, f, SEGFILE_HEAD_BYTES);
	free(f);
}

/* What the agent opened under that name: the rank, or 0. */
static uint32_t opened(const char *path)
{
	struct process p;
	if (process_open(&p, path, 0, NULL) < 0)
		return 0;
	uint32_t rank = (uint32_t)p.file->rank;
	process_close(&p);
	return rank;
}

static void open_against(const char *trap)
{
	char path[300], *names[] = {"in.mpit", (char *)(uintptr_t)trap, NULL};
	unsigned got[3] = {0};
	put_segment("in.mpit", INSIDE);
	snprintf(path, sizeof(path), "%s/in.mpit", root);
	pthread_t user = start_exchanging(names);
	for (unsigned i = 0; i < races() || got[INSIDE] == 0; i++)
		got[opened(path)]++;
	stop(user);
	cr_assert_eq(got[OUTSIDE], 0, "%u times through %s", got[OUTSIDE], trap);
}

Test(races, the_agent_never_opens_a_link_that_was_a_segment_file, .init = make_root, .fini = drop_root, .timeout = 3000)
{
	mkdirat(root_fd, "far", 0700);
	put_segment("far/out", OUTSIDE);
	cr_assert_eq(symlinkat("far/out", root_fd, "link"), 0);
	open_against("link");
}

Test(races, nor_one_file_under_two_names, .init = make_root, .fini = drop_root, .timeout = 3000)
{
	mkdirat(root_fd, "far", 0700);
	put_segment("far/out", OUTSIDE);
	cr_assert_eq(linkat(root_fd, "far/out", root_fd, "second", 0), 0);
	open_against("second");
}

Test(races, nor_waits_for_a_fifo_that_was_one, .init = make_root, .fini = drop_root, .timeout = 3000)
{
	cr_assert_eq(mkfifoat(root_fd, "fifo", 0600), 0);
	open_against("fifo");
}

/* An agent died, and where its file was somebody put a second name of another file, a link, or a FIFO. */
Test(races, a_successor_cuts_no_file_but_its_own, .init = make_root, .fini = drop_root, .timeout = 60)
{
	static const char *const names[] = {"second", "link", "fifo", "directory"};
	struct stat st;
	char path[300];
	put_file("victim", "untouched", 9);
	cr_assert_eq(linkat(root_fd, "victim", root_fd, "second", 0), 0);
	cr_assert_eq(symlinkat("victim", root_fd, "link"), 0);
	cr_assert_eq(mkfifoat(root_fd, "fifo", 0600), 0);
	cr_assert_eq(mkdirat(root_fd, "directory", 0700), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct output o = {.fd = -1};
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		cr_assert_lt(output_resume(&o, path, 0), 0, "%s", names[i]);
		cr_assert_eq(fstatat(root_fd, "victim", &st, 0), 0);
		cr_assert_eq(st.st_size, 9, "%s", names[i]);
	}
}
