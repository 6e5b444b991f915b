/* library.c - see library.h. */
#include "pmpi/library.h"

#include "pmpi/lock.h"

bool tables_shared;
struct next next, pmpi;
static struct lock lock;

void tables_lock(void)
{
	if (__builtin_expect(tables_shared, false))
		lock_take(&lock);
}

void tables_unlock(void)
{
	if (__builtin_expect(tables_shared, false))
		lock_give(&lock);
}

void tables_leave(void)
{
	lock_forget(&lock);
}
