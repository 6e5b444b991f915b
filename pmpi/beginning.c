/* beginning.c - see beginning.h. Nobody is kept for ever: who jumped out of MPI_Init does not come back. */
#include "pmpi/beginning.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS 50000
#define NAPS_MAX 200000u /* about ten seconds */

static _Atomic uint32_t beginner; /* its number in the kernel; 0: nobody */

static uint32_t self(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* Its thread has ended, or is the parent's. */
static bool is_gone(uint32_t who)
{
	return syscall(SYS_tgkill, getpid(), who, 0) != 0 && errno == ESRCH;
}

static void wait_for_another(uint32_t own)
{
	for (uint32_t n = 0; n < NAPS_MAX; n++) {
		uint32_t who = atomic_load_explicit(&beginner, memory_order_acquire); /* partner: beginning_over() */
		if (who == 0 || who == own)
			return;
		if (is_gone(who))
			break;
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	}
	atomic_store(&beginner, 0);
}

bool beginning_take(void)
{
	uint32_t own = self(), who = 0;
	while (!atomic_compare_exchange_strong(&beginner, &who, own) && who != own) {
		wait_for_another(own);
		who = 0;
	}
	return who != own;
}

void beginning_over(void)
{
	uint32_t own = self();
	atomic_compare_exchange_strong(&beginner, &own, 0); /* partner: the load in wait_for_another() */
}

void beginning_forget(void)
{
	atomic_store(&beginner, 0);
}

bool beginning_shuts_out(void)
{
	int up = 0;
	uint32_t who = atomic_load_explicit(&beginner, memory_order_acquire); /* partner: beginning_over() */
	if (who == 0 || who == self())
		return false;
	if (pmpi.MPI_Initialized(&up) != MPI_SUCCESS || !up)
		return true;
	wait_for_another(self());
	return false;
}
