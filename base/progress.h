/* progress.h - a progress line on stderr, only when stderr is a terminal and the work takes over a second. */
#pragma once

#include <stdint.h>

struct progress {
	const char *what;
	uint64_t total;
	uint64_t started_ns;
	uint64_t drawn_ns;
	int shown;
};

void progress_begin(struct progress *p, const char *what, uint64_t total);
void progress_at(struct progress *p, uint64_t done);
void progress_end(struct progress *p);
