/* lang_cxx.cc - the program of lang_c.c in C++: calls from a constructor, templates in namespaces, a lambda, an
 * operator, and
 * while an exception is on its way. names.py knows what they are called. */
#include <mpi.h>
#include <cstdio>
#include <stdexcept>
#include <vector>

#define NOINLINE __attribute__((noinline))

struct Library {
	int rank = 0, size = 0;
	NOINLINE Library(int &argc, char **&argv)
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

namespace sums
{
template <typename T, typename... More> NOINLINE T sum_of(T mine)
{
	T all;
	MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return all;
}
} // namespace sums

namespace ring
{
template <typename T> struct Halo {
	std::vector<T> in, out;
	MPI_Request r[2];
	NOINLINE void exchange(int count, int next) const
	{
		Halo *self = const_cast<Halo *>(this);
		MPI_Isend(self->out.data(), count, MPI_INT, next, 1, MPI_COMM_WORLD, &self->r[1]);
	}
	NOINLINE void operator()()
	{
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	}
};
} // namespace ring

namespace
{
struct At_exit {
	NOINLINE ~At_exit()
	{
		MPI_Barrier(MPI_COMM_WORLD);
	}
};
} // namespace

static NOINLINE void throws()
{
	At_exit barrier;
	throw std::runtime_error("on its way");
}

int main(int argc, char **argv)
{
	Library mpi(argc, argv);
	ring::Halo<int> halo = {std::vector<int>(200), std::vector<int>(200), {}};
	auto post = [&](MPI_Request *r)
			    NOINLINE { MPI_Irecv(halo.in.data(), 200, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, r); };
	int sum = 0, place = mpi.rank;
	for (int i = 0; i < 50; i++) {
		halo.out[0] = mpi.rank;
		post(&halo.r[0]);
		halo.exchange(i, (mpi.rank + 1) % mpi.size);
		halo();
		sum += sums::sum_of<int, std::vector<std::vector<double>>, std::vector<std::vector<float>>,
				    std::vector<std::vector<long>>>(mpi.rank);
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
