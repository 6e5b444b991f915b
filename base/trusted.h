/* trusted.h - files whose content a program acts upon: whoever could write one could put theirs in its place. */
#pragma once

#include "base/error.h"

enum trusted {
	TRUSTED_PUBLIC, /* nobody but the owner may write it */
	TRUSTED_SECRET, /* nor may others than its group read it */
};

/* Open for reading: a regular file, no link, of root's or our own, of such a mode. The descriptor, or -errno; -EPERM
 * for one that is not to be trusted. The caller closes it. */
int trusted_open(const char *path, enum trusted how, struct error *e);
