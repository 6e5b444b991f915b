/* peers_threads.c - threads that stand for processes, for tests and for counting what goes between many. */
#include "base/peers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct member {
	struct peers comm;
	struct peer_group *group;
	struct buf *out;
	int64_t numbers[PEER_NUMBERS];
};

struct peer_group {
	uint32_t size;
	struct member *members;
	pthread_barrier_t barrier;
	pthread_mutex_t lock;
	struct peer_counts counts;
};

static int take(struct member *m, struct buf *in)
{
	struct peer_group *g = m->group;
	int code = 0;
	for (uint32_t i = 0; i < g->size; i++) {
		const struct buf *from = &g->members[i].out[m->comm.rank];
		in[i].len_bytes = 0;
		if (from->len_bytes > 0)
			buf_bytes(&in[i], from->data, from->len_bytes);
		if (buf_failed(&in[i]) || buf_failed(from))
			code = -ENOMEM;
	}
	return code;
}

static void count(struct member *m)
{
	struct peer_group *g = m->group;
	uint32_t sent = 0;
	pthread_mutex_lock(&g->lock);
	for (uint32_t i = 0; i < g->size; i++) {
		sent += i != m->comm.rank && m->out[i].len_bytes > 0;
		g->counts.bytes += i != m->comm.rank ? m->out[i].len_bytes : 0;
	}
	g->counts.messages += sent;
	g->counts.most = sent > g->counts.most ? sent : g->counts.most;
	g->counts.exchanges += m->comm.rank == 0;
	pthread_mutex_unlock(&g->lock);
}

static int exchange(struct peers *c, struct buf *out, struct buf *in, int64_t numbers[PEER_NUMBERS])
{
	struct member *m = (struct member *)c;
	struct peer_group *g = m->group;
	m->out = out;
	for (unsigned k = 0; k < PEER_NUMBERS; k++)
		m->numbers[k] = numbers[k];
	count(m);
	pthread_barrier_wait(&g->barrier);
	int code = take(m, in);
	for (uint32_t i = 0; i < g->size; i++)
		for (unsigned k = 0; k < PEER_NUMBERS; k++)
			if (g->members[i].numbers[k] < numbers[k])
				numbers[k] = g->members[i].numbers[k];
	pthread_barrier_wait(&g->barrier);
	for (uint32_t i = 0; i < g->size; i++)
		out[i].len_bytes = 0;
	return code;
}

static void stay(struct peers *c)
{
	(void)c; /* it is the group's */
}

struct peer_group *peer_group_create(uint32_t size)
{
	struct peer_group *g = calloc(1, sizeof(*g));
	if (g == NULL)
		return NULL;
	g->size = size;
	g->members = calloc(size, sizeof(*g->members));
	if (g->members == NULL || pthread_barrier_init(&g->barrier, NULL, size) != 0) {
		free(g->members);
		free(g);
		return NULL;
	}
	pthread_mutex_init(&g->lock, NULL);
	for (uint32_t i = 0; i < size; i++)
		g->members[i] = (struct member){
			.comm = {.rank = i, .size = size, .exchange = exchange, .destroy = stay}, .group = g};
	return g;
}

struct peers *peer_group_of(struct peer_group *g, uint32_t rank)
{
	return &g->members[rank].comm;
}

struct peer_counts peer_group_counts(const struct peer_group *g)
{
	return g->counts;
}

void peer_group_destroy(struct peer_group *g)
{
	if (g == NULL)
		return;
	pthread_barrier_destroy(&g->barrier);
	pthread_mutex_destroy(&g->lock);
	free(g->members);
	free(g);
}
