/* standstill.c - see standstill.h. */
#include "collect/standstill.h"
#include "collect/open.h"
#include "collect/stepdir.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define TOUCH_NS (STANDSTILL_TOUCH_S * SECOND_NS)
#define FRESH_TIMES 3 /* so many touches may come late before nobody stands still elsewhere */

static void mark(const struct standstill *s)
{
	char path[PATH_MAX];
	if (s->marks_in == NULL)
		return;
	if (s->stands)
		stepdir_mark(s->marks_in, STANDSTILL_MARK, NULL);
	else if (snprintf(path, sizeof(path), "%s/" STANDSTILL_MARK, s->marks_in) < (int)sizeof(path))
		unlink(path);
}

void standstill_begin(struct standstill *s, const struct layout *layout, const char *ranks)
{
	uint64_t alert_s = layout_number(layout, LAYOUT_ALERT, 0);
	const char *out = layout_text(layout, LAYOUT_OUT);
	if (alert_s == 0)
		return;
	alert_s = alert_s < STANDSTILL_LEAST_S ? STANDSTILL_LEAST_S : alert_s < INT_MAX ? alert_s : INT_MAX;
	s->after_ns = (int64_t)alert_s * SECOND_NS / 2;
	s->marks_in = layout_number(layout, LAYOUT_NODEID, UINT64_MAX) == 0 ? ranks : NULL;
	s->step_dir = out[0] == '/' && layout_number(layout, LAYOUT_NNODES, 1) > 1 ? out : NULL;
	mark(s); /* as an agent that died left it */
}

/* ---- other nodes ---- */

static bool shared_path(const struct standstill *s, char ret_path[PATH_MAX])
{
	return s->step_dir != NULL && snprintf(ret_path, PATH_MAX, "%s/" STANDSTILL_ELSEWHERE, s->step_dir) < PATH_MAX;
}

static int64_t time_of(const char *path)
{
	struct stat st;
	if (lstat(path, &st) != 0)
		return 0;
	return (int64_t)st.st_mtim.tv_sec * SECOND_NS + st.st_mtim.tv_nsec;
}

/* Where another node has done so since this one last looked, it need not. */
static void touch(struct standstill *s, const char *path)
{
	int64_t touched_ns = time_of(path);
	bool done = touched_ns != 0 && touched_ns != s->touched_ns;
	int fd = done ? -1 : open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0) {
		futimens(fd, NULL);
		close(fd);
		touched_ns = time_of(path);
	}
	s->touched_ns = touched_ns;
}

/* Clocks of nodes differ: what counts is that the time of the file is another one. */
static void check_other_nodes(struct standstill *s, const char *path, int64_t now_ns)
{
	int64_t touched_ns = time_of(path);
	if (touched_ns != 0 && touched_ns != s->touched_ns)
		s->elsewhere_ns = now_ns + FRESH_TIMES * TOUCH_NS;
	s->touched_ns = touched_ns;
}

/* Does another node say that somebody stands still there? `here`: this one does. */
static bool elsewhere(struct standstill *s, bool here, int64_t now_ns)
{
	char path[PATH_MAX];
	bool first = s->marks_in != NULL;
	if (!shared_path(s, path))
		return false;
	if ((first || here) && now_ns - s->shared_ns >= TOUCH_NS) {
		s->shared_ns = now_ns;
		if (first)
			check_other_nodes(s, path, now_ns);
		else
			touch(s, path);
	}
	return first && now_ns < s->elsewhere_ns;
}

/* ---- this node ---- */

/* Ticks that are so many nanoseconds, by the clock that the process read when it began; 0: not known yet. */
static uint64_t ticks_of(const struct segfile *f, const struct tick_sample *now, int64_t ns)
{
	double passed_ns = (double)(now->monotonic_ns - f->clock_start.monotonic_ns);
	if (f->clock_start.tick == 0 || now->tick <= f->clock_start.tick || passed_ns < (double)ns)
		return 0;
	return (uint64_t)((double)(now->tick - f->clock_start.tick) * ((double)ns / passed_ns));
}

/* Is a thread of it in one call for so long? MPI_Init is none before it returns. */
static bool stands(const struct process *p, const struct tick_sample *now, int64_t after_ns)
{
	struct open_now open;
	uint64_t ticks = p->gone || p->closed ? 0 : ticks_of(p->file, now, after_ns);
	if (ticks == 0 || p->file->init_exit_tick == 0)
		return ticks != 0;
	for (uint32_t t = 0; t < p->nthreads; t++)
		if (p->threads[t].area != NULL && open_call_now(p, t, &open) && open.enter_tick < now->tick &&
		    now->tick - open.enter_tick >= ticks)
			return true;
	return false;
}

void standstill_check(struct standstill *s, const struct process *processes, uint32_t n, const struct tick_sample *now)
{
	bool any = false;
	if (s->after_ns == 0 || now->monotonic_ns - s->checked_ns < SECOND_NS)
		return;
	s->checked_ns = now->monotonic_ns;
	for (uint32_t i = 0; i < n && !any; i++)
		any = stands(&processes[i], now, s->after_ns);
	any |= elsewhere(s, any, now->monotonic_ns);
	if (any == s->stands)
		return;
	s->stands = any;
	mark(s);
}

void standstill_end(struct standstill *s)
{
	char path[PATH_MAX];
	s->stands = false;
	mark(s);
	if (shared_path(s, path))
		unlink(path);
}

int64_t standstill_gap_ns(const struct standstill *s)
{
	return s->stands ? s->after_ns / 2 : 0;
}
