/* process.c - map a segment file and keep up with its growth. */
#include "collect/process.h"

#include "base/slurp.h"
#include "format/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Clock ticks (proc(5)) by which what a process reads of its own start may differ from what others read: emulators of
 * another processor tell when they began themselves. Nobody has a number again so soon. */
#define START_APART 200u
#define FORKED_WITHOUT_EXEC 0x40 /* PF_FORKNOEXEC */

/* NULL with *ret_refused = false: there is no such part. */
static void *map_part(int fd, uint64_t offset, uint64_t len_bytes, bool *ret_refused)
{
	struct stat st;
	*ret_refused = fstat(fd, &st) != 0;
	if (*ret_refused || len_bytes == 0 || offset > (uint64_t)st.st_size ||
	    len_bytes > (uint64_t)st.st_size - offset || offset % 4096 != 0)
		return NULL;
	void *at = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	*ret_refused = at == MAP_FAILED;
	return at == MAP_FAILED ? NULL : at;
}

int process_open_own(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ELOOP || errno == EISDIR || errno == ENXIO ? -EBADMSG : -errno;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1) {
		close(fd);
		return -EBADMSG;
	}
	return fd;
}

int process_open(struct process *ret_p, const char *path, uint32_t index, struct error *e)
{
	struct process p = {.index = index, .fd = process_open_own(path), .spill_fd = -1};
	int rc = 0;
	bool refused;
	if (p.fd < 0)
		return fail(e, p.fd, "%s: cannot open: %s", path, strerror(-p.fd));
	p.file = map_part(p.fd, 0, SEGFILE_HEAD_BYTES, &refused);
	if (p.file == NULL)
		close(p.fd);
	if (p.file == NULL)
		return fail(e, refused ? -ENOMEM : -EAGAIN, "%s: too short for a segment file", path);
	/* Partner: the release store at the end of process_begin() in pmpi/process.c. */
	uint64_t magic = __atomic_load_n(&p.file->magic, __ATOMIC_ACQUIRE);
	if (magic == 0)
		rc = fail(e, -EAGAIN, "%s: not ready", path);
	else if (magic != SEGFILE_MAGIC || p.file->version != SEGFILE_VERSION)
		rc = fail(e, -EBADMSG, "%s: not a segment file of this version", path);
	p.spill_done = p.spill_given_back =
		rc == 0 ? atomic_load_explicit(&p.file->spill_drained, memory_order_relaxed) : 0;
	p.path = strdup(path);
	p.maps = calloc(SEGFILE_REGIONS_MAX, sizeof(*p.maps));
	p.threads = calloc(SEGFILE_THREADS_MAX, sizeof(*p.threads));
	if (rc == 0 && (p.path == NULL || p.maps == NULL || p.threads == NULL))
		rc = fail(e, -ENOMEM, "out of memory");
	if (rc < 0)
		process_close(&p);
	else
		*ret_p = p;
	return rc;
}

