/* truth.h - a program that knows its own counts. CALL(MPI_X, args) calls and counts; sent() tells of every
 * message. put() and got() of one-sided transfers, passed() of what a collective moved. truth_write() writes "op
 * NAME COUNT", "message SRC DST COUNT BYTES", "collective ..." and "rma SRC DST COUNT BYTES" (world ranks), "file
 * NAME READ WRITTEN" (bytes) to the file named by TRUTH, one a rank. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRUTH_OPS 256
#define TRUTH_RANKS 64

static struct {
	const char *name;
	long calls;
} truth_ops[TRUTH_OPS];
struct truth_flow {
	long count, bytes;
};
static struct truth_flow truth_sent[TRUTH_RANKS], truth_passed[TRUTH_RANKS], truth_put[TRUTH_RANKS],
	truth_got[TRUTH_RANKS];

static struct truth_file {
	const char *name;
	long read_bytes, written_bytes;
} truth_files[8];
static int truth_nfiles;

static int truth_count(const char *name)
{
	int i = 0;
	while (truth_ops[i].name != NULL && strcmp(truth_ops[i].name, name) != 0)
		i++;
	truth_ops[i].name = name;
	truth_ops[i].calls++;
	return 0;
}

#define CALL(op, ...) (truth_count(#op), op(__VA_ARGS__))

static void sent(int world_rank, long bytes)
{
	truth_sent[world_rank].count++;
	truth_sent[world_rank].bytes += bytes;
}

/* One collective operation moved bytes to a rank. */
static void passed(int world_rank, long bytes)
{
	truth_passed[world_rank].count++;
	truth_passed[world_rank].bytes += bytes;
}

/* One-sided: bytes went to a rank, or came from it. */
static void put(int world_rank, long bytes)
{
	truth_put[world_rank].count++;
	truth_put[world_rank].bytes += bytes;
}

static void got(int world_rank, long bytes)
{
	truth_got[world_rank].count++;
	truth_got[world_rank].bytes += bytes;
}

/* What this rank moved in a file. */
static void truth_file(const char *name, long read_bytes, long written_bytes)
{
	truth_files[truth_nfiles++] = (struct truth_file){name, read_bytes, written_bytes};
}

static void truth_flow(FILE *f, const char *what, int src, int dst, const struct truth_flow *flow)
{
	if (flow->count > 0)
		fprintf(f, "%s %d %d %ld %ld\n", what, src, dst, flow->count, flow->bytes);
}

static void truth_write(int rank, int size)
{
	char path[4096];
	const char *base = getenv("TRUTH");
	if (base == NULL)
		return;
	snprintf(path, sizeof(path), "%s.%d", base, rank);
	FILE *f = fopen(path, "w");
	if (f == NULL)
		abort();
	for (int i = 0; truth_ops[i].name != NULL; i++)
		fprintf(f, "op %s %ld\n", truth_ops[i].name, truth_ops[i].calls);
	for (int i = 0; i < size; i++) {
		truth_flow(f, "message", rank, i, &truth_sent[i]);
		truth_flow(f, "collective", rank, i, &truth_passed[i]);
		truth_flow(f, "rma", rank, i, &truth_put[i]);
		truth_flow(f, "rma", i, rank, &truth_got[i]);
	}
	for (int i = 0; i < truth_nfiles; i++)
		fprintf(f, "file %s %ld %ld\n", truth_files[i].name, truth_files[i].read_bytes,
			truth_files[i].written_bytes);
	fclose(f);
}
