/* probes.c - messages that a matched probe has found (MPI 3.1, 3.8.2). From then on no other receive can have them: the
 * probe posts the receive, and the call that is given the message (Mrecv, Imrecv) makes it.
 * Which of several messages of one envelope that is, its size tells: of equal ones the first. */
#include "postproc/stream/walk.h"

#include <string.h>

static bool is_named(const struct walk *w, const struct sig *sig, const char *a, const char *b)
{
	const char *op = sig->op == NONE ? "" : w->st->step->ops.at[sig->op];
	return strncmp(op, a, strlen(a)) == 0 || strncmp(op, b, strlen(b)) == 0;
}

int probe_posts(struct walk *w)
{
	const struct sig *sig = w->sig;
	if (!is_named(w, sig, "MPI_Mprobe", "MPI_Improbe"))
		return 0;
	struct recv *r = slab_take(&w->sh->recvs);
	if (r == NULL)
		return -ENOMEM;
	*r = (struct recv){.start = w->call,
			   .starter = NONE,
			   .done = {.at = NOWHERE},
			   .bytes = sig->call.bytes,
			   .order = w->rank->recvs++,
			   .rank = w->lane->rank,
			   .comm = same_comm(w, sig->comm),
			   .sig = w->sig_at,
			   .peer = sig->peer,
			   .tag = sig->call.tag};
	int code = match_post(w->sh, r);
	return code == 0 ? vec_push(&w->rank->probed, r) : code;
}

/* Of the same size, else the first that fits, else the first. */
static size_t find(const struct walk *w, const struct sig *sig)
{
	size_t found = SIZE_MAX;
	bool fits = false;
	for (size_t i = 0; i < w->rank->probed.n; i++) {
		const struct recv *r = w->rank->probed.at[i];
		if (r->comm != same_comm(w, sig->comm) || r->peer != sig->recv_peer || r->tag != sig->call.tag)
			continue;
		if (r->bytes == sig->recv_bytes)
			return i;
		if (found == SIZE_MAX || (!fits && r->bytes < sig->recv_bytes)) {
			found = i;
			fits = r->bytes < sig->recv_bytes;
		}
	}
	return found;
}

struct recv *probe_taken(struct walk *w, const struct sig *sig)
{
	if (w->rank->probed.n == 0 || !is_named(w, sig, "MPI_Mrecv", "MPI_Imrecv"))
		return NULL;
	size_t i = find(w, sig);
	if (i == SIZE_MAX)
		return NULL;
	struct recv **at = w->rank->probed.at;
	struct recv *r = at[i];
	memmove(at + i, at + i + 1, (--w->rank->probed.n - i) * sizeof(*at));
	return r;
}
