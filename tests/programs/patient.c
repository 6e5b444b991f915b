/* patient.c - linked into a program of the tests: who waits in MPI for long sleeps in between, so that ranks that hang
 * leave their processors to others. Where nothing came Open MPI calls sched_yield() (mpi_yield_when_idle), MPICH with
 * UCX ucp_worker_progress(); another MPI spins as ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

#define SPINS 2000 /* so often at first, as ever */
#define NAP_NS 2000000
#define APART_NS 1000000000 /* polls of one wait come faster, however busy the machine is */

static void nothing_came(void)
{
	static __thread int64_t last;
	static __thread unsigned spins;
	struct timespec t, nap = {0, NAP_NS};
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	int64_t now = t.tv_sec * 1000000000LL + t.tv_nsec;
	spins = now - last < APART_NS ? spins + 1 : 0;
	last = now;
	if (spins > SPINS)
		nanosleep(&nap, NULL);
}

int sched_yield(void)
{
	nothing_came();
	return 0;
}

unsigned ucp_worker_progress(void *worker)
{
	static unsigned (*next)(void *);
	if (next == NULL)
		next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
	unsigned events = next(worker);
	if (events == 0)
		nothing_came();
	return events;
}
