/* wide.c DIR [CORPUS] - what does not fit anywhere: 10,000-entry Waitall and Testall, long names of communicators
 * and files, lists per peer, many loaded modules (*.so in CORPUS). Prints how much of each. */
#include <dirent.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 10000
#define EDGES 100

static void names(const char *dir)
{
	char name[MPI_MAX_OBJECT_NAME], path[4000];
	MPI_Comm comm;
	MPI_File file;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_name(comm, name);
	MPI_Barrier(comm);
	MPI_Comm_free(&comm);
	/* Long: ./././ ... file. Open MPI 4.1 puts the name into a buffer of 256 bytes. */
#ifdef OPEN_MPI
	const int longest = 200;
#else
	const int longest = 3500;
#endif
	int at = snprintf(path, sizeof(path), "%s/", dir);
	while (at < longest)
		at += snprintf(path + at, sizeof(path) - (size_t)at, "./");
	snprintf(path + at, sizeof(path) - (size_t)at, "the-end");
	if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) ==
	    MPI_SUCCESS) {
		MPI_File_write(file, path, 10, MPI_CHAR, MPI_STATUS_IGNORE);
		MPI_File_close(&file);
	}
	printf("names %zu %zu\n", strlen(name), strlen(path));
}

/* In an order that no run describes. */
static void requests(int rank)
{
	static MPI_Request r[2 * MANY];
	static int a[MANY], b[MANY];
	for (int i = 0; i < MANY; i++) {
		int at = (int)((long)i * 7919 % MANY);
		MPI_Irecv(&b[i], 1, MPI_INT, rank, i % 1000, MPI_COMM_WORLD, &r[2 * at]);
		MPI_Isend(&a[i], 1, MPI_INT, rank, i % 1000, MPI_COMM_WORLD, &r[2 * at + 1]);
	}
	MPI_Waitall(2 * MANY, r, MPI_STATUSES_IGNORE);
	printf("requests %d\n", 2 * MANY);
}

static void neighbours(void)
{
	static int peers[MANY], /* myself, many times */ counts[MANY], at[MANY];
	char *out = calloc(MANY, 8), *in = calloc(MANY, 8);
	MPI_Comm graph;
	for (int i = 0; i < MANY; i++) {
		counts[i] = 1 + i % 7;
		at[i] = i * 8;
	}
	MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, EDGES, peers, MPI_UNWEIGHTED, EDGES, peers, MPI_UNWEIGHTED,
				       MPI_INFO_NULL, 0, &graph);
	MPI_Neighbor_alltoallv(out, counts, at, MPI_CHAR, in, counts, at, MPI_CHAR, graph);
	MPI_Comm_free(&graph);
	free(out);
	free(in);
	printf("neighbours %d\n", EDGES);
}

static void modules(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	char path[4096];
	int n = 0;
	while (d != NULL && (entry = readdir(d)) != NULL) {
		int (*call)(void);
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		void *handle = strstr(entry->d_name, ".so") != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
		if (handle != NULL && (call = (int (*)(void))dlsym(handle, "call")) != NULL)
			n += call();
	}
	if (d != NULL)
		closedir(d);
	printf("modules %d\n", n);
}

int main(int argc, char **argv)
{
	int rank;
	if (argc < 2)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	names(argv[1]);
	requests(rank);
	neighbours();
	if (argc > 2)
		modules(argv[2]);
	MPI_Finalize();
	return 0;
}
