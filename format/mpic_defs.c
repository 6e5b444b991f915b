/* mpic_defs.c - reads definition records; mpic_defs.h has their layout. */
#include "format/mpic.h"

static int read_sig(struct cursor *c, struct mpic_def *d)
{
	struct span words;
	if (rd_u32(c, &d->id) < 0 || rd_u32(c, &d->nwords) < 0 || d->nwords < 2 || d->nwords > MPIC_SIG_WORDS_MAX ||
	    d->id >= MPIC_SIGS_MAX || rd_bytes(c, (size_t)d->nwords * 8, &words) < 0 || (uintptr_t)words.data % 8 != 0)
		return -EBADMSG;
	d->words = (const uint64_t *)(const void *)words.data;
	return 0;
}

static int read_name(struct cursor *c, struct mpic_def *d)
{
	size_t len = cursor_left(c);
	return len > MPIC_NAME_MAX ? -EBADMSG : rd_bytes(c, len, &d->name);
}

static int read_datatype(struct cursor *c, struct mpic_def *d)
{
	uint32_t zero;
	if (rd_u32(c, &d->id) < 0 || rd_u32(c, &zero) < 0 || rd_u64(c, &d->size_bytes) < 0 ||
	    rd_u64(c, &d->type_hash) < 0 || rd_u64(c, &d->type_elements) < 0)
		return -EBADMSG;
	return read_name(c, d);
}

static int read_comm(struct cursor *c, struct mpic_def *d)
{
	uint32_t my_rank, inter, nruns, nremote;
	if (rd_u32(c, &d->id) < 0 || rd_u32(c, &d->parent) < 0 || rd_u64(c, &d->global_id) < 0 ||
	    rd_u32(c, &d->created_by) < 0 || rd_u32(c, &d->size) < 0 || rd_u32(c, &my_rank) < 0 ||
	    rd_u32(c, &inter) < 0 || rd_u32(c, &nruns) < 0 || rd_u32(c, &nremote) < 0)
		return -EBADMSG;
	if (d->size > MPIC_COMM_SIZE_MAX || nruns > MPIC_COMM_SIZE_MAX || nremote > MPIC_COMM_SIZE_MAX)
		return -EBADMSG;
	d->my_rank = (int32_t)my_rank;
	d->inter = inter != 0;
	if (rd_bytes(c, nruns * sizeof(struct mpic_rank_run), &d->runs) < 0 ||
	    rd_bytes(c, nremote * sizeof(struct mpic_rank_run), &d->remote_runs) < 0)
		return -EBADMSG;
	return 0;
}

static int read_object(struct cursor *c, struct mpic_def *d)
{
	if (rd_u32(c, &d->id) < 0 || rd_u32(c, &d->comm) < 0 || rd_u64(c, &d->global_id) < 0 ||
	    rd_u32(c, &d->created_by) < 0 || rd_u32(c, &d->mode) < 0)
		return -EBADMSG;
	return d->type == MPIC_DEF_WINDOW ? rd_u64(c, &d->size_bytes) : read_name(c, d);
}

static int read_topology(struct cursor *c, struct mpic_def *d)
{
	uint32_t in, out, zero;
	if (rd_u32(c, &d->id) < 0 || rd_u32(c, &in) < 0 || rd_u32(c, &out) < 0 || rd_u32(c, &zero) < 0 ||
	    in > MPIC_COMM_SIZE_MAX || out > MPIC_COMM_SIZE_MAX || rd_bytes(c, in * 4ul, &d->in_neighbors) < 0)
		return -EBADMSG;
	return rd_bytes(c, out * 4ul, &d->out_neighbors);
}

static int read_module(struct cursor *c, struct mpic_def *d)
{
	uint32_t id_len, path_len;
	if (rd_u64(c, &d->begin) < 0 || rd_u64(c, &d->end) < 0 || rd_u64(c, &d->bias) < 0 || rd_u32(c, &id_len) < 0 ||
	    rd_u32(c, &path_len) < 0 || id_len > MPIC_NAME_MAX || path_len > MPIC_NAME_MAX ||
	    rd_bytes(c, id_len, &d->build_id) < 0)
		return -EBADMSG;
	return rd_bytes(c, path_len, &d->name);
}

static int read_named(struct cursor *c, struct mpic_def *d)
{
	return rd_u32(c, &d->id) < 0 ? -EBADMSG : read_name(c, d);
}

static int read_unknown(struct cursor *c, struct mpic_def *d)
{
	(void)c, (void)d;
	return 0;
}

static int (*const read_body[MPIC_DEF_TYPES + 1])(struct cursor *c, struct mpic_def *d) = {
	[0] = read_unknown,
	[MPIC_DEF_SIG] = read_sig,
	[MPIC_DEF_OP] = read_named,
	[MPIC_DEF_COMM] = read_comm,
	[MPIC_DEF_DATATYPE] = read_datatype,
	[MPIC_DEF_MODULE] = read_module,
	[MPIC_DEF_COMM_NAME] = read_named,
	[MPIC_DEF_FILE] = read_object,
	[MPIC_DEF_WINDOW] = read_object,
	[MPIC_DEF_WINDOW_NAME] = read_named,
	[MPIC_DEF_TOPOLOGY] = read_topology,
	[MPIC_DEF_TYPES] = read_unknown,
};

int mpic_next_def(struct cursor *payload, struct mpic_def *ret_def)
{
	struct mpic_def d = {0};
	struct span body, padding;
	uint32_t type, len;
	int rc;

	if (cursor_left(payload) == 0)
		return 0;
	if (rd_u32(payload, &type) < 0 || rd_u32(payload, &len) < 0 || len > MPIC_DEF_BYTES_MAX ||
	    rd_bytes(payload, len, &body) < 0 || rd_bytes(payload, (8 - len % 8) % 8, &padding) < 0)
		return -EBADMSG;
	struct cursor c = cursor_over(body.data, body.len_bytes);
	d.type = type < MPIC_DEF_TYPES ? type : MPIC_DEF_TYPES;
	rc = read_body[d.type](&c, &d);
	if (rc < 0)
		return rc;
	*ret_def = d;
	return 1;
}

uint32_t mpic_expand_runs(struct span runs, int32_t *ret_ranks, uint32_t max)
{
	struct cursor c = cursor_over(runs.data, runs.len_bytes);
	struct mpic_rank_run run;
	uint32_t n = 0;
	while (rd_copy(&c, &run, sizeof(run)) == 0)
		for (uint32_t i = 0; i < run.count && n < max; i++)
			ret_ranks[n++] = (int32_t)((int64_t)run.first + (int64_t)run.stride * i);
	return n;
}
