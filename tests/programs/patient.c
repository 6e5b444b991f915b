/* patient.c - linked into programs of the tests: who waits in MPI gives way to others. Where nothing came MPICH with
 * UCX calls ucp_worker_progress() again and again, and keeps its processor from the rank that it waits for: here it
 * yields, as Open MPI does by itself (mpi_yield_when_idle: sched_yield()). With -DSLEEPS, who waits for long sleeps in
 * between, so that many that hang can stand beside each other. Another MPI waits as ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPINS 100
#define SPINS_AWAKE 2000
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
	if (spins > SPINS_AWAKE)
		nanosleep(&nap, NULL);
	else
		syscall(SYS_sched_yield);
}

#ifdef SLEEPS
int sched_yield(void)
{
	nothing_came();
	return 0;
}
#endif

unsigned ucp_worker_progress(void *worker)
{
	static unsigned (*next)(void *);
	static __thread unsigned spins;
	if (next == NULL)
		next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
	unsigned events = next(worker);
	spins = events == 0 ? spins + 1 : 0;
#ifdef SLEEPS
	if (spins > SPINS)
		nothing_came();
#else
	(void)nothing_came;
	if (spins > SPINS)
		syscall(SYS_sched_yield);
#endif
	return events;
}
