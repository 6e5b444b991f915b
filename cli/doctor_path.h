/* doctor_path.h - may an ordinary user reach a file, and may they replace it? Root may read everything, so what root
 * sees says nothing of the users for whom plugstack.conf, the plugin and the tracer are read. */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum path_use { PATH_ENTER = 1, PATH_READ = 4, PATH_RUN = 5 }; /* bits of "others" in st_mode */

struct hindrance {
	char what[PATH_MAX + 192]; /* "/opt/x (mode 0700) cannot be entered by ordinary users" */
	char next[PATH_MAX + 64];
	bool some; /* only members of a group can */
};

/* What stands between an ordinary user (the caller, unless that is root) and this use of the file: in each directory
 * above it, also behind symbolic links. False: nothing. */
bool path_hinders(const char *path, enum path_use use, struct hindrance *ret_h);
/* Who but root may write the file, or put another one in its place. False: nobody. */
bool path_is_writable(const char *path, struct hindrance *ret_h);
