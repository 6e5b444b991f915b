/* path.h - paths of files: what stands behind the last slash, and the path of this program. */
#pragma once

#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* What stands behind the last slash, within path; "" for one that ends with it. */
static inline const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* The same for a person: all of a path that ends with a slash. */
static inline const char *basename_of(const char *path)
{
	const char *name = path_name(path);
	return *name != '\0' ? name : path;
}

/* Of this program; "" when the system does not tell. */
static inline void path_self(char *ret_path, size_t cap_bytes)
{
	ssize_t n = readlink("/proc/self/exe", ret_path, cap_bytes - 1);
	ret_path[n > 0 ? n : 0] = '\0';
}
