/* past.c PLUGIN normal|deepbind open|closed - rank 0 sends, takes part in a barrier and completes a request by a
 * library that it opens, and closes in the end or leaves open. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void *plugin;

static void *function(const char *name)
{
	void *f = dlsym(plugin, name);
	if (f == NULL)
		MPI_Abort(MPI_COMM_WORLD, 9);
	return f;
}

static void by_plugin(int other)
{
	MPI_Request request;
	int x;
	for (int i = 0; i < 3; i++)
		((int (*)(MPI_Comm, MPI_Datatype))function("plugin_send"))(MPI_COMM_WORLD, MPI_INT);
	((int (*)(MPI_Comm))function("plugin_barrier"))(MPI_COMM_WORLD);
	MPI_Irecv(&x, 1, MPI_INT, other, 8, MPI_COMM_WORLD, &request);
	((int (*)(MPI_Request *))function("plugin_wait"))(&request);
}

static void directly(int other)
{
	int x = 0;
	for (int i = 0; i < 3; i++)
		MPI_Recv(&x, 1, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Send(&x, 1, MPI_INT, other, 8, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, x = 1, sum;
	if (argc < 4)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		plugin = dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "deepbind") == 0 ? RTLD_DEEPBIND : 0));
	if (rank == 0)
		by_plugin(1);
	else
		directly(0);
	if (rank == 0 && strcmp(argv[3], "closed") == 0)
		dlclose(plugin);
	MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	printf("%d: %d\n", rank, sum);
	return 0;
}
