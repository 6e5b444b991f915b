/* reloads.c PLUGIN... - opens one library after the other, lets each call MPI and closes it: the loader puts them all
 * at the same addresses. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		void (*work)(int) = plugin != NULL ? (void (*)(int))dlsym(plugin, "plugin_work") : NULL;
		if (work == NULL)
			MPI_Abort(MPI_COMM_WORLD, 1);
		work(i);
		dlclose(plugin);
	}
	MPI_Finalize();
	return 0;
}
