/* opens.c HOW LIBRARY [PLUGIN] - a program that is not linked with MPI: opens the library and looks its functions up,
 * as Julia, ctypes and programs for several MPIs do. HOW: local, global; plugin, deepbind: a plugin that is linked with
 * MPI; namespace: a plugin in one of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *found, const char *what)
{
	if (found != NULL)
		return found;
	fprintf(stderr, "%s: %s\n", what, dlerror());
	exit(1);
}

#define CALL(name) ((__typeof__(&name))must(dlsym(library, #name), #name))

static void talk(void *library)
{
	int rank, size, sum;
#ifdef OPEN_MPI
	MPI_Comm world = (MPI_Comm)must(dlsym(library, "ompi_mpi_comm_world"), "world");
	MPI_Datatype type = (MPI_Datatype)must(dlsym(library, "ompi_mpi_int"), "int");
	MPI_Op op = (MPI_Op)must(dlsym(library, "ompi_mpi_op_sum"), "sum");
#else
	MPI_Comm world = MPI_COMM_WORLD;
	MPI_Datatype type = MPI_INT;
	MPI_Op op = MPI_SUM;
#endif
	CALL(MPI_Init)(NULL, NULL);
	CALL(MPI_Comm_rank)(world, &rank);
	CALL(MPI_Comm_size)(world, &size);
	for (int i = 0; i < 30; i++)
		CALL(MPI_Allreduce)(&rank, &sum, 1, type, op, world);
	CALL(PMPI_Barrier)(world);
	printf("%d of %d: %d\n", rank, size, sum);
	fflush(stdout);
	CALL(MPI_Finalize)();
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	int global = strcmp(how, "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
	if (argc < 4) {
		void *library = must(dlopen(argv[2], RTLD_NOW | global), argv[2]);
		if (dlsym(library, "MPI_No_such_call") != NULL || dlerror() == NULL || dlerror() != NULL)
			return 2;
		talk(library);
		return 0;
	}
	int deep = strcmp(how, "deepbind") == 0 ? RTLD_DEEPBIND : 0;
	void *plugin = strcmp(how, "namespace") == 0 ? dlmopen(LM_ID_NEWLM, argv[3], RTLD_NOW)
						     : dlopen(argv[3], RTLD_NOW | RTLD_LOCAL | deep);
	((void (*)(void))must(dlsym(must(plugin, argv[3]), "plugin_runs"), "plugin_runs"))();
	return 0;
}
