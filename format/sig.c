/* sig.c - decode signatures; sig.h draws the words. */
#include "format/sig.h"

#include "format/limits.h"

#define LOW(word) ((uint32_t)(word))
#define HIGH(word) ((uint32_t)((word) >> 32))
#define STATUS_WORDS 3

/* Each takes the words behind the address, and returns how many are its own, or -EBADMSG. */
static int decode_time(const uint64_t *w, uint32_t n, struct sig_call *c, unsigned kind)
{
	(void)w, (void)n, (void)kind;
	c->literal_follows = c->nlist == 1;
	return 0;
}

static int decode_p2p(const uint64_t *w, uint32_t n, struct sig_call *c, unsigned kind)
{
	uint32_t need = 3 + ((c->flags & SIG_SIZED) != 0);
	if (n < need)
		return -EBADMSG;
	c->partitioned = kind == 1;
	c->comm = LOW(w[0]);
	c->peer = (int32_t)HIGH(w[0]);
	c->tag = (int32_t)LOW(w[1]);
	c->datatype = HIGH(w[1]);
	c->count = w[2];
	if (need > 3)
		c->received_bytes = w[3];
	return (int)need;
}

static int decode_sendrecv(const uint64_t *w, uint32_t n, struct sig_call *c, unsigned kind)
{
	uint32_t need = 6 + ((c->flags & SIG_SIZED) != 0);
	(void)kind;
	if (n < need)
		return -EBADMSG;
	c->comm = LOW(w[0]);
	c->peer = (int32_t)HIGH(w[0]);
	c->tag = (int32_t)LOW(w[1]);
	c->datatype = HIGH(w[1]);
	c->count = w[2];
	c->recv_peer = (int32_t)HIGH(w[3]);
	c->recv_tag = (int32_t)LOW(w[4]);
	c->recv_datatype = HIGH(w[4]);
	c->recv_count = w[5];
	if (need > 6)
		c->received_bytes = w[6];
	return (int)need;
}

static int decode_probe(const uint64_t *w, uint32_t n, struct sig_call *c, unsigned kind)
{
	(void)kind;
	if (n < 3)
		return -EBADMSG;
	c->comm = LOW(w[0]);
	c->peer = (int32_t)HIGH(w[0]);
	c->tag = (int32_t)LOW(w[1]);
	c->bytes = w[2];
	return 3;
}

static int decode_requests(const uint64_t *w, uint32_t n, struct sig_call *c, unsigned kind)
{
	uint32_t at = 1, statuses = c->nlist;
	if (n < 1)
		return -EBADMSG;
	c->nruns = LOW(w[0]);
	c->requests = HIGH(w[0]);
	c->runs = w + 1;
	for (uint32_t i = 0; i < c->nruns; i++) {
		if (at >= n)
			return -EBADMSG;
		at += (w[at] & SIG_RUN_OTHER_THREAD) != 0 ? 2 : 1;
	}
	if (at > n || statuses > (n - at) / STATUS_WORDS)
		return -EBADMSG;
	c->continues = c->shape != SIG_REQUEST && kind == 1;
	c->nrun_words = at - 1;
	c->list = w + at;
	return (int)(at + statuses * STATUS_WORDS);
}

static int decode_coll(const uint64_t *w, uint32_t n, struct sig_call *c, unsigned kind)
{
	if (n < 3 || c->nlist > n - 3 || kind >= COLL_KINDS)
		return -EBADMSG;
	c->coll = kind;
	c->comm = LOW(w[0]);
	c->peer = (int32_t)HIGH(w[0]);
	c->send_unit_bytes = w[1];
	c->recv_unit_bytes = w[2];
	c->list = w + 3;
	return (int)(3 + c->nlist);
}

static int decode_comm(const uint64_t *w, uint32_t n, struct sig_call *c, unsigned kind)
{
	(void)kind;
	if (n < 1)
		return -EBADMSG;
	c->comm = LOW(w[0]);
	c->new_comm = HIGH(w[0]);
	return 1;
}

