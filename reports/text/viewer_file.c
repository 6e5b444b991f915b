/* viewer_file.c - see viewer_file.h. */
#include "reports/text/viewer_file.h"

#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int viewer_file(char *ret_path, size_t size)
{
	/* of programs in build/cli, in PREFIX/bin, and in PREFIX/libexec/mpitrace or PREFIX/lib/mpitrace */
	static const char *const beside[] = {"/../reports/viewer/viewer.html", "/../share/mpitrace/viewer.html",
					     "/../../share/mpitrace/viewer.html"};
	char exe[PATH_MAX];
	path_self(exe, sizeof(exe));
	char *slash = strrchr(exe, '/');
	for (size_t i = 0; slash != NULL && i < sizeof(beside) / sizeof(beside[0]); i++) {
		*slash = '\0';
		if ((size_t)snprintf(ret_path, size, "%s%s", exe, beside[i]) < size && access(ret_path, R_OK) == 0)
			return 0;
	}
	snprintf(ret_path, size, "%s", MPITRACE_DATADIR "/viewer.html");
	return access(ret_path, R_OK) == 0 ? 0 : -ENOENT;
}
