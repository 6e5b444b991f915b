/* day.c - what the agent writes beside events and definitions in a day: 64 ranks, 24 hours, simulated time.
 * In: segment files made here, with totals that grow.  Out: one row of the table of docs/PERFORMANCE.md; 1 when
 * over the goal.
 * The writers are the agent's own; only the clock is ours. */
#include "collect/snapshot.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RANKS 64
#define SIGNATURES 100 /* a rank; the "halo" of bench.py has 30 */
#define SECOND 1000000000ll
#define DAY_S 86400
#define WORK_EVERY_S 8
#define OLD_EVERY_S 10 /* before there was a back-off: everything, whole */
#define GOAL_MIB 16.0

#define AREA_AT SEGFILE_HEAD_BYTES
#define TOTALS_AT (AREA_AT + 4096)
#define FILE_BYTES (TOTALS_AT + 4096)

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static struct segfile *make(const char *path, int rank)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, FILE_BYTES) != 0)
		die(path);
	struct segfile *f = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (f == MAP_FAILED)
		die(path);
	f->regions[0] = (struct region){REGION_THREAD, 0, AREA_AT, 4096};
	f->regions[1] = (struct region){REGION_TOTALS, 0, TOTALS_AT, 4096};
	f->nregions = 2;
	f->version = SEGFILE_VERSION;
	f->pid = 100000 + (uint32_t)rank;
	f->rank = rank;
	f->size = RANKS;
	f->start_tick = 123456789012345 + (uint64_t)rank;
	snprintf(f->exe, sizeof(f->exe), "/home/user/project/build/bin/application");
	memcpy(f->argv, "./application\0--input\0case/deck.in", 34);
	f->argv_len_bytes = 34;
	snprintf(f->library, sizeof(f->library),
		 "Open MPI v4.1.4, package: Debian Open MPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022");
	snprintf(f->cpus, sizeof(f->cpus), "%d", rank);
	snprintf(f->host, sizeof(f->host), "node0001");
	snprintf(f->job_namespace, sizeof(f->job_namespace), "slurm.pmix.4711.0");
	f->magic = SEGFILE_MAGIC;
	return f;
}

/* Calls of some seconds, each signature at a rate of its own. */
static void work(struct segfile *f, int rank, uint64_t seconds)
{
	struct segment_total *totals = (struct segment_total *)(void *)((uint8_t *)f + TOTALS_AT);
	struct thread_area *area = (struct thread_area *)(void *)((uint8_t *)f + AREA_AT);
	for (uint64_t i = 0; i < SIGNATURES; i++) {
		const uint64_t calls = seconds * (1 + i * 7);
		totals[i].calls += calls;
		totals[i].ticks += calls * (2000 + (i * 2654435761u + (uint64_t)rank * 40503) % 9973);
		area->calls += calls;
	}
}

static uint64_t bytes_of(const struct output *o)
{
	return o->len_bytes + o->pending.len_bytes;
}

static double mib(double bytes)
{
	return bytes / (1 << 20);
}

static unsigned row(struct snapshots *s, struct output *o, struct process *p)
{
	uint64_t clocks = s->clock_seq, day = bytes_of(o);
	snapshot_end(s, o, p, RANKS, DAY_S * SECOND);
	uint64_t whole = bytes_of(o) - day;
	double before = (double)whole * DAY_S / OLD_EVERY_S;
	printf("| META, PROFILE and CLOCK, %d ranks in 24 h, MiB a node | <= %.0f | %.1f | %llu snapshots a rank, %llu "
	       "of clocks; "
	       "whole every %d s: %llu bytes x %d = %.0f MiB |\n",
	       RANKS, GOAL_MIB, mib((double)(day + whole)), (unsigned long long)p[0].meta_seq - 1,
	       (unsigned long long)clocks, OLD_EVERY_S, (unsigned long long)whole, DAY_S / OLD_EVERY_S, mib(before));
	return mib((double)(day + whole)) > GOAL_MIB;
}

int main(void)
{
	static struct process p[RANKS];
	static struct segfile *files[RANKS];
	static struct layout layout;
	char dir[] = "/tmp/mpitrace-day-XXXXXX", path[PATH_MAX];
	if (mkdtemp(dir) == NULL)
		die(dir);
	struct output o = {.wanted_dir = dir, .fallback_dir = dir, .name = "n", .fd = -1};
	struct snapshots s = {.node = {.layout = &layout, .exits_fd = -1}};
	if (output_open(&o, NULL) < 0)
		die(dir);
	for (int i = 0; i < RANKS; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		files[i] = make(path, i);
		if (process_open(&p[i], path, (uint32_t)i, NULL) < 0)
			die(path);
		process_refresh(&p[i]);
		unlink(path);
	}
	for (int64_t second = 1; second < DAY_S; second++) {
		const int64_t now_ns = second * SECOND;
		/* What real clocks look like to deflate: noise in the last digits. */
		const int64_t noise = second * 2654435761 % 99991;
		snapshot_clock(&s,
			       &(struct tick_sample){(uint64_t)(now_ns * 5 / 2 + noise), now_ns, now_ns + noise * 3},
			       false);
		for (int i = 0; i < RANKS && second % WORK_EVERY_S == 0; i++)
			work(files[i], i, WORK_EVERY_S);
		snapshot_round(&s, &o, p, RANKS, now_ns);
	}
	unsigned over = row(&s, &o, p);
	output_close(&o);
	unlink(o.path);
	rmdir(dir);
	for (int i = 0; i < RANKS; i++) {
		munmap(files[i], FILE_BYTES);
		process_close(&p[i]);
	}
	snapshots_done(&s);
	free(o.path);
	return over > 0;
}
