/* helpers.c - see helpers.h. In: /proc/self/task, read as the kernel writes it (getdents64(2)): nothing is allocated in
 * the program.  Out: the segment file. */
#include "pmpi/helpers.h"
#include "pmpi/stream.h"
#include "pmpi/segfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t before[SEGFILE_HELPERS_MAX], nbefore;

static bool is_of(uint32_t tid, const uint32_t *tids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (tids[i] == tid)
			return true;
	return false;
}

/* Those that are not in `known`; as many as have room. */
static uint32_t list(const uint32_t *known, uint32_t nknown, uint32_t tids[SEGFILE_HELPERS_MAX])
{
	_Alignas(struct dirent64) char some[1024];
	uint32_t n = 0;
	long len;
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0 && (len = syscall(SYS_getdents64, fd, some, sizeof(some))) > 0)
		for (long at = 0; at < len && n < SEGFILE_HELPERS_MAX;) {
			const struct dirent64 *e = (const struct dirent64 *)(const void *)(some + at);
			uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
			if (tid != 0 && !is_of(tid, known, nknown))
				tids[n++] = tid;
			at += e->d_reclen;
		}
	if (fd >= 0)
		close(fd);
	return n;
}

void helpers_begin(void)
{
	nbefore = list(NULL, 0, before);
}

/* Where not all that were there before are known, no other one is known to be the library's. */
void helpers_note(void)
{
	if (nbefore > 0 && nbefore < SEGFILE_HELPERS_MAX)
		segfile->nhelpers = list(before, nbefore, segfile->helpers);
	/* Partner: the agent's acquire load in collect/others.c. */
	atomic_store_explicit(&segfile->helpers_known, 1, memory_order_release);
}