void process_seal(struct process *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

void process_close(struct process *p)
{
	process_seal(p);
	for (uint32_t i = 0; i < p->nmaps; i++)
		if (p->maps[i].at != NULL)
			munmap(p->maps[i].at, p->maps[i].row.len_bytes);
	if (p->file != NULL)
		munmap(p->file, SEGFILE_HEAD_BYTES);
	if (p->spill_fd >= 0)
		close(p->spill_fd);
	for (uint32_t i = 0; i < p->nthreads; i++) {
		free(p->threads[i].sampled);
		usage_done(&p->threads[i].usage);
		counters_done(&p->threads[i].counters);
	}
	free(p->maps);
	free(p->threads);
	free(p->path);
	*p = (struct process){.fd = -1, .spill_fd = -1, .closed = true};
}

static void take_region(struct process *p, const struct region *r, void *at)
{
	if (r->thread >= SEGFILE_THREADS_MAX)
		return;
	struct drained_thread *t = &p->threads[r->thread];
	if (r->thread >= p->nthreads)
		p->nthreads = r->thread + 1;
	if (r->type == REGION_THREAD && r->len_bytes >= THREAD_OPEN_OFFSET + sizeof(struct open_call))
		t->area = at;
	if (r->type == REGION_RING) {
		t->ring = at;
		t->ring_bytes = r->len_bytes;
	}
}

void process_refresh(struct process *p)
{
	/* Partner: the release store in segfile_add_region(), pmpi/segfile.c. */
	uint32_t n = atomic_load_explicit(&p->file->nregions, memory_order_acquire);
	if (n <= p->nmaps || n > SEGFILE_REGIONS_MAX || p->fd < 0)
		return;
	for (uint32_t i = p->nmaps; i < n; i++, p->nmaps = i) {
		struct region r = p->file->regions[i];
		bool refused;
		p->maps[i].at = map_part(p->fd, r.offset, r.len_bytes, &refused);
		p->refused |= refused;
		if (refused) /* the next time again */
			break;
		p->maps[i].row = r;
		if (p->maps[i].at != NULL)
			take_region(p, &r, p->maps[i].at);
	}
}

/* That field of /proc/PID/stat (proc(5)), of those behind the name. */
static uint64_t stat_field(const char *text, int number)
{
	const char *at = strrchr(text, ')');
	for (int field = 2; at != NULL && field < number; field++)
		at = strchr(at + 1, ' ');
	return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* Its first thread may have ended (pthread_exit), as a zombie, long before the last one. */
static bool has_ended(const char *text)
{
	const char *at = strrchr(text, ')');
	return at != NULL && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X') && stat_field(text, 20) <= 1;
}

static bool has_no_process(pid_t pid)
{
	return kill(pid, 0) != 0 && errno == ESRCH;
}

/* 0: there is no such process. *ret_known = false: the system did not let us see. A program that nobody may read, or
 * that wants no core dumps (PR_SET_DUMPABLE), is not even in a /proc that hides processes (hidepid in proc(5)). */
static uint64_t start_time(uint32_t pid, bool *ret_known)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	*ret_known = slurp(path, text, sizeof(text)) > 0 ||
		     ((errno == ENOENT || errno == ESRCH) && has_no_process((pid_t)pid));
	return has_ended(text) ? 0 : stat_field(text, 22);
}

uint64_t process_begun(pid_t pid)
{
	bool known;
	return start_time((uint32_t)pid, &known);
}

/* Where its environment lies in memory (env_start) is random, and depends on how long that is. */
uint64_t process_image(pid_t pid)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (slurp(path, text, sizeof(text)) == 0)
		return 0;
	return stat_field(text, 22) * 0x9e3779b97f4a7c15ull ^ stat_field(text, 50);
}

bool process_is_copy(pid_t pid)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return slurp(path, text, sizeof(text)) > 0 && (stat_field(text, 9) & FORKED_WITHOUT_EXEC) != 0;
}

bool process_has_gone(pid_t pid, uint64_t begun)
{
	bool known;
	uint64_t now = start_time((uint32_t)pid, &known);
	return known && begun != 0 ? now != begun : has_no_process(pid);
}

bool process_is_over(const struct process *p)
{
	struct stat st;
	if (atomic_load_explicit(&p->file->state, memory_order_acquire) == SEGFILE_FINALIZED)
		return true;
	/* A pid of another namespace (a container) says nothing; then the end of the step decides. */
	if (stat("/proc/self/ns/pid", &st) != 0 || st.st_ino != p->file->pid_namespace)
		return false;
	bool known, comparable = p->file->time_namespace == (stat("/proc/self/ns/time", &st) == 0 ? st.st_ino : 0);
	uint64_t start = start_time(p->file->pid, &known), its = p->file->process_start;
	uint64_t apart = start > its ? start - its : its - start;
	return known && (start == 0 || (comparable && apart > START_APART));
}
