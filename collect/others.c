/* others.c - see others.h. In: /proc/PID/task, who has which thread's area.  Out: a number. */
#include "collect/others.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_helper(const struct segfile *f, uint32_t tid)
{
	for (uint32_t i = 0; i < f->nhelpers && i < SEGFILE_HELPERS_MAX; i++)
		if (f->helpers[i] == tid)
			return true;
	return false;
}

static bool has_called(const struct process *p, uint32_t tid)
{
	for (uint32_t i = 0; i < p->nthreads; i++)
		if (p->threads[i].area != NULL && p->threads[i].area->tid == tid)
			return true;
	return false;
}

bool others_now(const struct process *p, uint64_t *ret_others)
{
	char path[64];
	uint64_t n = 0;
	if (atomic_load_explicit(&p->file->helpers_known, memory_order_acquire) == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", p->file->pid);
	DIR *d = opendir(path);
	if (d == NULL)
		return false;
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
		n += tid != 0 && !is_helper(p->file, tid) && !has_called(p, tid);
	}
	closedir(d);
	*ret_others = n;
	return true;
}
