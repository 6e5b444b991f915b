/* faults.c - preloaded: lets calls of the C library fail when they come from our own code, and leaves everybody
 * else's alone. FAULT=call:errno:N or call:errno:N+ : the Nth (and all later ones) of `call` (or of `any`) fails.
 * FAULT_IN: who is ours, a part of the object's file name. FAULT_COUNT: a file that gets "call count" lines at
 * exit: how far a sweep has to go. FAULT_PAGE: the machine's pages are so many bytes: who is ours is told so, and
 * what is not at the begin of one cannot be mapped. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))real(#name))

enum call {
	OPEN,
	MMAP,
	POSIX_FALLOCATE,
	FALLOCATE,
	PWRITE,
	PREAD,
	WRITE,
	FTRUNCATE,
	FSYNC,
	MALLOC,
	CALLOC,
	REALLOC,
	MKDIR,
	CALLS
};

static const char *const names[CALLS] = {"open",  "mmap",      "posix_fallocate", "fallocate", "pwrite", "pread",
					 "write", "ftruncate", "fsync",		  "malloc",    "calloc", "realloc",
					 "mkdir"};
static unsigned seen[CALLS], seen_any;
static struct {
	char call[32], in[64];
	int error;
	unsigned at;
	unsigned long page;
	bool onwards, parsed;
} fault;

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void parse(void)
{
	const char *text = getenv("FAULT"), *in = getenv("FAULT_IN");
	char plus = 0;
	fault.parsed = true;
	fault.page = getenv("FAULT_PAGE") != NULL ? strtoul(getenv("FAULT_PAGE"), NULL, 10) : 0;
	snprintf(fault.in, sizeof(fault.in), "%s", in != NULL ? in : "libmpitrace-");
	if (text != NULL && sscanf(text, "%31[^:]:%d:%u%c", fault.call, &fault.error, &fault.at, &plus) < 3)
		abort();
	fault.onwards = plus == '+';
}

static bool hits(const char *call, unsigned count)
{
	return fault.at > 0 && strcmp(fault.call, call) == 0 && (fault.onwards ? count >= fault.at : count == fault.at);
}

static bool is_ours(void *caller)
{
	Dl_info info;
	const char *slash;
	if (!fault.parsed)
		parse();
	if (dladdr(caller, &info) == 0 || info.dli_fname == NULL)
		return false;
	slash = strrchr(info.dli_fname, '/');
	return strncmp(slash != NULL ? slash + 1 : info.dli_fname, fault.in, strlen(fault.in)) == 0;
}

/* With pages of FAULT_PAGE bytes, is that the begin of none? */
static bool inside_page(uint64_t at, void *caller)
{
	return is_ours(caller) && fault.page != 0 && at % fault.page != 0;
}

/* Must the call that came from `caller` fail? */
static bool fails(enum call call, void *caller)
{
	if (!is_ours(caller))
		return false;
	unsigned n = __atomic_add_fetch(&seen[call], 1, __ATOMIC_RELAXED);
	unsigned any = __atomic_add_fetch(&seen_any, 1, __ATOMIC_RELAXED);
	if (!hits(names[call], n) && !hits("any", any))
		return false;
	errno = fault.error;
	return true;
}

#define HERE __builtin_return_address(0)

PUBLIC int open(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	int mode = va_arg(ap, int);
	va_end(ap);
	return fails(OPEN, HERE) ? -1 : REAL(open)(path, flags, mode);
}

PUBLIC void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (inside_page((uint64_t)offset, HERE) || ((flags & MAP_FIXED) != 0 && inside_page((uintptr_t)at, HERE))) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if (fails(MMAP, HERE))
		return MAP_FAILED;
	bool anywhere = fault.page != 0 && is_ours(HERE) && at == NULL && fd < 0;
	uintptr_t got = (uintptr_t)REAL(mmap)(at, anywhere ? len + fault.page : len, prot, flags, fd, offset);
	return (void *)(anywhere ? (got + fault.page - 1) / fault.page * fault.page : got);
}

PUBLIC int mincore(void *at, size_t len, unsigned char *in_core)
{
	if (!inside_page((uintptr_t)at, HERE))
		return REAL(mincore)(at, len, in_core);
	errno = EINVAL;
	return -1;
}

PUBLIC long sysconf(int name)
{
	return name == _SC_PAGESIZE && is_ours(HERE) && fault.page != 0 ? (long)fault.page : REAL(sysconf)(name);
}

PUBLIC int posix_fallocate(int fd, off_t offset, off_t len)
{
	return fails(POSIX_FALLOCATE, HERE) ? fault.error : REAL(posix_fallocate)(fd, offset, len);
}

PUBLIC int fallocate(int fd, int mode, off_t offset, off_t len)
{
	return fails(FALLOCATE, HERE) ? -1 : REAL(fallocate)(fd, mode, offset, len);
}

PUBLIC ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	return fails(PWRITE, HERE) ? -1 : REAL(pwrite)(fd, data, len, offset);
}

PUBLIC ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
	return fails(PREAD, HERE) ? -1 : REAL(pread)(fd, data, len, offset);
}

/* Half of it arrives, as on a disk that fills up. */
PUBLIC ssize_t write(int fd, const void *data, size_t len)
{
	if (!fails(WRITE, HERE))
		return REAL(write)(fd, data, len);
	if (len > 1 && REAL(write)(fd, data, len / 2) < 0)
		return -1;
	errno = fault.error;
	return -1;
}

PUBLIC int ftruncate(int fd, off_t len)
{
	return fails(FTRUNCATE, HERE) ? -1 : REAL(ftruncate)(fd, len);
}

PUBLIC int fsync(int fd)
{
	return fails(FSYNC, HERE) ? -1 : REAL(fsync)(fd);
}

PUBLIC int mkdir(const char *path, mode_t mode)
{
	return fails(MKDIR, HERE) ? -1 : REAL(mkdir)(path, mode);
}

/* dlsym() itself may allocate: the C library's own names are taken. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

PUBLIC void *malloc(size_t len)
{
	return fails(MALLOC, HERE) ? NULL : __libc_malloc(len);
}

PUBLIC void *calloc(size_t n, size_t len)
{
	return fails(CALLOC, HERE) ? NULL : __libc_calloc(n, len);
}

PUBLIC void *realloc(void *old, size_t len)
{
	return fails(REALLOC, HERE) ? NULL : __libc_realloc(old, len);
}

__attribute__((destructor)) static void report_faults(void)
{
	const char *path = getenv("FAULT_COUNT");
	FILE *f = path != NULL && seen_any > 0 ? fopen(path, "w") : NULL;
	if (f == NULL)
		return;
	for (int i = 0; i < CALLS; i++)
		fprintf(f, "%s %u\n", names[i], seen[i]);
	fprintf(f, "any %u\n", seen_any);
	fclose(f);
}
