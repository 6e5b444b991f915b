/* truth.h - a program that knows its own counts. CALL(MPI_X, args) calls and counts; sent() tells of every message.
 * truth_write() writes "op NAME COUNT", "message SRC DST COUNT BYTES" (world ranks) to the file named by TRUTH, one a rank. */
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
static long truth_messages[TRUTH_RANKS], truth_bytes[TRUTH_RANKS];

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
	truth_messages[world_rank]++;
	truth_bytes[world_rank] += bytes;
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
	for (int i = 0; i < size; i++)
		if (truth_messages[i] > 0)
			fprintf(f, "message %d %d %ld %ld\n", rank, i, truth_messages[i], truth_bytes[i]);
	fclose(f);
}
