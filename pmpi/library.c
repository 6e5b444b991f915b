/* library.c - see library.h. */
#include "pmpi/library.h"

#include <stdatomic.h>

bool tables_shared;
struct next next, pmpi;
static atomic_flag lock = ATOMIC_FLAG_INIT;

void tables_lock(void)
{
	if (__builtin_expect(!tables_shared, true))
		return;
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		spin_pause();
}

void tables_unlock(void)
{
	if (__builtin_expect(tables_shared, false))
		atomic_flag_clear_explicit(&lock, memory_order_release); /* partner: in tables_lock() */
}
