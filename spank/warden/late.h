/* late.h - reports that were left for later (settle.h), made by the sweep. */
#pragma once

struct late_count {
	unsigned made, left;
};

/* All in the directory <spool>/late, which the caller has locked; adds to *count. */
void late_sweep(int late_fd, const char *program, struct late_count *count);
