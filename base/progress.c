/* progress.c - see progress.h. */
#include "base/progress.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_NS 1000000000u
#define EVERY_NS 100000000u

void progress_begin(struct progress *p, const char *what, uint64_t total)
{
	*p = (struct progress){.what = what, .total = total, .started_ns = (uint64_t)now_ns()};
	if (!isatty(STDERR_FILENO))
		p->total = 0;
}

void progress_at(struct progress *p, uint64_t done)
{
	if (p->total == 0)
		return;
	uint64_t now = (uint64_t)now_ns();
	if (now - p->started_ns < FIRST_NS || now - p->drawn_ns < EVERY_NS)
		return;
	p->drawn_ns = now;
	p->shown = 1;
	fprintf(stderr, "\r%s %3" PRIu64 " %%", p->what, done * 100 / p->total);
	fflush(stderr);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = 0;
}
