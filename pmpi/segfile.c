/* segfile.c - see segfile.h. No descriptor is kept open: a program may close or reuse any of them; growing and spilling
 * open the file again by its absolute name; once that is gone, nothing is added. Blocks are allocated before they are
 * mapped: a hole that cannot be filled on a full disk would be a SIGBUS in the program (posix_fallocate(3)). */
#include "pmpi/segfile.h"

#include "pmpi/confined.h"
#include "pmpi/lock.h"
#include "pmpi/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

struct segfile *segfile;
uint64_t page_bytes = 4096;
static char path[PATH_MAX];
static uid_t owner; /* of the file: the program may become another user, and the same one again */
static uint64_t next_offset = SEGFILE_HEAD_BYTES;
static uint64_t spilled, spill_reused; /* segments; of the drained ones, those whose place was taken again */
static struct lock lock;
static void *mapped[SEGFILE_REGIONS_MAX]; /* where the regions are */
_Atomic uint64_t *segfile_calls_forked;
static bool is_left; /* this process is a child, and the file its parent's */

static int open_again(const char *suffix, int flags)
{
	static char name[PATH_MAX + sizeof(SPILL_SUFFIX)]; /* under the lock: the stack may be a small one */
	if (is_left) {
		errno = EACCES;
		return -1;
	}
	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return note_open(name, flags, owner);
}

static int refusal; /* why there was no room for the last region: errno(3) */

