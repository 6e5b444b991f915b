/* agreed.c - see agreed.h. Types and reduction operations of collectives are not recorded, their bytes are. */
#include "postproc/read/agreed.h"

/* At a root what goes to or comes from each, elsewhere the part of one's own. */
uint64_t agreed_bytes(const struct process *p, const struct sig *sig)
{
	const struct sig_call *c = &sig->call;
	bool root = sig->peer == (int32_t)p->rank;
	switch (c->coll) {
	case COLL_BCAST:
	case COLL_REDUCE:
	case COLL_ALLREDUCE:
	case COLL_SCAN:
	case COLL_EXSCAN:
	case COLL_REDUCE_SCATTER_BLOCK:
		return c->send_unit_bytes;
	case COLL_ALLGATHER:
	case COLL_ALLTOALL:
		return c->recv_unit_bytes;
	case COLL_GATHER:
		return root ? c->recv_unit_bytes : c->send_unit_bytes;
	case COLL_SCATTER:
		return root ? c->send_unit_bytes : c->recv_unit_bytes;
	default:
		return 0;
	}
}

/* Both sides of an inter-communicator mean different things; of lists that differ by peer no two calls say the same,
 * but for these. */
uint64_t agreed_of(const struct step *s, const struct process *p, const struct sig *sig)
{
	const struct sig_call *c = &sig->call;
	if (c->shape != SIG_COLL || sig->comm == NONE || s->comms.at[sig->comm].inter)
		return 0;
	if (c->coll == COLL_REDUCE_SCATTER || c->coll == COLL_ALLGATHERV)
		return index_hash(INDEX_SEED, c->list, c->nlist * sizeof(*c->list)) | 1;
	return agreed_bytes(p, sig);
}
