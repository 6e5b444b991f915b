/* confined.c - see confined.h. */
#include "pmpi/confined.h"

#include "pmpi/front.h"
#include "pmpi/lock.h"
#include "pmpi/segfile.h"

#include <errno.h>
#include <unistd.h>

atomic_bool confined;

__attribute__((visibility("default"))) mpitrace_confining_fn mpitrace_confining;

/* A child of vfork() shares our memory, and forbids nothing to us. */
void mpitrace_confining(void)
{
	int saved = errno;
	UNCANCELLED;
	if (!stream_on || confined || getpid() != (pid_t)segfile->pid)
		return;
	if (stream_mine != NULL)
		stream_stock(stream_mine);
	confined = true;
	errno = saved;
}
