/* past_plugin.c - a library whose calls of MPI the tracer may not see: past.c opens it. */
#include <mpi.h>

int plugin_send(MPI_Comm comm, MPI_Datatype type);
int plugin_barrier(MPI_Comm comm);
int plugin_wait(MPI_Request *request);

/* Handles are passed: of Open MPI's, which are variables, this library has others than the program. */
int plugin_send(MPI_Comm comm, MPI_Datatype type)
{
	int x = 1;
	return MPI_Send(&x, 1, type, 1, 7, comm);
}

int plugin_barrier(MPI_Comm comm)
{
	return MPI_Barrier(comm);
}

int plugin_wait(MPI_Request *request)
{
	return MPI_Wait(request, MPI_STATUS_IGNORE);
}