static int decode_io(const uint64_t *w, uint32_t n, struct sig_call *c, unsigned kind)
{
	if (n < 2 || kind >= IO_KINDS)
		return -EBADMSG;
	c->io = kind;
	c->object = LOW(w[0]);
	c->io_how = HIGH(w[0]);
	c->bytes = w[1];
	if ((c->io_how & IO_BEGIN) == 0) /* a split call is counted where it ends: what it moved is known only then */
		c->moved_bytes = c->bytes;
	return 2;
}

static int decode_rma(const uint64_t *w, uint32_t n, struct sig_call *c, unsigned kind)
{
	if (n < 3 || c->nlist > n - 3 || kind >= RMA_KINDS)
		return -EBADMSG;
	c->rma = kind;
	c->object = LOW(w[0]);
	c->peer = (int32_t)HIGH(w[0]);
	if (rma_moves_data(c->rma)) {
		c->bytes = w[1];
		c->fetched_bytes = w[2];
		c->moved_bytes = c->peer == SIG_PROC_NULL ? 0 : c->bytes + c->fetched_bytes;
	} else {
		c->assertion = LOW(w[1]);
		c->lock_type = HIGH(w[1]);
	}
	c->list = w + 3;
	return (int)(3 + c->nlist);
}

static int (*const decoders[SIG_SHAPES])(const uint64_t *w, uint32_t n, struct sig_call *c, unsigned kind) = {
#define ROW(shape, decoder) decode_##decoder,
	SIG_SHAPE_TABLE(ROW)
#undef ROW
};

static int decode_body(const uint64_t *words, uint32_t nwords, struct sig_call *c)
{
	c->nlist = (uint32_t)(words[0] >> 32 & 0xffff);
	c->nframes = (uint32_t)(words[0] >> 48 & 0xff);
	if (c->shape >= SIG_SHAPES)
		return -EBADMSG;
	int used = decoders[c->shape](words + 2, nwords - 2, c, (unsigned)(words[0] >> 56));
	if (used < 0 || c->nframes > nwords - 2 - (uint32_t)used)
		return -EBADMSG;
	c->frames = words + 2 + used;
	c->nwords = 2 + (uint32_t)used + c->nframes;
	return 0;
}

int sig_decode(const uint64_t *words, uint32_t nwords, struct sig_call *ret_call)
{
	if (nwords < SIG_WORDS_MIN)
		return -EBADMSG;
	const struct sig_call head = {.op = (uint16_t)words[0],
				      .shape = (enum sig_shape)(words[0] >> 16 & 0xff),
				      .flags = (uint8_t)(words[0] >> 24),
				      .address = words[1],
				      .comm = SIG_NO_COMM,
				      .peer = SIG_ANY,
				      .recv_peer = SIG_ANY};
	*ret_call = head;
	if (decode_body(words, nwords, ret_call) == 0)
		return 0;
	*ret_call = head;
	ret_call->shape = SIG_TIME;
	ret_call->unknown = true;
	ret_call->nwords = nwords;
	return 0;
}

int sig_next_run(const struct sig_call *call, uint32_t *index, struct sig_run *ret_run)
{
	if (*index >= call->nrun_words)
		return 0;
	uint64_t w = call->runs[(*index)++];
	*ret_run = (struct sig_run){
		.value = w & ((1ull << 40) - 1),
		.count = (uint32_t)(w >> 40) & SIG_RUN_COUNT_MAX,
		.descending = (w & SIG_RUN_DESCENDING) != 0,
		.absolute = (w & SIG_RUN_ABSOLUTE) != 0,
		.other_thread = (w & SIG_RUN_OTHER_THREAD) != 0,
	};
	if (ret_run->other_thread)
		ret_run->thread = (uint32_t)call->runs[(*index)++];
	return 1;
}

void sig_status_at(const struct sig_call *call, uint32_t i, struct sig_status *ret_status)
{
	const uint64_t *w = call->list + (size_t)i * STATUS_WORDS;
	*ret_status = (struct sig_status){
		.index = LOW(w[0]),
		.source = (int32_t)HIGH(w[0]),
		.tag = (int32_t)LOW(w[1]),
		.cancelled = (w[1] >> 32 & 1) != 0,
		.bytes = w[2],
	};
}
