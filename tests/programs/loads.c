/* loads.c PLUGIN - opens a library after MPI_Init and lets it call MPI: its call sites belong to it, from deep
 * recursion and from frames whose size varies. */
#include <alloca.h>
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

/* A frame of a size of its own in each call. */
static __attribute__((noinline)) void roomy(void (*work)(int), unsigned long bytes)
{
	volatile char *room = alloca(bytes);
	for (unsigned long i = 0; i < bytes; i += 4096)
		room[i] = 1;
	work(1);
	room[0] = 2;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	void (*work)(int) = plugin != NULL ? (void (*)(int))dlsym(plugin, "plugin_work") : NULL;
	if (work == NULL)
		MPI_Abort(MPI_COMM_WORLD, 1);
	deep(work, 4);
	roomy(work, 4 << 20);
	roomy(work, 16);
	roomy(work, 1 << 20);
	MPI_Finalize();
	return 0;
}
