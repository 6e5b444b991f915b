/* deferred.h - reports that were left for later (teardown.h), made by the sweep. */
#pragma once

struct deferred_count {
	unsigned made, left;
};

/* All in the directory <spool>/late, which the caller has locked; adds to *count. */
void deferred_sweep(int deferred_fd, const char *program, struct deferred_count *count);
