/* threads.c DIR - eight threads call the tracer's wrappers as fast as they can while another one drains their
 * segments as the agent does. TAP; ThreadSanitizer speaks up by itself. */
#include "collect/process.h"
#include "format/mpic.h"
#include "tests/threads/bound.h"

#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 8
#define ROUNDS 1000
#define CALLS_A_ROUND 20

static const struct wrapper *table;
static atomic_bool over;
static char segments[4096];

static void *wrapper(const char *name)
{
	for (const struct wrapper *w = table; w->name != NULL; w++)
		if (strcmp(w->name, name) == 0)
			return w->function;
	abort();
}

/* What the program would call after the preload. */
#define CALL(name, ...) ((__typeof__(&name))wrapper(#name))(__VA_ARGS__)

static void *work(void *context)
{
	int me = (int)(intptr_t)context, a = 0, b = 0, flag;
	char name[32];
	MPI_Comm comm;
	MPI_Datatype type;
	MPI_Request r[2], one;
	MPI_Win win;
	MPI_File file;
	for (int i = 0; i < ROUNDS; i++) {
		CALL(MPI_Comm_dup, MPI_COMM_WORLD, &comm);
		snprintf(name, sizeof(name), "%d.%d", me, i % 10);
		CALL(MPI_Comm_set_name, comm, name);
		CALL(MPI_Type_contiguous, 1 + i % 5, MPI_INT, &type);
		CALL(MPI_Irecv, &b, 1, type, 0, i % 50, comm, &r[0]);
		CALL(MPI_Isend, &a, 1, MPI_INT, 0, i % 50, comm, &r[1]);
		CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
		CALL(MPI_Irecv, &b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &one);
		CALL(MPI_Iprobe, 0, 3, comm, &flag, MPI_STATUS_IGNORE);
		CALL(MPI_Test, &one, &flag, MPI_STATUS_IGNORE);
		CALL(MPI_Test, &one, &flag, MPI_STATUS_IGNORE);
		CALL(MPI_Allreduce, &a, &b, 1, type, MPI_SUM, comm);
		CALL(MPI_Win_create, &a, 4, 1, MPI_INFO_NULL, comm, &win);
		CALL(MPI_Put, &a, 1, type, 0, 0, 1, type, win);
		CALL(MPI_File_open, comm, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
		CALL(MPI_File_iwrite, file, &a, 1, type, &one);
		CALL(MPI_Wait, &one, MPI_STATUS_IGNORE);
		CALL(MPI_File_close, &file);
		CALL(MPI_Win_free, &win);
		CALL(MPI_Type_free, &type);
		CALL(MPI_Comm_free, &comm);
	}
	return NULL;
}

static bool find_segments(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strstr(entry->d_name, SEGFILE_SUFFIX) != NULL && strstr(entry->d_name, SPILL_SUFFIX) == NULL)
			snprintf(segments, sizeof(segments), "%s/%s", dir, entry->d_name);
	if (d != NULL)
		closedir(d);
	return segments[0] != '\0';
}

struct drained {
	struct process process;
	struct output output;
};

static void *drain(void *context)
{
	struct drained *d = context;
	while (!atomic_load(&over)) {
		if (process_drain(&d->process, &d->output, false) > 0) {
			output_flush(&d->output);
			process_give_back(&d->process);
		}
		usleep(200);
	}
	return NULL;
}

static uint64_t sum_of(const struct drained *d, bool lost)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < d->process.nthreads; i++)
		if (d->process.threads[i].area != NULL)
			n += lost ? d->process.threads[i].area->lost : d->process.threads[i].calls;
	return n;
}

/* Polls are recorded as one event: count calls, not events. */
static uint64_t calls_in_events(const char *path)
{
	static struct mpic_events it;
	struct mpic_file f;
	_cleanup_buf_ struct buf payload = {0};
	struct mpic_event ev;
	uint64_t calls = 0;
	uint32_t n;
	if (mpic_open(path, &f, NULL) < 0)
		return 0;
	for (size_t i = 0; i < f.nblocks; i++) {
		if (f.blocks[i].kind != MPIC_EVENTS || mpic_read(&f, &f.blocks[i], &payload, NULL) < 0 ||
		    mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &n) < 0)
			continue;
		while (mpic_events_next(&it, &ev) == 1)
			calls += ev.nextra == 2 ? ev.extra[0] : 1;
	}
	mpic_close(&f);
	return calls;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/mpitrace-threads-XXXXXX", command[64];
	struct drained d = {.output = {.name = "n1", .fd = -1}};
	pthread_t workers[THREADS], drainer;
	int provided;
	if (mkdtemp(dir) == NULL || setenv("MPITRACE_DIR", dir, 1) != 0)
		return 1;
	table = bound();
	CALL(MPI_Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	d.output.wanted_dir = d.output.fallback_dir = dir;
	if (!find_segments(dir) || process_open(&d.process, segments, 0, NULL) < 0 || output_open(&d.output, NULL) < 0)
		return 1;
	pthread_create(&drainer, NULL, drain, &d);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&workers[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i], NULL);
	CALL(MPI_Finalize);
	atomic_store(&over, true);
	pthread_join(drainer, NULL);
	process_drain(&d.process, &d.output, true);
	process_profile(&d.process, &d.output);
	char path[4096];
	snprintf(path, sizeof(path), "%s", d.output.path);
	uint64_t calls = sum_of(&d, false), lost = sum_of(&d, true),
		 want = (uint64_t)THREADS * ROUNDS * CALLS_A_ROUND + 2;
	output_close(&d.output);
	uint64_t recorded = calls_in_events(path);
	printf("1..2\n%sok 1 - the totals hold every call: %llu of %llu\n", calls == want ? "" : "not ",
	       (unsigned long long)calls, (unsigned long long)want);
	printf("%sok 2 - the events record every call: %llu, %llu lost\n", recorded + lost == want ? "" : "not ",
	       (unsigned long long)recorded, (unsigned long long)lost);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0 || calls != want || recorded + lost != want;
}
