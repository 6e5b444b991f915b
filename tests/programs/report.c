/* report.c - something for every section of the report: a grid of ranks with a halo exchange, one rank that always
 * comes late, collectives with and without a root, a barrier, windows with a name and without, two files.
 * Arguments: a directory for the files; then "even": no rank has a reason to wait; or "paused": events are switched off
 * before the last steps. Working is sleeping, so that the processor's load
 * changes nothing. */
#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SIDES 4
#define CELLS 1000
#define STEPS 25

static void work(double ms)
{
	struct timespec t = {.tv_nsec = (long)(ms * 1e6)};
	nanosleep(&t, NULL);
}

static MPI_Comm make_grid(int neighbour[SIDES])
{
	int ranks, dims[2] = {0, 0}, open_ends[2] = {0, 0};
	MPI_Comm grid;
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Dims_create(ranks, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, open_ends, 0, &grid);
	MPI_Comm_set_name(grid, "grid");
	MPI_Cart_shift(grid, 0, 1, &neighbour[0], &neighbour[1]);
	MPI_Cart_shift(grid, 1, 1, &neighbour[2], &neighbour[3]);
	return grid;
}

static void exchange(MPI_Comm grid, const int neighbour[SIDES])
{
	static double in[SIDES][CELLS], out[SIDES][CELLS];
	MPI_Request request[2 * SIDES];
	for (int s = 0; s < SIDES; s++)
		MPI_Irecv(in[s], CELLS, MPI_DOUBLE, neighbour[s], s ^ 1, grid, &request[s]);
	for (int s = 0; s < SIDES; s++)
		MPI_Isend(out[s], CELLS, MPI_DOUBLE, neighbour[s], s, grid, &request[SIDES + s]);
	MPI_Waitall(2 * SIDES, request, MPI_STATUSES_IGNORE);
}

static double residual(MPI_Comm grid)
{
	double mine = 1, all;
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, grid);
	return all;
}

static void roots(void)
{
	double value[64] = {0}, sum[64];
	MPI_Bcast(value, 64, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Reduce(value, sum, 64, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void one_sided(int rank, int ranks)
{
	static double seen[64], hidden[64];
	double value[16] = {0}, got[16];
	MPI_Win named, unnamed;
	MPI_Win_create(seen, sizeof(seen), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &named);
	MPI_Win_set_name(named, "halo");
	MPI_Win_create(hidden, sizeof(hidden), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &unnamed);
	MPI_Win_fence(0, named);
	MPI_Put(value, 16, MPI_DOUBLE, (rank + 1) % ranks, 0, 16, MPI_DOUBLE, named);
	MPI_Accumulate(value, 16, MPI_DOUBLE, (rank + 1) % ranks, 16, 16, MPI_DOUBLE, MPI_SUM, named);
	MPI_Win_fence(0, named);
	MPI_Win_lock_all(0, unnamed);
	MPI_Get(got, 16, MPI_DOUBLE, (rank + 1) % ranks, 0, 16, MPI_DOUBLE, unnamed);
	MPI_Win_flush((rank + 1) % ranks, unnamed);
	MPI_Win_unlock_all(unnamed);
	MPI_Win_free(&unnamed);
	MPI_Win_free(&named);
}

static void one_file(const char *directory, const char *name, int rank, int mode)
{
	char path[4096], bytes[4096] = {0};
	MPI_File f;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &f) != MPI_SUCCESS)
		return;
	MPI_File_write_at_all(f, (MPI_Offset)rank * (MPI_Offset)sizeof(bytes), bytes, sizeof(bytes), MPI_BYTE,
			      MPI_STATUS_IGNORE);
	if ((mode & MPI_MODE_RDWR) != 0)
		MPI_File_read_at(f, 0, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
}

int main(int argc, char **argv)
{
	int rank, ranks, neighbour[SIDES];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	const char *directory = argc > 1 ? argv[1] : ".";
	int even = strcmp(argv[argc - 1], "even") == 0, paused = strcmp(argv[argc - 1], "paused") == 0;
	MPI_Comm grid = make_grid(neighbour);
	for (int step = 0; step < (even ? 4 : STEPS); step++) {
		if (paused && step == STEPS - 5)
			MPI_Pcontrol(0);
		work(even ? 200 : rank == ranks - 1 ? 200 : 40);
		exchange(grid, neighbour);
		if (!even)
			residual(grid);
	}
	if (!even) {
		roots();
		one_sided(rank, ranks);
		one_file(directory, "input.nc", rank, MPI_MODE_CREATE | MPI_MODE_RDWR);
		one_file(directory, "checkpoint.0007", rank, MPI_MODE_CREATE | MPI_MODE_WRONLY);
	}
	MPI_Comm_free(&grid);
	MPI_Finalize();
	return 0;
}
