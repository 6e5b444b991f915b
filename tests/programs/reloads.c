/* reloads.c PLUGIN... - opens one library after the other, lets each call MPI and closes it: the loader puts them all
 * at the same addresses. -DPAST: by libc's own dlclose(), past preloaded ones, as UCX's hooks do. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int (*closes)(void *) = dlclose;
	MPI_Init(&argc, &argv);
#ifdef PAST
	closes = (int (*)(void *))dlsym(dlopen("libc.so.6", RTLD_NOW), "dlclose");
#endif
	for (int i = 1; i < argc; i++) {
		void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		void (*work)(int) = plugin != NULL ? (void (*)(int))dlsym(plugin, "plugin_work") : NULL;
		if (work == NULL)
			MPI_Abort(MPI_COMM_WORLD, 1);
		work(i);
		closes(plugin);
	}
	MPI_Finalize();
	return 0;
}
