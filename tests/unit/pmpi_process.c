/* pmpi_process.c - what the tracer says of the process that it is in, what it leaves out where it is asked to, and
 * files. On a stub of MPI. */
#include "traced.h"

#include "pmpi/library.h"
#include "pmpi/record.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int value;

static void send(int tag)
{
	CALL(MPI_Send, &value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
}

static void own_exe(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = '\0';
}

Test(process, says_who_it_is_where_it_runs_and_how_it_was_called)
{
	char exe[PATH_MAX], host[256] = "";
	stub.size = 8, stub.rank = 3;
	setenv("SLURM_TOPOLOGY_ADDR", "s0.s1.n1", 1);
	setenv("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node", 1);
	setenv("PMIX_NAMESPACE", "job@3", 1);
	traced_begin(MPI_THREAD_FUNNELED);
	const struct segfile *f = traced_end()->file;
	own_exe(exe);
	gethostname(host, sizeof(host) - 1);
	cr_expect_eq(f->pid, (uint32_t)getpid());
	cr_expect_eq(f->size, 8);
	cr_expect_eq(f->rank, 3);
	cr_expect_eq(f->thread_level, MPI_THREAD_FUNNELED);
	cr_expect_str_eq(f->exe, exe);
	cr_expect_str_eq(f->host, host);
	cr_expect_str_eq(f->library, "stub");
	cr_expect_str_eq(f->switches, "s0.s1.n1 switch.switch.node");
	cr_expect_str_eq(f->job_namespace, "job@3");
	cr_expect_eq(f->any_source, MPI_ANY_SOURCE);
	cr_expect_eq(f->proc_null, MPI_PROC_NULL);
	cr_expect_gt(f->argv_len_bytes, 0);
	cr_expect_neq(f->argv[0], 0);
	cr_expect_eq(f->argv_missing_bytes, 0);
	cr_expect_eq(f->state, SEGFILE_FINALIZED);
	cr_expect_eq(f->parents, 0);
}

/* Which calls is chosen by the clock: of 20,000 calls 312 in the mean. */
Test(process, times_the_recording_of_some_of_its_calls)
{
	traced_begin(MPI_THREAD_SINGLE);
	for (int i = 0; i < 20000; i++)
		send(7);
	const struct traced *t = traced_end();
	cr_expect_gt(t->file->recording_ticks_m, 0);
	cr_expect_gt(t->file->inside_ticks_m, 0);
	cr_expect(t->areas[0]->recording_calls > 30 && t->areas[0]->recording_calls < 3000, "%llu calls",
		  (unsigned long long)t->areas[0]->recording_calls);
	cr_expect_gt(t->areas[0]->recording_ticks, 0);
	cr_expect_eq(traced_count(t, "MPI_Send"), 20000, "calls that are made to time them are no events");
}

/* The tenth field behind the twelfth: when this process began, as the kernel counts. */
Test(process, says_when_it_began_and_which_processors_it_may_use)
{
	char text[1024] = "", cpus[256] = "";
	unsigned long long began = 0;
	traced_begin(MPI_THREAD_SINGLE);
	const struct segfile *f = traced_end()->file;
	FILE *stat = fopen("/proc/self/stat", "r");
	cr_assert_not_null(fgets(text, sizeof(text), stat));
	fclose(stat);
	const char *behind = strrchr(text, ')');
	cr_assert_eq(sscanf(behind + 2,
			    "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &began),
		     1);
	cr_expect_eq(f->process_start, began);
	FILE *status = fopen("/proc/self/status", "r");
	while (fgets(text, sizeof(text), status) != NULL)
		if (sscanf(text, "Cpus_allowed_list: %255s", cpus) == 1)
			break;
	fclose(status);
	cr_expect_str_eq(f->cpus, cpus);
	cr_expect(f->start_tick <= f->init_exit_tick && f->init_exit_tick <= f->finalize_enter_tick &&
		  f->finalize_enter_tick <= f->end_tick);
}

Test(process, that_was_spawned_names_its_parents)
{
	static const struct {
		const char *own, *port, *said;
	} cases[] = {
		{"prterun-n1-77@2", "131073.0:tcp", "prterun-n1-77@1"}, /* the lower half of 2 << 16 | 1 */
		{"1234.2", "1234.1.0:tcp", "1234"},
		{"prterun-n1-77@2", NULL, ""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status;
		pid_t pid = fork();
		if (pid == 0) {
			stub.parents = 3;
			setenv("PMIX_NAMESPACE", cases[i].own, 1);
			if (cases[i].port != NULL)
				setenv("OMPI_PARENT_PORT", cases[i].port, 1);
			traced_begin(MPI_THREAD_SINGLE);
			const struct segfile *f = traced_end()->file;
			_exit(f->parents != 3 ? 1 : strcmp(f->parent_namespace, cases[i].said) != 0 ? 2 : 0);
		}
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_expect_eq(status, 0, "%s: %d", cases[i].said, WEXITSTATUS(status));
	}
}

/* Where several threads call at once; others do not pay for locks. */
Test(process, of_several_threads_locks_its_tables)
{
	traced_begin(MPI_THREAD_MULTIPLE);
	cr_expect(tables_shared);
	traced_end();
}

Test(process, of_one_thread_does_not_lock_its_tables)
{
	traced_begin(MPI_THREAD_SERIALIZED);
	cr_expect_not(tables_shared);
	traced_end();
}

static void *burn_and_send(void *unused)
{
	struct timespec now = {0};
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_nsec < 50000000);
	send(1);
	return unused;
}

/* One that has ended, the next at the same place, and the one that calls MPI_Finalize. */
Test(process, says_how_long_each_thread_ran)
{
	pthread_t thread;
	traced_begin(MPI_THREAD_MULTIPLE);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(pthread_create(&thread, NULL, burn_and_send, NULL), 0);
		pthread_join(thread, NULL);
	}
	const struct traced *t = traced_end();
	const struct thread_area *main = t->areas[0], *others = t->areas[1];
	cr_expect_eq(main->counted, THREAD_COUNTED);
	cr_expect_lt(main->running_ns, 50000000, "without what was before");
	cr_expect_eq(others->threads_before, 1);
	cr_expect_eq(others->counted, THREAD_COUNTED_AT_END);
	cr_expect_eq(others->counted_before, 1);
	cr_expect_geq(others->running_ns, 49000000);
	cr_expect_geq(others->running_before_ns, 49000000);
	cr_expect(main->ready_ns >= 0 && others->ready_ns >= 0 && others->ready_before_ns >= 0);
}

Test(process, a_call_site_lies_in_a_module_that_is_named)
{
	char exe[PATH_MAX];
	traced_begin(MPI_THREAD_SINGLE);
	send(1);
	const struct traced *t = traced_end();
	uint64_t address = traced_call(t, "MPI_Send", 0)->sig.address;
	const struct mpic_def *of = NULL;
	own_exe(exe);
	for (size_t i = 0; i < t->ndefs; i++)
		if (t->defs[i].type == MPIC_DEF_MODULE && address >= t->defs[i].begin && address < t->defs[i].end) {
			cr_expect_null(of, "of one module only");
			of = &t->defs[i];
		}
	cr_assert_not_null(of);
	cr_expect_eq(of->name.len_bytes, strlen(exe));
	cr_expect_eq(memcmp(of->name.data, exe, strlen(exe)), 0);
	cr_expect_gt(of->build_id.len_bytes, 0);
	cr_expect_eq(t->file->modules_missing, 0);
}

/* Code in a section of its own, which is taken for a library. */
extern const char __start_layer[] __attribute__((visibility("hidden")));
extern const char __stop_layer[] __attribute__((visibility("hidden")));

static __attribute__((noinline, section("layer"))) uintptr_t layers_barrier(int (*barrier)(MPI_Comm))
{
	barrier(MPI_COMM_WORLD);
	return (uintptr_t)__builtin_return_address(0);
}

/* As a rule behind it in memory. */
static __attribute__((noinline, section("program"))) uintptr_t call_layer(int (*barrier)(MPI_Comm))
{
	uintptr_t caller = layers_barrier(barrier);
	__asm__ volatile(""); /* no tail call */
	return caller;
}

/* There may be two: of mpif.h and of mpi_f08. */
Test(process, a_call_through_a_fortran_layer_is_that_of_who_called_the_layer)
{
	uintptr_t caller[2];
	traced_begin(MPI_THREAD_SINGLE);
	mpi_hull_begin = (uintptr_t)__start_layer;
	mpi_hull_len = (uintptr_t)(__stop_layer - __start_layer);
	for (int i = 0; i < 2; i++) {
		mpi_code_begin[i] = mpi_hull_begin;
		mpi_code_len[i] = mpi_hull_len;
		caller[i] = call_layer((int (*)(MPI_Comm))traced_wrapper("MPI_Barrier"));
		mpi_code_len[i] = 0;
	}
	const struct traced *t = traced_end();
	for (unsigned i = 0; i < 2; i++)
		cr_expect_eq(traced_call(t, "MPI_Barrier", i)->sig.address, caller[i], "layer %u", i);
}

Test(process, of_redacted_paths_hosts_and_arguments_names_stay)
{
	char exe[PATH_MAX], expected[PATH_MAX + 4];
	setenv("MPITRACE_REDACT", "paths,hosts", 1);
	setenv("SLURM_TOPOLOGY_ADDR", "s0.n1", 1);
	traced_begin(MPI_THREAD_SINGLE);
	send(1);
	const struct traced *t = traced_end();
	own_exe(exe);
	snprintf(expected, sizeof(expected), "/-/%s", strrchr(exe, '/') + 1);
	cr_expect_str_eq(t->file->exe, expected);
	cr_expect_str_eq(t->file->host, "");
	cr_expect_str_eq(t->file->switches, "");
	cr_expect_eq(t->file->argv_len_bytes, 0, "they hold paths and names of hosts as well");
	for (size_t i = 0; i < t->ndefs; i++)
		if (t->defs[i].type == MPIC_DEF_MODULE && t->defs[i].name.len_bytes > 3)
			cr_expect_eq(memcmp(t->defs[i].name.data, "/-/", 3), 0, "%.*s", (int)t->defs[i].name.len_bytes,
				     (const char *)t->defs[i].name.data);
}

Test(process, as_a_profile_has_totals_and_says_what_it_left_out)
{
	setenv("MPITRACE_MODE", "profile", 1);
	traced_begin(MPI_THREAD_SINGLE);
	for (int i = 0; i < 10; i++)
		send(i);
	const struct traced *t = traced_end();
	cr_expect_eq(t->ncalls, 0);
	cr_expect_eq(t->counted, 12);
	cr_expect_eq(t->lost, 12);
	cr_expect_gt(t->file->overhead_ps, 0);
}

Test(process, what_a_call_costs_is_measured_and_leaves_nothing_behind)
{
	traced_begin(MPI_THREAD_SINGLE);
	send(1);
	const struct traced *t = traced_end();
	cr_expect_eq(t->ncalls, 3);
	cr_expect_eq(t->counted, 3);
	cr_expect_eq(t->lost, 0);
	cr_expect_gt(t->file->overhead_ps, 0);
}

Test(process, callers_are_recorded_as_many_as_are_asked_for)
{
	setenv("MPITRACE_STACK", "2", 1);
	traced_begin(MPI_THREAD_SINGLE);
	for (int i = 0; i < 3; i++)
		send(1);
	const struct traced *t = traced_end();
	for (unsigned i = 0; i < 3; i++) {
		const struct traced_call *c = traced_call(t, "MPI_Send", i);
		cr_assert_eq(c->sig.nframes, 2, "%u", c->sig.nframes);
		cr_expect_neq(c->sig.frames[0], 0);
		cr_expect_neq(c->sig.frames[0], c->sig.address);
	}
}

Test(process, without_a_directory_of_its_own_nothing_is_traced_and_the_program_runs)
{
	static const char *const bad[] = {"/tmp", "/", "relative", "/nonexistent/x", "/tmp/../tmp"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		pid_t pid = fork();
		if (pid == 0) {
			traced_begin_in(bad[i]);
			CALL(MPI_Send, &value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
			_exit(CALL(MPI_Finalize) == MPI_SUCCESS ? 0 : 1);
		}
		int status;
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_expect_eq(status, 0, "%s", bad[i]);
	}
}

/* The program may go elsewhere, and the name would mean another place. */
Test(process, a_directory_without_its_whole_path_is_not_written_to)
{
	char dir[] = "/tmp/mpitrace-whole-XXXXXX";
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
	cr_assert_eq(mkdir("own", 0700), 0);
	traced_begin_in("own");
	CALL(MPI_Finalize);
	cr_expect_eq(rmdir("own"), 0, "it is empty");
	cr_assert_eq(rmdir(dir), 0);
}

/* ---- files ---- */

Test(process, each_opening_is_a_file_with_how_it_was_opened)
{
	static const struct {
		int mpi;
		uint32_t ours;
	} modes[] = {
		{MPI_MODE_RDONLY, MPIC_MODE_READ},
		{MPI_MODE_WRONLY | MPI_MODE_CREATE, MPIC_MODE_WRITE | MPIC_MODE_CREATE},
		{MPI_MODE_RDWR | MPI_MODE_APPEND, MPIC_MODE_READ | MPIC_MODE_WRITE | MPIC_MODE_APPEND},
		{MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN,
		 MPIC_MODE_READ | MPIC_MODE_DELETE_ON_CLOSE | MPIC_MODE_UNIQUE},
		{MPI_MODE_WRONLY | MPI_MODE_EXCL | MPI_MODE_SEQUENTIAL,
		 MPIC_MODE_WRITE | MPIC_MODE_EXCLUSIVE | MPIC_MODE_SEQUENTIAL},
	};
	enum { N = sizeof(modes) / sizeof(modes[0]) };
	MPI_File file;
	MPI_Request r;
	traced_begin(MPI_THREAD_SINGLE);
	for (int i = 0; i < N; i++) {
		CALL(MPI_File_open, MPI_COMM_WORLD, "/data/out", modes[i].mpi, MPI_INFO_NULL, &file);
		CALL(MPI_File_iwrite, file, &value, 3, MPI_INT, &r);
		CALL(MPI_Wait, &r, MPI_STATUS_IGNORE);
		CALL(MPI_File_close, &file);
	}
	const struct traced *t = traced_end();
	for (unsigned i = 0; i < N; i++) {
		const struct mpic_def *d = traced_def(t, MPIC_DEF_FILE, i);
		const struct traced_call *write = traced_call(t, "MPI_File_iwrite", i);
		cr_expect_eq(d->mode, modes[i].ours, "opening %u: %u", i, d->mode);
		cr_expect_eq(d->comm, 0);
		cr_expect_eq(d->name.len_bytes, 9);
		cr_expect(i == 0 || d->global_id != traced_def(t, MPIC_DEF_FILE, i - 1)->global_id);
		cr_expect_eq(write->sig.object, d->id);
		cr_expect_eq(write->sig.io, IO_WRITE);
		cr_expect_eq(write->sig.bytes, 12);
		cr_expect_eq(write->sig.flags & (SIG_STARTS_REQUEST | SIG_SIZED), SIG_STARTS_REQUEST);
		cr_expect_eq(write->nextra, 0, "it names no offset");
		cr_expect_eq(traced_call(t, "MPI_File_open", i)->sig.object, d->id);
		cr_expect_eq(traced_call(t, "MPI_File_close", i)->sig.object, d->id);
		cr_expect_eq(traced_call(t, "MPI_File_close", i)->sig.io, IO_CLOSE);
	}
}
