/* settings.c - see settings.h. In: the environment, or /proc/self/environ. */
#include "pmpi/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PREFIX "MPITRACE_"
#define KEPT_BYTES 8192u

static char kept[KEPT_BYTES]; /* NAME=value, each ended by NUL, an empty one behind the last */

/* Whole variables with our prefix, of which there is room for. */
static void keep_from(int fd)
{
	char part[1024];
	size_t used = 0, begin = 0; /* of the variable that is read */
	bool ours = true;
	for (ssize_t n; (n = read(fd, part, sizeof(part))) > 0;)
		for (ssize_t i = 0; i < n; i++) {
			size_t at = used - begin;
			ours &= at >= strlen(PREFIX) || part[i] == PREFIX[at];
			if (ours && used < sizeof(kept) - 1)
				kept[used++] = part[i];
			if (part[i] != '\0')
				continue;
			bool whole = ours && used > begin + strlen(PREFIX) && kept[used - 1] == '\0';
			begin = used = whole ? used : begin;
			kept[used] = '\0';
			ours = true;
		}
	kept[begin] = '\0';
}

static void keep(void)
{
	int saved = errno, fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		keep_from(fd);
		close(fd);
	}
	errno = saved;
}

static const char *value_of(const char *variable, const char *name)
{
	size_t len = strlen(name);
	return strncmp(variable, name, len) == 0 && variable[len] == '=' ? variable + len + 1 : NULL;
}

/* Threads that come at once read the same into the same place. */
static const char *at_start(const char *name)
{
	static atomic_bool known;
	const char *value = NULL;
	if (!atomic_load(&known)) {
		keep();
		atomic_store(&known, true);
	}
	for (const char *v = kept; *v != '\0' && value == NULL; v += strlen(v) + 1)
		value = value_of(v, name);
	return value;
}

const char *setting(const char *name)
{
	if (getauxval(AT_SECURE) != 0)
		return NULL;
	return getenv("MPITRACE_DIR") != NULL ? getenv(name) : at_start(name);
}
