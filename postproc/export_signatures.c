/* export_signatures.c - what the calls of each rank were, for the .mpix. In: struct sig.  Out: SIGNATURES, OBJECTS,
 * SYNCS and STACKS (format/SPEC.md). */
#include "postproc/export.h"

static int32_t peer_of(const struct sig *sig)
{
	int32_t peer = sig->call.shape == SIG_RECV ? sig->recv_peer : sig->peer;
	bool has_peer = sig->call.shape == SIG_SEND || sig->call.shape == SIG_RECV || sig->call.shape == SIG_SENDRECV ||
			sig->call.shape == SIG_PROBE || sig->call.shape == SIG_COLL || sig->call.shape == SIG_RMA;
	if (!has_peer)
		return -1;
	return peer >= 0 ? peer : peer == SIG_PROC_NULL ? -2 : -1;
}

static struct mpix_signature signature_of(const struct step *s, const struct sig *sig)
{
	bool persistent = (sig->call.flags & SIG_PERSISTENT) != 0;
	bool sends = sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV;
	return (struct mpix_signature){
		.bytes = persistent ? 0 : sig->call_bytes,
		.message_bytes = sends ? sig->bytes : 0,
		.peer = peer_of(sig),
		.tag = sig->call.tag,
		.op = sig->op == NONE ? (uint32_t)s->ops.n : sig->op,
		.callsite = sig->site == NONE ? MPIX_NO_CALLSITE : sig->site,
		.comm = sig->comm == NONE ? 0 : s->comms.at[sig->comm].same,
		.came_bytes = sig->call.shape == SIG_RMA ? sig->call.fetched_bytes : 0,
		.object = sig->object == NONE ? 0 : sig->object + 1,
		.stack = sig->stack == NONE ? 0 : sig->stack + 1,
		.class = sig->class,
		.flags = (uint8_t)((calls_numbered(sig) ? MPIX_COLLECTIVE : 0) |
				   ((sig->call.flags & SIG_POLLS) != 0 ? MPIX_POLLS : 0)),
	};
}

/* The group of a Post or Start, if all of it is known; one that has members of other worlds is not. */
static int group_of(const struct sig *sig, uint32_t nranks, struct mpix_sync_run *ret_runs)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < sig->call.nlist && sig->call.nlist < SIG_GROUP_WORDS_MAX; i++) {
		int64_t first = (int32_t)sig->call.list[i], stride = (int16_t)(sig->call.list[i] >> 32);
		int64_t count = (int64_t)(sig->call.list[i] >> 48), last = first + stride * (count - 1);
		if (count < 1 || first < 0 || first >= nranks || last < 0 || last >= nranks)
			return 0;
		ret_runs[n++] = (struct mpix_sync_run){(uint32_t)first, (int32_t)stride, (uint32_t)count};
	}
	return (int)n;
}

static int put_sync(const struct step *s, struct mpix_writer *w, uint32_t rank, uint32_t at, struct error *e)
{
	const struct sig *sig = &s->ranks[rank]->sigs.at[at];
	struct mpix_sync_run runs[SIG_GROUP_WORDS_MAX];
	bool locks = sig->call.rma == RMA_LOCK, groups = sig->call.rma == RMA_POST || sig->call.rma == RMA_START;
	if (sig->call.shape != SIG_RMA || (!locks && !groups))
		return 0;
	struct mpix_sync sync = {.rank = rank, .signature = at, .runs = runs};
	if (locks)
		sync.lock = sig->call.lock_type <= MPIX_LOCK_EXCLUSIVE ? sig->call.lock_type : MPIX_LOCK_NONE;
	else
		sync.nruns = (uint32_t)group_of(sig, s->nranks, runs);
	return sync.lock != MPIX_LOCK_NONE || sync.nruns > 0 ? mpix_writer_sync(w, &sync, e) : 0;
}

int export_signatures(const struct step *s, struct mpix_writer *w, struct error *e)
{
	VEC(struct mpix_signature) sigs = {0};
	int code = 0;
	for (uint32_t r = 0; r < s->nranks && code == 0; r++) {
		const struct process *p = s->ranks[r];
		sigs.n = 0;
		for (size_t i = 0; p != NULL && i < p->sigs.n && code == 0; i++)
			code = vec_push(&sigs, signature_of(s, &p->sigs.at[i]));
		if (code == 0)
			code = mpix_writer_signatures(w, r, sigs.at, (uint32_t)sigs.n, e);
		for (uint32_t i = 0; i < sigs.n && code == 0; i++)
			code = put_sync(s, w, r, i, e);
	}
	vec_done(&sigs);
	return code;
}
