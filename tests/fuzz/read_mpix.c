/* read_mpix.c - see read_mpix.h. */
#include "tests/fuzz/read_mpix.h"

#include "tests/fuzz/fuzz.h"

#define RANKS 8
#define WINDOWS 8

static int see_event(void *context, const struct mpix_event *event)
{
	const struct mpix_info *info = context;
	fuzz_check(event->op < info->nops && event->class < MPIX_CLASSES);
	return 0;
}

static int see_link(void *context, const struct mpix_link *link)
{
	const struct mpix_info *info = context;
	fuzz_check(link->message.src < info->ranks && link->message.dst < info->ranks);
	return 0;
}

static int see_bare(void *context, const struct mpix_link *link)
{
	struct mpix_link full = *link;
	mpix_message_find(context, &full, NULL);
	return 0;
}

static int see_wait(void *context, const struct mpix_wait *wait)
{
	(void)context, (void)wait;
	return 0;
}

static int see_sync(void *context, const struct mpix_sync *sync)
{
	const struct mpix_info *info = context;
	for (uint32_t i = 0; i < sync->nruns; i++)
		fuzz_check(sync->runs[i].first < info->ranks && sync->runs[i].count <= info->ranks);
	fuzz_check(sync->rank < info->ranks);
	return 0;
}

static int see_part(void *context, const struct mpix_collective_part *part)
{
	const struct mpix_info *info = context;
	fuzz_check(part->rank < info->ranks);
	return 0;
}

static int see_sample(void *context, const struct mpix_sample *s)
{
	const struct mpix_info *info = context;
	fuzz_check(s->samples > 0 && s->start_ns <= s->end_ns && s->nthreads <= info->lanes);
	for (uint32_t i = 0; i < s->nthreads; i++) {
		fuzz_check(s->threads[i].lane < info->lanes);
		for (uint32_t k = 0; k < s->threads[i].ncells; k++)
			fuzz_check(s->threads[i].cells[k].op < info->nops);
	}
	return 0;
}

/* A failure is said, each anew. */
static void told(int rc, struct error *e)
{
	fuzz_check(rc >= 0 || e->text[0] != '\0');
	e->text[0] = '\0';
}

void read_mpix(const char *path)
{
	struct mpix_file *f;
	struct error e = {""};
	if (mpix_open(path, &f, &e) < 0) {
		fuzz_check(e.text[0] != '\0');
		return;
	}
	const struct mpix_info *info = mpix_info(f);
	for (uint32_t r = 0; r < info->ranks && r < RANKS; r++)
		told(mpix_each_event(f, r, INT64_MIN, INT64_MAX, see_event, (void *)(uintptr_t)info, &e), &e);
	told(mpix_each_message(f, INT64_MIN, INT64_MAX, see_link, (void *)(uintptr_t)info, &e), &e);
	told(mpix_each_wait(f, INT64_MIN, INT64_MAX, see_wait, NULL, &e), &e);
	told(mpix_each_sync(f, see_sync, (void *)(uintptr_t)info, &e), &e);
	told(mpix_each_sample(f, see_sample, (void *)(uintptr_t)info, &e), &e);
	for (uint32_t w = 0; w < mpix_windows(f) && w < WINDOWS; w++) {
		told(mpix_window_messages(f, w, true, see_bare, f, &e), &e);
		told(mpix_window_waits(f, w, true, see_wait, NULL, &e), &e);
		told(mpix_window_parts(f, w, see_part, (void *)(uintptr_t)info, &e), &e);
	}
	fuzz_check(mpix_analysis(f) != NULL);
	read_columns(f);
	mpix_close(f);
}
