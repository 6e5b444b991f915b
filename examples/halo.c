/* halo.c - an example to trace: a 2-D heat equation on a grid of ranks, with a halo exchange and a
 * residual a step.
 *
 * One rank, by default the one in the middle, is given `slow` times the work of the others. So the
 * report must name that rank for uneven work, its neighbours for waiting in exchange(), and
 * everybody else for waiting in residual().
 *
 * Usage: halo [-n cells a side of each rank] [-s steps] [-r slow rank] [-x slow factor, 1 = even]
 * Output: one line with the final residual, the same for any -x. Compile with -g to see file and
 * line. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum side { NORTH, SOUTH, WEST, EAST, SIDES };

struct field {
	int n;	     /* cells a side, without the halo */
	double *now; /* (n + 2) x (n + 2) */
	double *next;
	double *edge_in[SIDES], *edge_out[SIDES]; /* n cells each */
};

struct options {
	int cells, steps, slow_rank;
	double slow_factor;
};

static double *at(double *cells, int n, int row, int column)
{
	return &cells[(size_t)row * (size_t)(n + 2) + (size_t)column];
}

static double *allocate(size_t n)
{
	double *cells = calloc(n, sizeof(double));
	if (cells == NULL) {
		fputs("halo: out of memory\n", stderr);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return cells;
}

static struct field field_create(int n)
{
	struct field f = {.n = n};
	size_t all = (size_t)(n + 2) * (size_t)(n + 2);
	f.now = allocate(all);
	f.next = allocate(all);
	for (int s = 0; s < SIDES; s++) {
		f.edge_in[s] = allocate((size_t)n);
		f.edge_out[s] = allocate((size_t)n);
	}
	return f;
}

static void field_destroy(struct field *f)
{
	free(f->now);
	free(f->next);
	for (int s = 0; s < SIDES; s++) {
		free(f->edge_in[s]);
		free(f->edge_out[s]);
	}
}

/* The i-th cell of the outermost row or column, or with halo = 1 of the ring outside it. */
static double *edge_cell(struct field *f, enum side s, int i, int halo)
{
	int n = f->n;
	switch (s) {
	case NORTH:
		return at(f->now, n, 1 - halo, i + 1);
	case SOUTH:
		return at(f->now, n, n + halo, i + 1);
	case WEST:
		return at(f->now, n, i + 1, 1 - halo);
	default:
		return at(f->now, n, i + 1, n + halo);
	}
}

/* Send the edges to the four neighbours, receive theirs. Who has a slow neighbour waits in
 * MPI_Waitall. */
static void exchange(struct field *f, const int neighbour[SIDES], MPI_Comm grid)
{
	static const int opposite[SIDES] = {SOUTH, NORTH, EAST, WEST};
	MPI_Request request[2 * SIDES];
	for (int s = 0; s < SIDES; s++)
		MPI_Irecv(f->edge_in[s], f->n, MPI_DOUBLE, neighbour[s], opposite[s], grid, &request[s]);
	for (int s = 0; s < SIDES; s++) {
		for (int i = 0; i < f->n; i++)
			f->edge_out[s][i] = *edge_cell(f, (enum side)s, i, 0);
		MPI_Isend(f->edge_out[s], f->n, MPI_DOUBLE, neighbour[s], s, grid, &request[SIDES + s]);
	}
	MPI_Waitall(2 * SIDES, request, MPI_STATUSES_IGNORE);
	for (int s = 0; s < SIDES; s++)
		for (int i = 0; i < f->n && neighbour[s] != MPI_PROC_NULL; i++)
			*edge_cell(f, (enum side)s, i, 1) = f->edge_in[s][i];
}

/* One Jacobi sweep; returns this rank's share of the squared change. */
static double sweep(struct field *f)
{
	int n = f->n;
	double change = 0;
	for (int r = 1; r <= n; r++)
		for (int c = 1; c <= n; c++) {
			double mean = 0.25 * (*at(f->now, n, r - 1, c) + *at(f->now, n, r + 1, c) +
					      *at(f->now, n, r, c - 1) + *at(f->now, n, r, c + 1));
			double step = mean - *at(f->now, n, r, c);
			*at(f->next, n, r, c) = mean;
			change += step * step;
		}
	return change;
}

/* The deliberate flaw: repeat the sweep, whose result is the same, until factor times the work is
 * done. */
static double compute(struct field *f, double factor)
{
	double change = sweep(f);
	for (double done = 1; done + 0.5 <= factor; done++)
		change = sweep(f);
	return change;
}

static void swap(struct field *f)
{
	double *kept = f->now;
	f->now = f->next;
	f->next = kept;
}

static double residual(double change, MPI_Comm grid)
{
	double all = 0;
	MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_SUM, grid);
	return sqrt(all);
}

static MPI_Comm make_grid(int neighbour[SIDES])
{
	int ranks, dims[2] = {0, 0}, open_ends[2] = {0, 0};
	MPI_Comm grid;
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Dims_create(ranks, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, open_ends, 0, &grid);
	MPI_Comm_set_name(grid, "grid");
	MPI_Cart_shift(grid, 0, 1, &neighbour[NORTH], &neighbour[SOUTH]);
	MPI_Cart_shift(grid, 1, 1, &neighbour[WEST], &neighbour[EAST]);
	return grid;
}

/* The west wall of the whole domain is hot, everything else starts cold. */
static void heat_wall(struct field *f, const int neighbour[SIDES])
{
	for (int i = 0; i < f->n && neighbour[WEST] == MPI_PROC_NULL; i++) {
		*edge_cell(f, WEST, i, 1) = 1.0;
		*at(f->next, f->n, i + 1, 0) = 1.0;
	}
}

static double run(const struct options *o, MPI_Comm grid, const int neighbour[SIDES])
{
	int rank;
	double last = 0;
	struct field f = field_create(o->cells);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	heat_wall(&f, neighbour);
	for (int step = 0; step < o->steps; step++) {
		exchange(&f, neighbour, grid);
		double change = compute(&f, rank == o->slow_rank ? o->slow_factor : 1);
		last = residual(change, grid);
		swap(&f);
	}
	field_destroy(&f);
	return last;
}

static struct options read_options(int argc, char **argv, int ranks)
{
	struct options o = {.cells = 1000, .steps = 300, .slow_rank = ranks / 2, .slow_factor = 3};
	for (int c; (c = getopt(argc, argv, "n:s:r:x:")) != -1;) {
		if (c == 'n')
			o.cells = atoi(optarg);
		else if (c == 's')
			o.steps = atoi(optarg);
		else if (c == 'r')
			o.slow_rank = atoi(optarg);
		else if (c == 'x')
			o.slow_factor = atof(optarg);
		else
			MPI_Abort(MPI_COMM_WORLD, 2);
	}
	return o;
}

int main(int argc, char **argv)
{
	int rank, ranks, neighbour[SIDES];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	struct options o = read_options(argc, argv, ranks);
	MPI_Comm grid = make_grid(neighbour);
	double last = run(&o, grid, neighbour);
	if (rank == 0)
		printf("halo: %d ranks, %d steps, residual %.6e\n", ranks, o.steps, last);
	MPI_Comm_free(&grid);
	MPI_Finalize();
	return 0;
}
