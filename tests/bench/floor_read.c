/* floor_read.c THREADS FILE... - the least that any analysis of .mpic files does: find their blocks, inflate and decode
 * all events once. Prints one JSON object: {events, open_s, read_s}: seconds to check the blocks, which one thread does
 * for each file, and to read the events, which so many threads do block by block. */
#include "format/mpic.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MAX 64

struct work {
	struct mpic_file *files;
	int nfiles;
	atomic_size_t next, events; /* block, counted through all files */
	atomic_bool failed;
};

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const struct mpic_block *block_at(const struct work *w, size_t i, const struct mpic_file **ret_file)
{
	for (int f = 0; f < w->nfiles; f++) {
		*ret_file = &w->files[f];
		if (i < w->files[f].nblocks)
			return &w->files[f].blocks[i];
		i -= w->files[f].nblocks;
	}
	return NULL;
}

/* Events of one block, or -1. */
static int64_t decode(struct mpic_events *it, struct cursor payload)
{
	struct mpic_event ev;
	uint32_t count;
	int more = mpic_events_begin(it, payload, &count);
	if (more < 0)
		return -1;
	while ((more = mpic_events_next(it, &ev)) == 1)
		;
	return more == 0 ? (int64_t)count : -1;
}

static void *read_blocks(void *context)
{
	struct work *w = context;
	struct mpic_events *it = calloc(1, sizeof(*it)); /* large */
	_cleanup_buf_ struct buf payload = {0};
	const struct mpic_file *f;
	const struct mpic_block *b;
	while (it != NULL && (b = block_at(w, atomic_fetch_add(&w->next, 1), &f)) != NULL) {
		if (b->kind != MPIC_EVENTS)
			continue;
		int64_t n = mpic_read(f, b, &payload, NULL) < 0
				    ? -1
				    : decode(it, cursor_over(payload.data, payload.len_bytes));
		if (n < 0)
			atomic_store(&w->failed, true);
		else
			atomic_fetch_add(&w->events, (size_t)n);
	}
	if (it != NULL)
		mpic_events_done(it);
	else
		atomic_store(&w->failed, true);
	free(it);
	return NULL;
}

static void read_all(struct work *w, long nthreads)
{
	pthread_t threads[THREADS_MAX];
	long started = 0;
	while (started + 1 < nthreads && pthread_create(&threads[started], NULL, read_blocks, w) == 0)
		started++;
	read_blocks(w);
	while (started > 0)
		pthread_join(threads[--started], NULL);
}

int main(int argc, char **argv)
{
	struct error e;
	struct work w = {.nfiles = argc - 2};
	long nthreads = argc > 2 ? atol(argv[1]) : 0;
	if (nthreads < 1 || nthreads > THREADS_MAX) {
		fprintf(stderr, "usage: floor_read THREADS FILE...\n");
		return 2;
	}
	w.files = calloc((size_t)w.nfiles, sizeof(*w.files));
	double begun = now_s();
	for (int i = 0; w.files != NULL && i < w.nfiles; i++) {
		if (mpic_open(argv[i + 2], &w.files[i], &e) < 0) {
			fprintf(stderr, "%s\n", e.text);
			return 3;
		}
	}
	double opened = now_s();
	read_all(&w, nthreads);
	printf("{\"events\":%zu,\"open_s\":%.6f,\"read_s\":%.6f}\n", atomic_load(&w.events), opened - begun,
	       now_s() - opened);
	for (int i = 0; i < w.nfiles; i++)
		mpic_close(&w.files[i]);
	free(w.files);
	return atomic_load(&w.failed) ? 3 : 0;
}
