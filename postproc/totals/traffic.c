/* traffic.c - rows into the sparse matrix, and the point-to-point matrix. */
#include "postproc/totals/traffic_row.h"

int row_init(struct row *r, const struct step *s, struct traffic *t)
{
	size_t n = s->nranks;
	*r = (struct row){.s = s, .t = t};
	r->count = calloc(n, sizeof(uint64_t));
	r->bytes = calloc(n, sizeof(uint64_t));
	t->out_count = calloc(n, sizeof(uint64_t));
	t->in_count = calloc(n, sizeof(uint64_t));
	t->out_bytes = calloc(n, sizeof(uint64_t));
	t->in_bytes = calloc(n, sizeof(uint64_t));
	return r->count == NULL || r->bytes == NULL || t->out_count == NULL || t->in_count == NULL ||
			       t->out_bytes == NULL || t->in_bytes == NULL
		       ? -ENOMEM
		       : 0;
}

void row_add(struct row *r, int32_t dst, uint64_t count, uint64_t bytes)
{
	if (dst < 0 || (uint32_t)dst >= r->s->nranks)
		return;
	r->count[dst] += count;
	r->bytes[dst] += bytes;
}

static int add_link(struct traffic *t, const struct link *c)
{
	t->count += c->count;
	t->bytes += c->bytes;
	t->out_count[c->src] += c->count;
	t->out_bytes[c->src] += c->bytes;
	t->in_count[c->dst] += c->count;
	t->in_bytes[c->dst] += c->bytes;
	if (t->links.n < TRAFFIC_LINKS_MAX)
		return vec_push(&t->links, *c);
	t->links_left_out++;
	t->bytes_left_out += c->bytes;
	return 0;
}

int row_flush(struct row *r)
{
	for (uint32_t dst = 0; dst < r->s->nranks; dst++) {
		struct link c = {r->src, dst, r->count[dst], r->bytes[dst]};
		if (c.count == 0)
			continue;
		r->count[dst] = r->bytes[dst] = 0;
		if (add_link(r->t, &c) < 0)
			return -ENOMEM;
	}
	return 0;
}

void row_done(struct row *r)
{
	free(r->count);
	free(r->bytes);
}

/* How many messages the calls of a signature sent: of a persistent one each start is a message. */
static uint64_t messages_of(const struct sig *sig)
{
	bool sends = sig->defined && (sig->call.flags & SIG_FAILED) == 0 && sig->comm != NONE &&
		     (sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV);
	return !sends ? 0 : (sig->call.flags & SIG_PERSISTENT) != 0 ? sig->starts : sig->calls;
}

int traffic_p2p(const struct step *s, struct traffic *ret_traffic)
{
	struct row r;
	int code = row_init(&r, s, ret_traffic);
	for (r.src = 0; r.src < s->nranks && code == 0; r.src++) {
		const struct process *p = s->ranks[r.src];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
			const struct sig *sig = &p->sigs.at[i];
			uint64_t n = messages_of(sig);
			if (n > 0)
				row_add(&r, sig->peer, n, n * sig->bytes);
		}
		code = row_flush(&r);
	}
	row_done(&r);
	return code;
}

void traffic_done(struct traffic *t)
{
	vec_done(&t->links);
	free(t->out_count);
	free(t->in_count);
	free(t->out_bytes);
	free(t->in_bytes);
	memset(t, 0, sizeof(*t));
}

bool links_have(const struct link *links, size_t n, uint32_t src, uint32_t dst)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct link *c = &links[middle];
		if (c->src == src && c->dst == dst)
			return true;
		if (c->src < src || (c->src == src && c->dst < dst))
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}