static void *map_new(uint64_t offset, size_t len_bytes, void *where, bool prefault)
{
	int fd = open_again("", O_RDWR);
	if (fd < 0) {
		refusal = errno;
		return NULL;
	}
	void *at = MAP_FAILED;
	refusal = note_fits_limit(offset + len_bytes) ? posix_fallocate(fd, (off_t)offset, (off_t)len_bytes) : EFBIG;
	if (refusal == 0)
		at = mmap(where, len_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | (where != NULL ? MAP_FIXED : 0) | (prefault ? MAP_POPULATE : 0), fd,
			  (off_t)offset);
	if (refusal == 0 && at == MAP_FAILED)
		refusal = errno;
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/* Exponential back-off: where there is no room, each attempt costs system calls, and every call of the program with
 * something new to record would make one. After n failures in a row (16 at most) the next 2^n requests fail. */
static uint32_t failures, backoff;

static bool backing_off(void)
{
	if (backoff == 0)
		return false;
	backoff--;
	return true;
}

static void note_attempt(bool ok)
{
	failures = ok ? 0 : failures + 1;
	backoff = ok ? 0 : 1u << (failures < 16 ? failures : 16);
}

void *segfile_add_region(enum region_type type, uint32_t thread, size_t len_bytes, void *where, bool prefault)
{
	void *at = NULL;
	int saved = errno;
	if (confined) {
		refusal = EPERM;
		return NULL;
	}
	UNINTERRUPTED;
	lock_take(&lock);
	uint32_t n = atomic_load_explicit(&segfile->nregions, memory_order_relaxed);
	if (n < SEGFILE_REGIONS_MAX && !backing_off()) {
		at = map_new(next_offset, len_bytes, where, prefault);
		note_attempt(at != NULL);
	}
	if (at != NULL) {
		segfile->regions[n] = (struct region){type, thread, next_offset, len_bytes};
		mapped[n] = at;
		next_offset += (len_bytes + page_bytes - 1) & -page_bytes;
		/* Partner: the agent's acquire load in collect/process.c. */
		atomic_store_explicit(&segfile->nregions, n + 1, memory_order_release);
	}
	lock_give(&lock);
	errno = saved;
	return at;
}

/* The place of the oldest drained segment, or one behind all others: pages that are in the cache cost nothing to
 * write again, new ones come from the system one by one. */
static bool choose_place(uint32_t *ret_place)
{
	/* Partner: the release store in collect/drain.c. */
	uint64_t drained = atomic_load_explicit(&segfile->spill_drained, memory_order_acquire);
	if (spill_reused < drained && drained <= spilled) {
		*ret_place = segfile->spill_place[spill_reused % SPILL_SEGMENTS_MAX];
		return true;
	}
	*ret_place = (uint32_t)(spilled - spill_reused);
	return *ret_place < SPILL_SEGMENTS_MAX;
}

enum lost_reason segfile_spill(const struct segment *segment)
{
	size_t len = sizeof(*segment) + atomic_load_explicit(&segment->committed, memory_order_relaxed);
	int saved = errno;
	uint32_t place = 0;
	enum lost_reason why = LOST_SPILL_FULL;
	if (confined)
		return LOST_CONFINED;
	UNINTERRUPTED;
	lock_take(&lock);
	bool has_place = choose_place(&place);
	off_t at = (off_t)place * SPILL_SLOT_BYTES;
	bool fits = note_fits_limit((uint64_t)at + len);
	int fd = has_place && fits ? open_again(SPILL_SUFFIX, O_WRONLY | (spilled == 0 ? O_CREAT : 0)) : -1;
	if (has_place && (!fits || (fd < 0 && errno != ENOSPC && errno != EDQUOT)))
		why = LOST_SPILL_REFUSED;
	if (fd >= 0) {
		why = pwrite(fd, segment, len, at) == (ssize_t)len ? LOST_NOTHING : LOST_SPILL_FULL;
		close(fd);
	}
	if (why == LOST_NOTHING) {
		spill_reused += place < spilled - spill_reused;
		segfile->spill_place[spilled % SPILL_SEGMENTS_MAX] = place;
		/* Partner: the agent's acquire load in collect/drain.c. It reads no segment that is still being
		 * written. */
		atomic_store_explicit(&segfile->spilled, ++spilled, memory_order_release);
	}
	lock_give(&lock);
	errno = saved;
	return why;
}

int segfile_refusal(void)
{
	return refusal != 0 ? -refusal : -ENOSPC;
}

int segfile_create(const char *dir)
{
	page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	int n = snprintf(path, sizeof(path), "%s/%d.%llx" SEGFILE_SUFFIX, dir, (int)getpid(),
			 (unsigned long long)tick_now());
	if (dir[0] != '/' || n < 0 || (size_t)n >= sizeof(path) - sizeof(SPILL_SUFFIX))
		return -EINVAL;
	if (!note_directory_is_ours(dir))
		return -EACCES;
	if (!note_fits_limit(SEGFILE_HEAD_BYTES))
		return -EFBIG;
	owner = geteuid();
	int fd = open_again("", O_RDWR | O_CREAT | O_EXCL);
	if (fd < 0)
		return -errno;
	close(fd);
	void *at = map_new(0, SEGFILE_HEAD_BYTES, NULL, false);
	if (at == NULL) {
		unlink(path);
		return segfile_refusal();
	}
	segfile = at;
	segfile_calls_forked = &segfile->calls_forked;
	return 0;
}

/* What it writes there from now on nobody else sees. */
static bool make_private(void *at, uint64_t offset, size_t len_bytes, int fd)
{
	return mmap(at, len_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd,
		    (off_t)offset) != MAP_FAILED;
}

/* A page of its own: until it is written to, the parent's changes would be seen in it (mmap(2)). */
static void snapshot(volatile char *page)
{
	*page = *page;
}

void segfile_leave(void)
{
	int saved = errno, fd = confined ? -1 : open_again("", O_RDWR);
	const uint64_t at = (uint64_t)((char *)segfile_calls_forked - (char *)segfile) & -page_bytes;
	uint32_t n = atomic_load_explicit(&segfile->nregions, memory_order_relaxed);
	char *shared = fd >= 0 ? mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at) : MAP_FAILED;
	lock_forget(&lock); /* whoever had it is not here: who has it is not interrupted */
	is_left = true;
	for (uint32_t i = 0; fd >= 0 && i < n; i++) {
		const struct region *r = &segfile->regions[i];
		if (make_private(mapped[i], r->offset, r->len_bytes, fd) && r->type == REGION_THREAD)
			snapshot(mapped[i]);
	}
	if (shared != MAP_FAILED) {
		segfile_calls_forked =
			(_Atomic uint64_t *)(void *)(shared + ((uintptr_t)segfile_calls_forked & (page_bytes - 1)));
		make_private(segfile, 0, SEGFILE_HEAD_BYTES, fd);
	}
	if (fd >= 0)
		close(fd);
	errno = saved;
}

void segfile_remove(void)
{
	unlink(path);
}

void *memory_reserve(size_t len_bytes)
{
	int saved = errno;
	void *at = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = saved;
	return at == MAP_FAILED ? NULL : at;
}
