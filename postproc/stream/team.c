/* team.c - see team.h: who has which shards, and exchanges. */
#include "postproc/stream/team.h"
#include "postproc/stream/stream.h"

/* What of all work is not of single ranks (docs/PERFORMANCE.md), which is process 0's. */
#define OF_ALL_SHARE 0.45

/* How many of n shards process 0 has, so that all have as much to do as they can. */
static uint32_t shards_of_first(uint32_t n, uint32_t size)
{
	double others = size - 1, own = (1 / others - OF_ALL_SHARE / (1 - OF_ALL_SHARE)) / (1 + 1 / others);
	uint32_t wanted = own > 0 ? (uint32_t)(own * n + 0.5) : 0;
	return wanted < 1 ? 1 : wanted > n ? n : wanted;
}

static void share_out(struct team *t, uint32_t nshards)
{
	uint32_t size = t->peers->size, first = t->alone || size == 1 ? nshards : shards_of_first(nshards, size);
	t->first_shard[0] = 0;
	for (uint32_t q = 1; q <= size; q++)
		t->first_shard[q] =
			first + (uint32_t)((uint64_t)(nshards - first) * (q - 1) / (size > 1 ? size - 1 : 1));
	for (uint32_t q = 0; q < size; q++)
		for (uint32_t i = t->first_shard[q]; i < t->first_shard[q + 1]; i++)
			t->process_of[i] = q;
}

/* What the phases cannot do by mail. */
static bool must_be_alone(const struct step *s)
{
	bool alone = s->windows.n > 0 || s->files.n > 0;
	for (uint32_t r = 0; r < s->nranks && !alone; r++) {
		const struct process *p = s->ranks[r];
		alone = p != NULL && p->open.n > 0;
		for (size_t i = 0; p != NULL && i < p->sigs.n && !alone; i++)
			alone = p->sigs.at[i].call.partitioned;
	}
	return alone;
}

int team_begin(struct stream *st, struct peers *peers)
{
	st->first_shard = 0;
	st->end_shard = st->nshards;
	if (peers == NULL || peers->size == 1)
		return 0;
	struct team *t = st->team;
	if (t == NULL) {
		t = st->team = calloc(1, sizeof(*t));
		if (t == NULL)
			return -ENOMEM;
		t->peers = peers;
		t->out = calloc(peers->size, sizeof(*t->out));
		t->in = calloc(peers->size, sizeof(*t->in));
		t->first_shard = calloc(peers->size + 1u, sizeof(*t->first_shard));
		t->process_of = calloc(st->nshards + 1u, sizeof(*t->process_of));
		t->sends = calloc(st->nshards + 1u, sizeof(*t->sends));
		t->parts = calloc(st->nshards + 1u, sizeof(*t->parts));
		t->edges = calloc(st->nshards + 1u, sizeof(*t->edges));
		t->rest = calloc(peers->size, sizeof(*t->rest));
		t->alone = must_be_alone(st->step);
	}
	if (t->out == NULL || t->in == NULL || t->first_shard == NULL || t->process_of == NULL || t->sends == NULL ||
	    t->parts == NULL || t->edges == NULL || t->rest == NULL)
		return -ENOMEM;
	share_out(t, st->nshards);
	st->first_shard = t->first_shard[peers->rank];
	st->end_shard = t->first_shard[peers->rank + 1];
	return 0;
}

void team_clear(struct stream *st)
{
	struct team *t = st->team;
	for (uint32_t i = 0; t != NULL && i < st->nshards; i++) {
		if (t->sends != NULL)
			map64_done(&t->sends[i]);
		if (t->parts != NULL)
			map64_done(&t->parts[i]);
	}
	if (t != NULL)
		columns_clear(st);
}

void team_done(struct stream *st)
{
	struct team *t = st->team;
	if (t == NULL)
		return;
	team_clear(st);
	for (uint32_t q = 0; q < t->peers->size; q++) {
		if (t->out != NULL)
			buf_done(&t->out[q]);
		if (t->in != NULL)
			buf_done(&t->in[q]);
	}
	free(t->out);
	free(t->in);
	free(t->first_shard);
	free(t->process_of);
	free(t->sends);
	free(t->parts);
	free(t->edges);
	free(t->rest);
	free(t);
	st->team = NULL;
}

bool team_shares(const struct stream *st)
{
	return st->team != NULL && !st->team->alone;
}

bool team_is_first(const struct stream *st)
{
	return st->team == NULL || st->team->peers->rank == 0;
}

bool team_has_rank(const struct stream *st, uint32_t rank)
{
	uint32_t shard = shard_of(st, rank);
	return shard >= st->first_shard && shard < st->end_shard;
}

void team_leave(struct stream *st)
{
	if (st->team != NULL)
		st->team->alone = true;
}

uint32_t team_process_of_rank(const struct stream *st, uint32_t rank)
{
	return st->team == NULL ? 0 : st->team->process_of[shard_of(st, rank)];
}

int team_exchange(struct stream *st, int code, int64_t *number)
{
	if (!st->team->peers->over && st->team->own == 0)
		st->team->own = code;
	return peers_exchange(st->team->peers, code, st->team->out, st->team->in, number);
}
