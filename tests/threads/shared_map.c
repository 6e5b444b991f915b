/* shared_map.c - mmap() for tracer and agent in one process: who maps a part of the segment file that is mapped
 * already gets that mapping. The linker puts these in place of the real ones (--wrap). */
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAPPED_MAX 4096

void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t len);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t len);

static struct {
	void *at;
	ino_t file;
	off_t offset;
	size_t len;
} mapped[MAPPED_MAX];
static unsigned nmapped;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	struct stat st;
	void *found = NULL;
	if (fd < 0 || (flags & MAP_SHARED) == 0 || fstat(fd, &st) != 0)
		return __real_mmap(at, len, prot, flags, fd, offset);
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < nmapped && found == NULL; i++)
		if (mapped[i].file == st.st_ino && mapped[i].offset == offset && mapped[i].len == len)
			found = mapped[i].at;
	if (found == NULL) {
		found = __real_mmap(at, len, prot, flags, fd, offset);
		if (found != MAP_FAILED && nmapped < MAPPED_MAX) {
			mapped[nmapped].at = found;
			mapped[nmapped].file = st.st_ino;
			mapped[nmapped].offset = offset;
			mapped[nmapped++].len = len;
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}

int __wrap_munmap(void *at, size_t len)
{
	for (unsigned i = 0; i < nmapped; i++)
		if (mapped[i].at == at)
			return 0;
	return __real_munmap(at, len);
}
