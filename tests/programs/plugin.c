/* plugin.c - a library that loads.c opens while MPI runs. */
#include <mpi.h>

void plugin_work(int times);

void plugin_work(int times)
{
	for (int i = 0; i < times; i++)
		MPI_Barrier(MPI_COMM_WORLD);
}
