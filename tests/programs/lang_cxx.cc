/* lang_cxx.cc - the program of lang_c.c in C++: calls from a constructor, a template and while an exception
 * is on its way. */
#include <mpi.h>
#include <cstdio>
#include <stdexcept>
#include <vector>

struct Library {
	int rank = 0, size = 0;
	Library(int &argc, char **&argv)
	{
		MPI_Init(&argc, &argv);
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
		MPI_Comm_size(MPI_COMM_WORLD, &size);
	}
	~Library()
	{
		MPI_Finalize();
	}
};

template <typename T> T sum_of(T mine)
{
	T all;
	MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

struct At_exit {
	~At_exit()
	{
		MPI_Barrier(MPI_COMM_WORLD);
	}
};

static void throws()
{
	At_exit barrier;
	throw std::runtime_error("on its way");
}

int main(int argc, char **argv)
{
	Library mpi(argc, argv);
	std::vector<int> in(200), out(200);
	int sum = 0, place = mpi.rank;
	for (int i = 0; i < 50; i++) {
		MPI_Request r[2];
		out[0] = mpi.rank;
		MPI_Irecv(in.data(), 200, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(out.data(), i, MPI_INT, (mpi.rank + 1) % mpi.size, 1, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		sum += sum_of(mpi.rank);
	}
	MPI_Allreduce(MPI_IN_PLACE, &place, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	try {
		throws();
	} catch (const std::runtime_error &) {
		if (mpi.rank == 0)
			std::printf(" sum %d place %d\n", sum, place);
	}
	return 0;
}
