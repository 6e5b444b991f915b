/* standstill.c - see standstill.h. */
#include "collect/standstill.h"
#include "collect/open.h"
#include "collect/stepdir.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll

static void mark(const struct standstill *s)
{
	char path[PATH_MAX];
	if (s->marks_in == NULL)
		return;
	if (s->stands)
		stepdir_mark(s->marks_in, STANDSTILL_MARK);
	else if (snprintf(path, sizeof(path), "%s/" STANDSTILL_MARK, s->marks_in) < (int)sizeof(path))
		unlink(path);
}

void standstill_begin(struct standstill *s, const struct layout *layout, const char *ranks)
{
	uint64_t alert_s = layout_number(layout, LAYOUT_ALERT, 0);
	if (alert_s == 0)
		return;
	alert_s = alert_s < STANDSTILL_LEAST_S ? STANDSTILL_LEAST_S : alert_s < INT_MAX ? alert_s : INT_MAX;
	s->after_ns = (int64_t)alert_s * SECOND_NS / 2;
	s->marks_in = layout_number(layout, LAYOUT_NODEID, UINT64_MAX) == 0 ? ranks : NULL;
	mark(s); /* as an agent that died left it */
}

/* Ticks that are so many nanoseconds, by the clock that the process read when it began; 0: not known yet. */
static uint64_t ticks_of(const struct segfile *f, const struct tick_sample *now, int64_t ns)
{
	double passed_ns = (double)(now->monotonic_ns - f->clock_start.monotonic_ns);
	if (f->clock_start.tick == 0 || now->tick <= f->clock_start.tick || passed_ns < (double)ns)
		return 0;
	return (uint64_t)((double)(now->tick - f->clock_start.tick) * ((double)ns / passed_ns));
}

/* Is a thread of it in one call for so long? */
static bool stands(const struct process *p, const struct tick_sample *now, int64_t after_ns)
{
	struct open_now open;
	uint64_t ticks = p->gone || p->closed ? 0 : ticks_of(p->file, now, after_ns);
	if (ticks == 0)
		return false;
	for (uint32_t t = 0; t < p->nthreads; t++)
		if (p->threads[t].area != NULL && open_call_now(p, t, &open) && open.enter_tick < now->tick &&
		    now->tick - open.enter_tick >= ticks)
			return true;
	return false;
}

void standstill_look(struct standstill *s, const struct process *processes, uint32_t n, const struct tick_sample *now)
{
	bool any = false;
	if (s->after_ns == 0 || now->monotonic_ns - s->looked_ns < SECOND_NS)
		return;
	s->looked_ns = now->monotonic_ns;
	for (uint32_t i = 0; i < n && !any; i++)
		any = stands(&processes[i], now, s->after_ns);
	if (any == s->stands)
		return;
	s->stands = any;
	mark(s);
}

void standstill_end(struct standstill *s)
{
	s->stands = false;
	mark(s);
}

int64_t standstill_gap_ns(const struct standstill *s)
{
	return s->stands ? s->after_ns / 2 : 0;
}
