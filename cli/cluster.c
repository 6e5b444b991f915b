/* cluster.c - see cluster.h. In: what launchers leave in the environment. Out: a library of postproc/cluster/. */
#include "cli/cluster.h"
#include "cli/cli.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many processes a launcher has started, and which this is; mpi: by which library they find each other, or NULL:
 * either can be. */
static const struct launched {
	const char *size, *rank, *mpi;
} launched[] = {
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "openmpi"}, /* mpirun of Open MPI */
	{"PMI_SIZE", "PMI_RANK", "mpich"},			     /* mpiexec of MPICH, srun --mpi=pmi2 */
	{"SLURM_STEP_NUM_TASKS", "PMIX_RANK", NULL},		     /* srun --mpi=pmix */
};

static const char *const mpis[] = {"openmpi", "mpich"};

static const struct launched *find_launcher(void)
{
	for (size_t i = 0; i < sizeof(launched) / sizeof(*launched); i++)
		if (getenv(launched[i].rank) != NULL)
			return &launched[i];
	return NULL;
}

bool cluster_is_first(void)
{
	const struct launched *by = find_launcher();
	const char *rank = by != NULL ? getenv(by->rank) : getenv("SLURM_PROCID");
	return rank == NULL || atoi(rank) == 0;
}

static void path_of(const char *mpi, char path[PATH_MAX + 64])
{
	library_path(path, PATH_MAX + 64, "postproc/cluster", "mpitrace-cluster-", mpi);
}

bool cluster_has(const char *mpi)
{
	char path[PATH_MAX + 64];
	path_of(mpi, path);
	return access(path, F_OK) == 0;
}

/* Its names go to all: MPI libraries load parts of their own that need them. */
static void *load(const char *mpi, struct error *e)
{
	char path[PATH_MAX + 64];
	path_of(mpi, path);
	if (access(path, F_OK) < 0) {
		fail(e, -ENOENT, "--mpi: this mpitrace was built without %s: %s is not there", mpi, path);
		return NULL;
	}
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (library == NULL)
		fail(e, -ENOENT, "--mpi: %s", dlerror());
	return library;
}

static struct peers *open_by(void *library, struct error *e)
{
	peers_open opens;
	*(void **)&opens = dlsym(library, PEERS_OPEN);
	if (opens == NULL) {
		fail(e, -ENOENT, "--mpi: %s", dlerror());
		return NULL;
	}
	return opens(e);
}

/* Each alone where many were started would write the same file many times. */
static struct peers *check_size(struct peers *c, const struct launched *by, struct error *e)
{
	const char *text = getenv(by->size);
	unsigned long started = text != NULL ? strtoul(text, NULL, 10) : c->size;
	if (started == c->size)
		return c;
	fail(e, -EINVAL,
	     "--mpi: the launcher started %lu, and MPI sees %u: use the launcher of this MPI (srun --mpi=pmix for "
	     "Open MPI, srun --mpi=pmi2 for MPICH, or its mpirun)",
	     started, c->size);
	c->destroy(c);
	return NULL;
}

struct peers *cluster_open(struct error *e)
{
	const struct launched *by = find_launcher();
	void *library = NULL;
	if (by == NULL) {
		fail(e, -EINVAL, "--mpi: no launcher of MPI has started this: use srun --mpi=pmix, mpirun or mpiexec");
		return NULL;
	}
	for (size_t i = 0; i < sizeof(mpis) / sizeof(*mpis) && library == NULL; i++)
		if (by->mpi == NULL || strcmp(by->mpi, mpis[i]) == 0)
			library = load(mpis[i], e);
	struct peers *c = library != NULL ? open_by(library, e) : NULL;
	return c != NULL ? check_size(c, by, e) : NULL;
}
