/* paths.c - where the tracer lies: beside this program in a build tree, else where it was installed. */
#include "cli/cli.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *tracer_path(void)
{
	static char path[PATH_MAX + 64];
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		self[n] = '\0';
		char *slash = strrchr(self, '/');
		if (slash != NULL)
			*slash = '\0';
		snprintf(path, sizeof(path), "%s/../pmpi/libmpitrace.so", self);
		if (access(path, R_OK) == 0)
			return path;
	}
	return MPITRACE_PKGLIBDIR "/libmpitrace.so";
}
