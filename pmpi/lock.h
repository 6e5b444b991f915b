/* lock.h - locks inside of the tracer, of what is done rarely, and what may not be left in the middle.
 *
 * A thread that is cancelled, or jumps away, while it has one, would stop all others. So it cannot be cancelled
 * (pthread_setcancelstate(3)): our system calls are cancellation points where the program has none. And who has it
 * already gets it: it jumped away from where it had it, or MPI called the program from there. */
#pragma once

#include "base/tick.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

static inline int cancel_off(void)
{
	int before;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void cancel_restore(const int *before)
{
	int off;
	pthread_setcancelstate(*before, &off);
}

/* To the end of the block. */
#define UNCANCELLED __attribute__((cleanup(cancel_restore), unused)) const int cancel_before = cancel_off()

static inline sigset_t signals_off(void)
{
	static const int from_within[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t others, before;
	sigfillset(&others);
	for (unsigned i = 0; i < sizeof(from_within) / sizeof(from_within[0]); i++)
		sigdelset(&others, from_within[i]);
	pthread_sigmask(SIG_BLOCK, &others, &before);
	return before;
}

static inline void signals_restore(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* To the end of the block no handler runs: one that forks would leave a child in the middle of it, too. */
#define UNINTERRUPTED __attribute__((cleanup(signals_restore), unused)) const sigset_t signals_before = signals_off()

#define SPINS 4096u /* then who has it is not running, and may not run before we sleep (SCHED_FIFO) */
#define SLEEP_NS 20000

struct lock {
	_Atomic uint64_t owner; /* pthread_self(); 0: nobody */
	int cancel_before;	/* of the owner */
};

static inline void lock_take(struct lock *l)
{
	const struct timespec nap = {0, SLEEP_NS};
	uint64_t self = (uint64_t)pthread_self(), owner = 0;
	int before = cancel_off();
	for (uint32_t n = 0; !atomic_compare_exchange_strong_explicit(&l->owner, &owner, self, memory_order_acquire,
								      memory_order_relaxed);
	     owner = 0) {
		if (owner == self)
			return;
		if (++n < SPINS)
			spin_pause();
		else
			nanosleep(&nap, NULL);
	}
	l->cancel_before = before;
}

static inline void lock_give(struct lock *l)
{
	int before = l->cancel_before;
	if (atomic_load_explicit(&l->owner, memory_order_relaxed) != (uint64_t)pthread_self())
		return;						   /* given already, by what was called from here */
	atomic_store_explicit(&l->owner, 0, memory_order_release); /* partner: in lock_take() */
	cancel_restore(&before);
}

/* In a child, of which nobody is here but the thread that forked. */
static inline void lock_forget(struct lock *l)
{
	atomic_store_explicit(&l->owner, 0, memory_order_relaxed);
}
