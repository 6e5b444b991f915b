/* pool.c - see pool.h. */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 256
#define THREADS_DEFAULT 16

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	void (*work)(void *context, size_t i);
	void *context;
	size_t n;
	atomic_size_t next;
	unsigned round; /* goes up with each run */
	unsigned busy;	/* threads that have not finished the round */
	bool stop;
	unsigned nthreads; /* besides the caller's */
	pthread_t threads[THREADS_MAX];
};

unsigned pool_threads(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : n > THREADS_DEFAULT ? THREADS_DEFAULT : (unsigned)n;
}

static void take_pieces(struct pool *p)
{
	size_t i;
	while ((i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed)) < p->n)
		p->work(p->context, i);
}

static void *run_thread(void *arg)
{
	struct pool *p = arg;
	unsigned seen = 0;
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->round == seen && !p->stop)
			pthread_cond_wait(&p->begin, &p->lock);
		if (p->stop)
			break;
		seen = p->round;
		pthread_mutex_unlock(&p->lock);
		take_pieces(p);
		pthread_mutex_lock(&p->lock);
		if (--p->busy == 0)
			pthread_cond_signal(&p->end);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct pool *pool_create(unsigned nthreads)
{
	struct pool *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->begin, NULL);
	pthread_cond_init(&p->end, NULL);
	while (p->nthreads + 1 < nthreads && p->nthreads < THREADS_MAX &&
	       pthread_create(&p->threads[p->nthreads], NULL, run_thread, p) == 0)
		p->nthreads++;
	return p;
}

void pool_destroy(struct pool *p)
{
	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->begin);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->nthreads; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->begin);
	pthread_cond_destroy(&p->end);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void pool_run(struct pool *p, size_t n, void (*work)(void *context, size_t i), void *context)
{
	if (p->nthreads == 0 || n < 2) {
		for (size_t i = 0; i < n; i++)
			work(context, i);
		return;
	}
	pthread_mutex_lock(&p->lock);
	p->work = work;
	p->context = context;
	p->n = n;
	atomic_store(&p->next, 0);
	p->busy = p->nthreads;
	p->round++;
	pthread_cond_broadcast(&p->begin);
	pthread_mutex_unlock(&p->lock);
	take_pieces(p);
	pthread_mutex_lock(&p->lock);
	while (p->busy > 0)
		pthread_cond_wait(&p->end, &p->lock);
	pthread_mutex_unlock(&p->lock);
}
