/* tool_other.c - a profiling library that does not only pass on what the program calls.
 *   -DREPLACES  makes other calls in its place
 *   -DINSTEAD   makes another call in its place now and then
 *   -DBESIDE    makes the same call for itself before it, on a communicator of its own */
#include <mpi.h>

#ifdef REPLACES
int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
	return PMPI_Issend(buf, count, type, dest, tag, comm, request);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
	int flag = 0, rc = MPI_SUCCESS;
	while (!flag && rc == MPI_SUCCESS)
		rc = PMPI_Testall(count, requests, &flag, statuses);
	return rc;
}
#endif

#ifdef INSTEAD
int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
	static int calls;
	return ++calls % 4 == 0 ? PMPI_Issend(buf, count, type, dest, tag, comm, request)
				: PMPI_Isend(buf, count, type, dest, tag, comm, request);
}
#endif

#ifdef BESIDE
static MPI_Comm own;

int MPI_Init(int *argc, char ***argv)
{
	int rc = PMPI_Init(argc, argv);
	PMPI_Comm_dup(MPI_COMM_WORLD, &own);
	return rc;
}

int MPI_Barrier(MPI_Comm comm)
{
	PMPI_Barrier(own);
	return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
	PMPI_Comm_free(&own);
	return PMPI_Finalize();
}
#endif
