/* state.c - see state.h. */
#include "postproc/state/state.h"

int states_add(struct states *s, const struct state *thread)
{
	struct state x = *thread;
	x.first_want = (uint32_t)s->wants.n;
	x.nwants = 0;
	return vec_push(&s->threads, x);
}

int states_want(struct states *s, const struct want *want)
{
	struct state *x = &s->threads.at[s->threads.n - 1];
	if (x->nwants == STATE_WANTS_MAX) {
		x->left_out++;
		return 0;
	}
	x->nwants++;
	return vec_push(&s->wants, *want);
}

int states_want_ranks(struct states *s, struct want want, const int32_t *ranks, uint32_t n)
{
	want.kind = WANT_RANKS;
	want.first = (uint32_t)s->ranks.n;
	want.n = n;
	for (uint32_t i = 0; i < n; i++)
		if (vec_push(&s->ranks, ranks[i]) < 0)
			return -ENOMEM;
	return states_want(s, &want);
}

void states_done(struct states *s)
{
	vec_done(&s->threads);
	vec_done(&s->wants);
	vec_done(&s->ranks);
	vec_done(&s->comms);
	vec_done(&s->uses);
	vec_done(&s->more);
}

static void put_rank(struct buf *b, const char *before, uint32_t rank)
{
	if (rank == STATE_NONE)
		buf_printf(b, "%sany rank", before);
	else
		buf_printf(b, "%srank %u", before, rank);
}

void state_put_want(struct buf *b, const struct want *want, const char *op, uint32_t by)
{
	static const char *const does[] = {[WANT_UNLOCK] = "'s MPI_Win_unlock",
					   [WANT_POST] = "'s MPI_Win_post",
					   [WANT_COMPLETE] = "'s MPI_Win_complete"};
	switch (want->kind) {
	case WANT_MESSAGE:
		put_rank(b, "a message from ", want->peer < 0 ? STATE_NONE : (uint32_t)want->peer);
		break;
	case WANT_RECEIVER:
		put_rank(b, "a receive by ", (uint32_t)want->peer);
		break;
	case WANT_MEETING:
		put_rank(b, "", by);
		op = want->op != NULL ? want->op : op;
		buf_printf(b, "'s %s", op != NULL ? op : "call");
		return;
	case WANT_RANKS:
		put_rank(b, "", by);
		buf_str(b, does[want->object]);
		return;
	}
	if (want->tag >= 0)
		buf_printf(b, " with tag %d", want->tag);
}
