/* pmpi_notes.c - files that the tracer leaves beside its segments: whose they are, and which descriptors they have
 * meanwhile. On a stub of MPI. */
#include "traced.h"

#include "format/limits.h"
#include "pmpi/notes.h"
#include "pmpi/segfile.h"
#include "pmpi/stream.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char place[] = "/tmp/mpitrace-notes-XXXXXX";

static const char *in_place(const char *name)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

static void make_place(void)
{
	cr_assert_not_null(mkdtemp(place));
	setenv("MPITRACE_DIR", place, 1);
}

static void drop_place(void)
{
	char command[300];
	snprintf(command, sizeof(command), "rm -rf %s", place);
	cr_assert_eq(system(command), 0);
}

TestSuite(notes, .init = make_place, .fini = drop_place);

/* A file that nobody may change, and a second name of it. */
static void make_victim(const char *name)
{
	char first[256], second_name[600];
	snprintf(second_name, sizeof(second_name), "%s", name);
	int fd = open(in_place("victim"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_eq(write(fd, "untouched\n", 10), 10);
	cr_assert_eq(fchmod(fd, 0444), 0);
	close(fd);
	snprintf(first, sizeof(first), "%s", in_place("victim"));
	cr_assert_eq(link(first, second_name), 0);
}

static void check_victim(void)
{
	char text[32] = "";
	struct stat st;
	int fd = open(in_place("victim"), O_RDONLY | O_CLOEXEC);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(read(fd, text, sizeof(text) - 1), 10, "%s", text);
	cr_expect_str_eq(text, "untouched\n");
	cr_expect_eq(st.st_mode & 07777, 0444, "%o", st.st_mode);
	close(fd);
	cr_assert_eq(unlink(in_place("victim")), 0);
}

Test(notes, a_line_that_would_go_through_a_second_name_is_counted_elsewhere)
{
	struct stat st;
	make_victim(in_place("untraced"));
	note_untraced("failed", "", "a reason");
	check_victim();
	cr_expect_eq(stat(in_place("unsaid"), &st), 0);
	cr_expect_eq(st.st_size, 1);
	make_victim(in_place("exits"));
	cr_expect_not(note_append("exits", EXITS_BYTES_MAX, "1 0 1\n", 6));
	check_victim();
	cr_assert_eq(unlink(in_place("unsaid")), 0);
	make_victim(in_place("unsaid"));
	note_untraced("failed", "", "a reason");
	check_victim();
}

Test(notes, who_has_no_room_to_say_why_is_counted_up_to_a_limit)
{
	struct stat st;
	cr_assert_eq(mkdir(in_place("untraced"), 0700), 0); /* no line can be written */
	int fd = open(in_place("unsaid"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_eq(ftruncate(fd, UNTRACED_UNSAID_MAX - 1), 0);
	for (int i = 0; i < 3; i++)
		note_untraced("failed", "", "a reason");
	cr_expect_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_size, UNTRACED_UNSAID_MAX);
	close(fd);
}

Test(notes, a_file_that_is_not_ours_is_not_opened)
{
	if (geteuid() != 0)
		return;
	int fd = open(in_place("untraced"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert_eq(fchown(fd, 65534, 65534), 0);
	close(fd);
	cr_expect_not(note_append("untraced", UNTRACED_BYTES_MAX, "a line\n", 7));
	cr_assert_eq(chown(in_place("untraced"), 0, 0), 0);
	cr_expect(note_append("untraced", UNTRACED_BYTES_MAX, "a line\n", 7));
}

static void send_many(int n)
{
	static int value;
	for (int i = 0; i < n; i++)
		CALL(MPI_Send, &value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
}

/* As segments are when nobody drains them. */
Test(notes, segments_that_would_be_spilled_through_a_second_name_are_lost_for_that_reason)
{
	enum { N = 100000 };
	char path[600];
	glob_t found;
	traced_begin(MPI_THREAD_SINGLE);
	snprintf(path, sizeof(path), "%s/*" SEGFILE_SUFFIX, getenv("MPITRACE_DIR"));
	cr_assert_eq(glob(path, 0, NULL, &found), 0);
	snprintf(path, sizeof(path), "%s" SPILL_SUFFIX, found.gl_pathv[0]);
	globfree(&found);
	make_victim(path);
	send_many(N);
	cr_expect_eq(stream_mine->area->lost_reason, LOST_SPILL_REFUSED);
	check_victim();
	cr_assert_eq(unlink(path), 0);
	const struct traced *t = traced_end();
	cr_expect_gt(t->lost, 0);
	cr_expect_eq(traced_count(t, "MPI_Send") + t->lost, N);
}

/* As a program that takes its rights back for a while: the files stay those of who began it. */
Test(notes, a_program_that_is_another_user_for_a_while_loses_nothing)
{
	enum { N = 100000, NOBODY = 65534 };
	if (geteuid() != 0)
		return;
	cr_assert_eq(seteuid(NOBODY), 0);
	traced_begin(MPI_THREAD_SINGLE);
	send_many(N);
	uint64_t before = segfile->spilled;
	cr_assert_gt(before, 0);
	cr_assert_eq(seteuid(0), 0);
	send_many(N);
	cr_assert_eq(seteuid(NOBODY), 0);
	cr_assert_gt(segfile->spilled, before);
	const struct traced *t = traced_end();
	cr_expect_eq(t->lost, 0);
	cr_expect_eq(traced_count(t, "MPI_Send"), 2 * N);
	cr_assert_eq(seteuid(0), 0);
}

/* ---- standard streams that are closed ---- */

static atomic_bool over;
static _Atomic unsigned written;

static void *write_errors(void *unused)
{
	while (!atomic_load(&over))
		for (int fd = 0; fd < 3; fd++)
			written += write(fd, "said by the program\n", 20) > 0;
	return unused;
}

/* Exit code: 1 more than what went wrong, or 0. */
static int leave_notes(void)
{
	pthread_t thread;
	char text[64];
	int fd;
	for (fd = 0; fd < 3; fd++)
		close(fd);
	pthread_create(&thread, NULL, write_errors, NULL);
	for (int i = 0; i < 500; i++)
		note_append("untraced", UNTRACED_BYTES_MAX, "a line\n", 7);
	int own = note_open(in_place("own"), O_RDWR | O_CREAT, geteuid());
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	if (own < 3)
		return 1;
	for (fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
			return 2;
	if ((fcntl(own, F_GETFD) & FD_CLOEXEC) == 0)
		return 3;
	fd = open(in_place("untraced"), O_RDONLY | O_CLOEXEC);
	if (pread(fd, text, 7, 499 * 7) != 7 || strncmp(text, "a line\n", 7) != 0 || lseek(fd, 0, SEEK_END) != 500 * 7)
		return 4;
	return written == 0 ? 0 : 5;
}

Test(notes, what_a_program_writes_to_a_stream_that_it_has_closed_is_in_no_file_of_ours)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(leave_notes());
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0, "%x", status);
}
