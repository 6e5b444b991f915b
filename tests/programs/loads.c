/* loads.c PLUGIN - opens a library after MPI_Init and lets it call MPI: its call sites belong to it. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

static __attribute__((noinline)) void deep(void (*work)(int), int levels)
{
	if (levels > 0)
		deep(work, levels - 1);
	else
		work(3);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	void (*work)(int) = plugin != NULL ? (void (*)(int))dlsym(plugin, "plugin_work") : NULL;
	if (work == NULL)
		MPI_Abort(MPI_COMM_WORLD, 1);
	deep(work, 4);
	MPI_Finalize();
	return 0;
}
