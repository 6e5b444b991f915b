/* processor.c - see processor.h. */
#include "pmpi/processor.h"

#include "base/slurp.h"
#include "pmpi/confined.h"
#include "pmpi/lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;

static bool counted(const struct thread_area *area, int64_t *ret_running_ns, int64_t *ret_ready_ns)
{
	UNCANCELLED;
	char path[64], text[128];
	long long running, ready;
	snprintf(path, sizeof(path), "/proc/self/task/%u/schedstat", area->tid);
	slurp(path, text, sizeof(text));
	if (sscanf(text, "%lld %lld", &running, &ready) != 2)
		return false;
	*ret_running_ns = running;
	*ret_ready_ns = ready;
	return true;
}

void processor_begin(struct thread_area *area)
{
	int64_t running_ns, ready_ns;
	if (!counted(area, &running_ns, &ready_ns))
		return;
	area->running_from_ns = running_ns;
	area->ready_from_ns = ready_ns;
}

void processor_note(struct thread_area *area)
{
	int64_t running_ns, ready_ns;
	if (confined || atomic_load_explicit(&area->counted, memory_order_relaxed) == THREAD_COUNTED_AT_END ||
	    !counted(area, &running_ns, &ready_ns))
		return;
	atomic_store_explicit(&area->running_ns, running_ns - area->running_from_ns, memory_order_relaxed);
	atomic_store_explicit(&area->ready_ns, ready_ns - area->ready_from_ns, memory_order_relaxed);
	atomic_store_explicit(&area->counted, THREAD_COUNTED, memory_order_relaxed);
}

/* Destructors of the program may still call MPI after this one: that is not counted. */
static void ends(void *unused)
{
	int saved = errno;
	(void)unused;
	if (stream_mine == NULL)
		return;
	processor_note(stream_mine->area);
	if (atomic_load_explicit(&stream_mine->area->counted, memory_order_relaxed) == THREAD_COUNTED)
		atomic_store_explicit(&stream_mine->area->counted, THREAD_COUNTED_AT_END, memory_order_relaxed);
	errno = saved;
}

static void make_key(void)
{
	have_key = pthread_key_create(&key, ends) == 0;
}

void processor_watch(void)
{
	if (pthread_once(&once, make_key) == 0 && have_key)
		pthread_setspecific(key, &key);
}
