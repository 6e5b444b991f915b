/* permissions.h - who may read the results: what the site's policy put into the layout. */
#pragma once

#include "format/layout.h"

/* Give the trace at path (NULL: there is none), and the directory it is in, to the group that may read. As far as the
 * user may: one who is no member of the group cannot, then a directory that has the group must be there already. */
void permissions_share(const struct layout *l, const char *path);
