/* comms.c - see comms.h. Identity is the id its members agreed on, never a handle; groups tell the
 * two sides of an inter-communicator, and the many MPI_COMM_SELFs, apart. */
#include "postproc/read/comms.h"
#include "base/json.h"
#include "base/utf8.h"

struct wanted {
	const struct step *step;
	uint64_t global_id, group_hash, remote_hash;
};

static bool same_view(const void *context, uint32_t at)
{
	const struct wanted *w = context;
	const struct comm *c = &w->step->comms.at[at];
	return c->global_id == w->global_id && c->group_hash == w->group_hash && c->remote_hash == w->remote_hash;
}

static uint64_t view_hash(uint64_t id, uint64_t group, uint64_t remote)
{
	return index_mix(index_mix(id, group), remote);
}

static uint32_t find_view(const struct step *s, uint64_t id, uint64_t group, uint64_t remote)
{
	struct wanted w = {s, id, group, remote};
	return index_find(&s->comm_index, view_hash(id, group, remote), same_view, &w);
}

/* World ranks of runs; *ret_ranks is owned by the caller. */
static int expand(struct span runs, uint32_t max, int32_t **ret_ranks, uint32_t *ret_n)
{
	int32_t *ranks = malloc((size_t)(max > 0 ? max : 1) * sizeof(*ranks));
	if (ranks == NULL)
		return -ENOMEM;
	*ret_n = mpic_expand_runs(runs, ranks, max);
	*ret_ranks = ranks;
	return 0;
}

/* How many ranks the runs hold, at most MPIC_COMM_SIZE_MAX. */
static uint32_t count_ranks(struct span runs)
{
	struct cursor c = cursor_over(runs.data, runs.len_bytes);
	struct mpic_rank_run run;
	uint64_t n = 0;
	while (rd_copy(&c, &run, sizeof(run)) == 0 && n < MPIC_COMM_SIZE_MAX)
		n += run.count;
	return n > MPIC_COMM_SIZE_MAX ? MPIC_COMM_SIZE_MAX : (uint32_t)n;
}

/* Members are ranks of the step, or -1 for processes of another world. */
static int check_ranks(const int32_t *ranks, uint32_t n, uint32_t nranks)
{
	for (uint32_t i = 0; i < n; i++)
		if (ranks[i] >= (int32_t)nranks)
			return -EBADMSG;
	return 0;
}

static uint32_t count_here(const int32_t *ranks, uint32_t n)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < n; i++)
		count += ranks[i] >= 0;
	return count;
}

static int fill_groups(struct comm *c, const struct mpic_def *d, uint32_t nranks, struct budget *kept)
{
	uint32_t size = count_ranks(d->runs), remote = d->inter ? count_ranks(d->remote_runs) : 0;
	if (size == 0 || size != d->size)
		return -EBADMSG;
	int code = budget_take(kept, ((uint64_t)size + remote) * sizeof(*c->group));
	if (code == 0)
		code = expand(d->runs, size, &c->group, &c->size);
	if (code == 0 && d->inter)
		code = expand(d->remote_runs, remote, &c->remote, &c->remote_size);
	if (code == 0)
		code = check_ranks(c->group, c->size, nranks);
	if (code == 0)
		code = check_ranks(c->remote, c->remote_size, nranks);
	if (code < 0) {
		free(c->group);
		free(c->remote);
		return code;
	}
	c->here = count_here(c->group, c->size) + count_here(c->remote, c->remote_size);
	return 0;
}

int comms_add(struct step *s, const struct mpic_def *d, uint32_t *ret_comm)
{
	struct comm c = {.global_id = d->global_id, .inter = d->inter, .parent = NONE, .created_by = NONE};
	c.group_hash = index_hash(INDEX_SEED, d->runs.data, d->runs.len_bytes);
	if (d->inter)
		c.remote_hash = index_hash(INDEX_SEED, d->remote_runs.data, d->remote_runs.len_bytes);
	uint32_t at = find_view(s, c.global_id, c.group_hash, c.remote_hash);
	if (at != NONE) {
		*ret_comm = at;
		return 0;
	}
	int code = fill_groups(&c, d, s->nranks, &s->kept);
	if (code < 0)
		return code;
	at = (uint32_t)s->comms.n;
	uint32_t other = d->inter ? find_view(s, c.global_id, c.remote_hash, c.group_hash) : NONE;
	c.same = other != NONE ? other : at;
	if (vec_push(&s->comms, c) < 0) {
		free(c.group);
		free(c.remote);
		return -ENOMEM;
	}
	*ret_comm = at;
	return index_add(&s->comm_index, view_hash(c.global_id, c.group_hash, c.remote_hash), at);
}

void comms_name(struct step *s, uint32_t comm, struct span name)
{
	free(s->comms.at[comm].name);
	s->comms.at[comm].name = utf8_clean(name.data, name.len_bytes);
}

const char *comms_shown_name(const struct step *s, const struct comm *c)
{
	const char *by = c->created_by == NONE ? "" : s->ops.at[c->created_by];
	if (c->name != NULL && c->name[0] != '\0')
		return c->name;
	if (strncmp(by, "MPI_Init", 8) != 0)
		return NULL;
	return c->size == s->nranks ? "MPI_COMM_WORLD" : c->size == 1 ? "MPI_COMM_SELF" : NULL;
}

void comms_done(struct step *s)
{
	for (size_t i = 0; i < s->comms.n; i++) {
		free(s->comms.at[i].group);
		free(s->comms.at[i].remote);
		free(s->comms.at[i].name);
	}
	vec_done(&s->comms);
	index_done(&s->comm_index);
}

int32_t comms_peer(const struct comm *comm, int32_t peer)
{
	if (peer < 0)
		return peer >= SIG_ROOT ? peer : COMM_OUTSIDE;
	if (comm == NULL)
		return COMM_OUTSIDE;
	const int32_t *group = comm->inter ? comm->remote : comm->group;
	uint32_t size = comm->inter ? comm->remote_size : comm->size;
	return (uint32_t)peer < size && group[peer] >= 0 ? group[peer] : COMM_OUTSIDE;
}

int32_t comms_rank_of(const struct comm *comm, uint32_t world_rank)
{
	if (world_rank < comm->size && comm->group[world_rank] == (int32_t)world_rank)
		return (int32_t)world_rank; /* MPI_COMM_WORLD and its copies */
	for (uint32_t i = 0; i < comm->size; i++)
		if (comm->group[i] == (int32_t)world_rank)
			return (int32_t)i;
	return -1;
}
