/* writing.c - see writing.h. A ring of batches: the reader fills one, the writer empties those before it. */
#include "reports/export/writing.h"

#include "base/vec.h"

#include <pthread.h>
#include <signal.h>

#define BATCHES 4u
#define BATCH_ITEMS 4096u  /* events or messages */
#define BATCH_NOTES 65536u /* a call that completes many messages has many */

struct given {
	struct mpix_event call;
	uint64_t number;
	uint32_t rank, lane, first_note, nnotes;
};

struct numbered {
	struct mpix_link link;
	uint64_t number;
};

struct batch {
	VEC(struct given) events;
	VEC(struct export_note) notes;
	VEC(struct numbered) messages;
};

struct writing {
	struct exporting *x;
	const struct export_format *format;
	struct batch batches[BATCHES];
	uint32_t filling, writing; /* batches that the reader, the writer has at hand */
	pthread_t thread;
	bool threaded;
	/* guarded by lock */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t full;
	bool over;
	int code;
};

static int write_batch(struct writing *w, struct batch *b)
{
	int rc = 0;
	for (size_t i = 0; i < b->messages.n && rc == 0; i++)
		rc = w->format->message(w->x, &b->messages.at[i].link, b->messages.at[i].number);
	for (size_t i = 0; i < b->events.n && rc == 0; i++) {
		const struct given *g = &b->events.at[i];
		struct export_event ev = {.call = &g->call,
					  .number = g->number,
					  .rank = g->rank,
					  .lane = g->lane,
					  .notes = g->nnotes > 0 ? b->notes.at + g->first_note : NULL,
					  .nnotes = g->nnotes};
		rc = w->format->event(w->x, &ev);
	}
	b->events.n = b->notes.n = b->messages.n = 0;
	return rc;
}

/* After a failure batches are taken and dropped, so that nobody waits for ever. */
static void *write_batches(void *context)
{
	struct writing *w = context;
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (w->full == 0 && !w->over)
			pthread_cond_wait(&w->changed, &w->lock);
		if (w->full == 0)
			break;
		int rc = w->code;
		pthread_mutex_unlock(&w->lock);
		if (rc == 0)
			rc = write_batch(w, &w->batches[w->writing]);
		w->writing = (w->writing + 1) % BATCHES;
		pthread_mutex_lock(&w->lock);
		w->code = rc;
		w->full--;
		pthread_cond_signal(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Signals are the caller's. */
static void start_thread(struct writing *w)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	w->threaded = pthread_create(&w->thread, NULL, write_batches, w) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct writing *writing_create(struct exporting *x, const struct export_format *format, struct error *e)
{
	struct writing *w = calloc(1, sizeof(*w));
	if (w == NULL) {
		fail(e, -ENOMEM, "out of memory");
		return NULL;
	}
	w->x = x;
	w->format = format;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	start_thread(w);
	return w;
}

/* The batch at hand is full: the next one, as soon as it is empty. */
static int hand_over(struct writing *w)
{
	struct batch *b = &w->batches[w->filling];
	if (b->events.n == 0 && b->messages.n == 0)
		return 0;
	if (!w->threaded) {
		w->code = w->code == 0 ? write_batch(w, b) : w->code;
		return w->code;
	}
	pthread_mutex_lock(&w->lock);
	w->full++;
	pthread_cond_signal(&w->changed);
	while (w->full == BATCHES)
		pthread_cond_wait(&w->changed, &w->lock);
	int rc = w->code;
	pthread_mutex_unlock(&w->lock);
	w->filling = (w->filling + 1) % BATCHES;
	struct batch *next = &w->batches[w->filling];
	next->events.n = next->notes.n = next->messages.n = 0; /* one that was dropped */
	return rc;
}

int writing_event(struct writing *w, const struct export_event *ev)
{
	struct batch *b = &w->batches[w->filling];
	struct given g = {*ev->call, ev->number, ev->rank, ev->lane, (uint32_t)b->notes.n, ev->nnotes};
	if (vec_grow(&b->notes.at, &b->notes.cap, b->notes.n + ev->nnotes, sizeof(*b->notes.at)) < 0 ||
	    vec_push(&b->events, g) < 0)
		return -ENOMEM;
	if (ev->nnotes > 0)
		memcpy(b->notes.at + b->notes.n, ev->notes, ev->nnotes * sizeof(*b->notes.at));
	b->notes.n += ev->nnotes;
	return b->events.n >= BATCH_ITEMS || b->notes.n >= BATCH_NOTES ? hand_over(w) : 0;
}

int writing_message(struct writing *w, const struct mpix_link *link, uint64_t number)
{
	struct batch *b = &w->batches[w->filling];
	if (vec_push(&b->messages, (struct numbered){*link, number}) < 0)
		return -ENOMEM;
	return b->messages.n >= BATCH_ITEMS ? hand_over(w) : 0;
}

static void stop_thread(struct writing *w)
{
	pthread_mutex_lock(&w->lock);
	w->over = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
}

int writing_end(struct writing *w)
{
	if (w == NULL)
		return 0;
	hand_over(w);
	if (w->threaded)
		stop_thread(w);
	int rc = w->code;
	for (size_t i = 0; i < BATCHES; i++) {
		vec_done(&w->batches[i].events);
		vec_done(&w->batches[i].notes);
		vec_done(&w->batches[i].messages);
	}
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return rc;
}
