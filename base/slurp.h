/* slurp.h - a short text of the kernel's. */
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

/* The first cap - 1 bytes, and a 0. Returns how many; 0: there is none. */
static inline size_t slurp(const char *path, char *to, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, to, cap - 1) : 0;
	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}
