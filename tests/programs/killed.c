/* killed.c FILE [SIGNAL] - counts its own returned calls in a mapped FILE and never ends by itself: somebody kills it,
 * or with SIGNAL it raises that after a while. The trace must hold every call that returned. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, a = 1, b;
	MPI_Request r[2];
	if (argc < 2)
		return 2;
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 4096) != 0)
		return 2;
	volatile long *returned = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int how = argc > 2 ? atoi(argv[2]) : 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (long i = 0;; i++) {
		MPI_Irecv(&b, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, r);
		++*returned;
		MPI_Isend(&a, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, r + 1);
		++*returned;
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		++*returned;
		if (how != 0 && i == 100000)
			raise(how);
	}
}
