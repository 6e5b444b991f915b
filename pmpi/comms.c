/* comms.c - communicators: which numbers stand for which handles, and who is in them.
 *
 * All members give a new communicator the same global id without talking to each other: creation is collective over the
 * parent, so (parent's id, how many were created from it before, world rank of the new one's first member) is known
 * to all and unique (MPI 4.0, 7.4). Where only the members take part (create_group, intercomm_create) the ordered
 * members, the tag and a count of equal cases take the place of the parent's count. */
#include "format/mpic.h"
#include "pmpi/segfile.h"
#include "pmpi/tables.h"

#include <string.h>
#include <sys/mman.h>

#define COMMS_MAX 16384u /* alive at once; later ones are told as unknown */
#define SALTED_MAX 256u
#define PROMISES_MAX 256u

static struct comm_entry none = {.id = MPIC_NO_COMM, .rank = -1};
static struct comm_entry *entries; /* by scan from a hash of the handle */
static uint32_t next_id;
static MPI_Group world_group;
struct comm_entry *comm_last = &none;

static struct {
	uint64_t key;
	uint32_t count;
} salted[SALTED_MAX];

/* Communicators of MPI_Comm_idup that nobody used yet. */
static struct promise {
	MPI_Comm handle;
	struct comm_entry parent; /* as it was */
	uint32_t op, child;
	bool busy;
} promises[PROMISES_MAX];

static uint64_t mix(uint64_t h, uint64_t v)
{
	/* h is spread before v meets it: small numbers on both sides must not cancel. */
	h = (h ^ h >> 31) * 0xbf58476d1ce4e5b9ull + v;
	h = (h ^ h >> 29) * 0x94d049bb133111ebull;
	return h ^ h >> 32;
}

static uint32_t slot_of(MPI_Comm comm)
{
	uint64_t bits = (uint64_t)(uintptr_t)comm * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(bits >> 32) & (COMMS_MAX - 1);
}

/* ---- members ---- */

struct members {
	int *ranks; /* world ranks */
	int n;
	size_t map_bytes;
	struct mpic_rank_run *runs;
	uint32_t nruns;
};

static void members_done(struct members *m)
{
	if (m->ranks != NULL)
		munmap(m->ranks, m->map_bytes);
}

static void find_runs(struct members *m)
{
	for (int i = 0; i < m->n;) {
		struct mpic_rank_run run = {m->ranks[i], 1, 1};
		if (i + 1 < m->n)
			run.stride = m->ranks[i + 1] - m->ranks[i];
		while (i + (int)run.count < m->n &&
		       m->ranks[i + (int)run.count] == run.first + run.stride * (int)run.count)
			run.count++;
		m->runs[m->nruns++] = run;
		i += (int)run.count;
	}
}

static bool members_of(MPI_Group group, struct members *ret_members)
{
	struct members m = {0};
	if (next.MPI_Group_size(group, &m.n) != MPI_SUCCESS || m.n <= 0)
		return false;
	m.map_bytes = (size_t)m.n * (2 * sizeof(int) + sizeof(struct mpic_rank_run));
	m.ranks = memory_reserve(m.map_bytes);
	if (m.ranks == NULL)
		return false;
	int *own = m.ranks + m.n;
	m.runs = (struct mpic_rank_run *)(void *)(m.ranks + 2 * m.n);
	for (int i = 0; i < m.n; i++)
		own[i] = i;
	next.MPI_Group_translate_ranks(group, m.n, own, world_group, m.ranks);
	for (int i = 0; i < m.n; i++)
		if (m.ranks[i] == MPI_UNDEFINED)
			m.ranks[i] = -1;
	find_runs(&m);
	*ret_members = m;
	return true;
}

static uint64_t members_hash(const struct members *m, uint64_t h)
{
	for (int i = 0; i < m->n; i++)
		h = mix(h, (uint64_t)(int64_t)m->ranks[i] + 2);
	return h;
}

/* ---- entering ---- */

static uint32_t salted_count(uint64_t key)
{
	uint32_t i;
	for (i = 0; i < SALTED_MAX - 1 && salted[i].key != 0 && salted[i].key != key; i++)
		;
	salted[i].key = key;
	return salted[i].count++;
}

static uint64_t identity(const struct comm_entry *parent, uint32_t child, int64_t salt, const struct members *local,
			 const struct members *remote)
{
	if (salt < 0)
		return mix(mix(parent->global_id, child),
			   (uint64_t)(int64_t)local->ranks[0] + 2 +
				   (remote->n > 0 && remote->ranks[0] > local->ranks[0]
					    ? (uint64_t)(remote->ranks[0] - local->ranks[0])
					    : 0));
	/* Both sides of an inter-communicator must agree: the side of the lower first member comes first. */
	bool swap = remote->n > 0 && remote->ranks[0] < local->ranks[0];
	uint64_t h = mix(0x677270, (uint64_t)salt);
	h = members_hash(swap ? remote : local, h);
	h = members_hash(swap ? local : remote, h);
	return mix(h, salted_count(h));
}

static void put_def(const struct comm_entry *c, uint32_t op, uint32_t parent, bool inter, const struct members *local,
		    const struct members *remote)
{
	struct stream *s = stream_mine != NULL ? stream_mine : stream_attach();
	uint32_t head[10] = {c->id,	   parent,	 (uint32_t)c->global_id, (uint32_t)(c->global_id >> 32),
			     op,	   c->size,	 (uint32_t)c->rank,	 inter,
			     local->nruns, remote->nruns};
	size_t local_bytes = local->nruns * sizeof(*local->runs), remote_bytes = remote->nruns * sizeof(*remote->runs);
	if (s == NULL)
		return;
	uint8_t *both = (uint8_t *)stream_scratch(s, SCRATCH_DEFINITION, (local_bytes + remote_bytes) / 8 + 2);
	if (both == NULL)
		return;
	memcpy(both, local->runs, local_bytes);
	if (remote_bytes > 0)
		memcpy(both + local_bytes, remote->runs, remote_bytes);
	stream_put_def(s, MPIC_DEF_COMM, head, sizeof(head), both, (uint32_t)(local_bytes + remote_bytes));
}

static struct comm_entry *free_entry(MPI_Comm comm)
{
	uint32_t at = slot_of(comm);
	for (uint32_t i = 0; i < COMMS_MAX; i++, at = (at + 1) & (COMMS_MAX - 1))
		if (!entries[at].used)
			return &entries[at];
	return NULL;
}

static struct comm_entry *enter(MPI_Comm comm, uint32_t op, const struct comm_entry *parent, uint32_t child,
				int64_t salt, uint64_t fixed_id)
{
	struct members local = {0}, remote = {0};
	MPI_Group group, remote_group;
	struct comm_entry *c = entries != NULL ? free_entry(comm) : NULL;
	int inter = 0, rank = -1;

	if (c == NULL || next.MPI_Comm_group(comm, &group) != MPI_SUCCESS)
		return &none;
	next.MPI_Comm_test_inter(comm, &inter);
	next.MPI_Comm_rank(comm, &rank);
	if (inter && next.MPI_Comm_remote_group(comm, &remote_group) == MPI_SUCCESS) {
		members_of(remote_group, &remote);
		next.MPI_Group_free(&remote_group);
	}
	if (members_of(group, &local)) {
		memset((uint8_t *)c + offsetof(struct comm_entry, id), 0, sizeof(*c) - offsetof(struct comm_entry, id));
		c->id = next_id++;
		c->rank = rank;
		c->size = (uint32_t)local.n;
		c->remote_size = (uint32_t)remote.n;
		c->global_id = fixed_id != 0 ? fixed_id : identity(parent, child, salt, &local, &remote);
		put_def(c, op, parent->id, inter != 0, &local, &remote);
		/* Last, for those who look without the lock. Partner: the acquire load in comm_find(). */
		__atomic_store_n(&c->handle, comm, __ATOMIC_RELAXED);
		__atomic_store_n(&c->used, true, __ATOMIC_RELEASE);
	} else {
		c = &none;
	}
	next.MPI_Group_free(&group);
	members_done(&local);
	members_done(&remote);
	return c;
}

void comms_begin_without_world(MPI_Group group)
{
	entries = memory_reserve(COMMS_MAX * sizeof(*entries));
	world_group = group;
}

void comms_begin(void)
{
	MPI_Comm parent = MPI_COMM_NULL;
	int rank = 0;
	if (entries == NULL)
		entries = memory_reserve(COMMS_MAX * sizeof(*entries));
	next.MPI_Comm_group(MPI_COMM_WORLD, &world_group);
	next.MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	comm_last = enter(MPI_COMM_WORLD, OP_MPI_Init, &none, 0, -1, 1);
	enter(MPI_COMM_SELF, OP_MPI_Init, &none, 0, -1, mix(2, (uint64_t)rank));
	if (next.MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL)
		enter(parent, OP_MPI_Comm_get_parent, &none, 0, -1, 3);
}

static struct comm_entry *enter_promised(MPI_Comm comm)
{
	for (uint32_t i = 0; i < PROMISES_MAX; i++) {
		struct promise *p = &promises[i];
		if (p->busy && p->handle == comm) {
			p->busy = false;
			return enter(comm, p->op, &p->parent, p->child, -1, 0);
		}
	}
	return &none;
}

struct comm_entry *comm_find_slow(MPI_Comm comm)
{
	struct comm_entry *c = &none;
	if (entries == NULL || comm == MPI_COMM_NULL)
		return c;
	tables_lock();
	uint32_t at = slot_of(comm);
	/* Freed entries leave holes, so the search goes on over them; it ends at one that never was used. */
	for (uint32_t i = 0; i < COMMS_MAX; i++, at = (at + 1) & (COMMS_MAX - 1)) {
		if (entries[at].used && entries[at].handle == comm) {
			c = &entries[at];
			break;
		}
		if (!entries[at].used && entries[at].global_id == 0)
			break;
	}
	if (c == &none)
		c = enter_promised(comm);
	if (c == &none) /* nobody saw it being made: members are all that is known of it */
		c = enter(comm, OP_MPI_Init, &none, 0, 0, 0);
	tables_unlock();
	if (c != &none)
		__atomic_store_n(&comm_last, c, __ATOMIC_RELAXED);
	return c;
}

uint32_t comm_created(uint32_t op, MPI_Comm parent, MPI_Comm newcomm, int64_t salt)
{
	struct comm_entry *p = comm_find_slow(parent);
	uint32_t id = MPIC_NO_COMM;
	tables_lock();
	uint32_t child = salt < 0 && p != &none ? p->created++ : 0;
	if (newcomm != MPI_COMM_NULL && entries != NULL)
		id = enter(newcomm, op, p, child, salt, 0)->id;
	tables_unlock();
	return id;
}

void comm_promised(uint32_t op, MPI_Comm parent, MPI_Comm newcomm)
{
	struct comm_entry *p = comm_find_slow(parent);
	tables_lock();
	uint32_t child = p != &none ? p->created++ : 0;
	for (uint32_t i = 0; i < PROMISES_MAX; i++)
		if (!promises[i].busy) {
			promises[i] = (struct promise){newcomm, *p, op, child, true};
			break;
		}
	tables_unlock();
}

void comm_freed(MPI_Comm comm)
{
	struct comm_entry *c = comm_find_slow(comm);
	if (c == &none)
		return;
	handles_changed();
	tables_lock();
	__atomic_store_n(&c->used, false, __ATOMIC_RELAXED); /* global_id stays: the place counts as once used */
	__atomic_store_n(&comm_last, &entries[slot_of(MPI_COMM_WORLD)], __ATOMIC_RELAXED);
	tables_unlock();
}

void comm_named(MPI_Comm comm, const char *name)
{
	uint32_t id = comm_find(comm)->id;
	struct stream *s = stream_mine;
	if (s != NULL && id != MPIC_NO_COMM && name != NULL)
		stream_put_def(s, MPIC_DEF_COMM_NAME, &id, 4, name, (uint32_t)strnlen(name, MPI_MAX_OBJECT_NAME));
}

uint64_t comm_next_object(MPI_Comm comm, uint32_t *ret_comm_id)
{
	struct comm_entry *c = comm_find_slow(comm);
	tables_lock();
	uint64_t id = mix(mix(0x6f626a, c->global_id), c->objects);
	if (c != &none)
		c->objects++;
	tables_unlock();
	*ret_comm_id = c->id;
	return id;
}

#define GROUP_RUN_MAX 0xffffu

uint32_t group_words(MPI_Group group, uint64_t *ret_words, uint32_t max)
{
	struct members m = {0};
	uint32_t n = 0;
	if (!members_of(group, &m))
		return 0;
	for (uint32_t i = 0; i < m.nruns; i++) {
		struct mpic_rank_run run = m.runs[i];
		bool far = run.stride > INT16_MAX || run.stride < INT16_MIN;
		while (run.count > 0 && n < max) {
			uint32_t count = far ? 1 : run.count < GROUP_RUN_MAX ? run.count : GROUP_RUN_MAX;
			ret_words[n++] =
				(uint32_t)run.first | (uint64_t)(uint16_t)run.stride << 32 | (uint64_t)count << 48;
			run.first += run.stride * (int32_t)count;
			run.count -= count;
		}
	}
	members_done(&m);
	return n;
}

/* ---- neighbours ---- */

struct neighbors {
	int *in, *out; /* ranks of the communicator; one mapping */
	int nin, nout;
	size_t map_bytes;
};

static bool neighbors_room(struct neighbors *n)
{
	n->map_bytes = ((size_t)n->nin + (size_t)n->nout) * 2 * sizeof(int) + 1; /* and as many weights */
	n->in = memory_reserve(n->map_bytes);
	n->out = n->in + n->nin;
	return n->in != NULL;
}

/* In each dimension first the negative, then the positive direction (MPI 4.0, 8.6). */
static bool cart_neighbors(MPI_Comm comm, struct neighbors *n)
{
	int dims = 0;
	next.MPI_Cartdim_get(comm, &dims);
	n->nin = n->nout = 2 * dims;
	if (!neighbors_room(n))
		return false;
	for (int i = 0; i < dims; i++)
		next.MPI_Cart_shift(comm, i, 1, &n->in[2 * i], &n->in[2 * i + 1]);
	memcpy(n->out, n->in, (size_t)n->nout * sizeof(int));
	return true;
}

static bool graph_neighbors(MPI_Comm comm, int rank, struct neighbors *n)
{
	next.MPI_Graph_neighbors_count(comm, rank, &n->nin);
	n->nout = n->nin;
	if (!neighbors_room(n))
		return false;
	next.MPI_Graph_neighbors(comm, rank, n->nin, n->in);
	memcpy(n->out, n->in, (size_t)n->nout * sizeof(int));
	return true;
}

static bool dist_graph_neighbors(MPI_Comm comm, struct neighbors *n)
{
	int weighted = 0;
	next.MPI_Dist_graph_neighbors_count(comm, &n->nin, &n->nout, &weighted);
	if (!neighbors_room(n))
		return false;
	int *weights = n->out + n->nout;
	next.MPI_Dist_graph_neighbors(comm, n->nin, n->in, weights, n->nout, n->out, weights + n->nin);
	return true;
}

static bool find_neighbors(MPI_Comm comm, int rank, struct neighbors *n)
{
	int kind = MPI_UNDEFINED;
	next.MPI_Topo_test(comm, &kind);
	return kind == MPI_CART		? cart_neighbors(comm, n)
	       : kind == MPI_GRAPH	? graph_neighbors(comm, rank, n)
	       : kind == MPI_DIST_GRAPH ? dist_graph_neighbors(comm, n)
					: false;
}

static void put_neighbors(uint32_t comm, struct neighbors *n)
{
	struct stream *s = stream_mine;
	uint32_t head[4] = {comm, (uint32_t)n->nin, (uint32_t)n->nout, 0};
	for (int i = 0; i < n->nin + n->nout; i++)
		if (n->in[i] < 0)
			n->in[i] = SIG_PROC_NULL;
	if (s != NULL)
		stream_put_def(s, MPIC_DEF_TOPOLOGY, head, sizeof(head), n->in, (uint32_t)(n->nin + n->nout) * 4);
}

const struct comm_entry *comm_neighbors_slow(MPI_Comm comm)
{
	struct comm_entry *c = comm_find_slow(comm);
	struct neighbors n = {0};
	if (c == &none)
		return c;
	tables_lock();
	if (!c->has_neighbors) {
		if (find_neighbors(comm, c->rank, &n))
			put_neighbors(c->id, &n);
		c->in = (uint32_t)n.nin;
		c->out = (uint32_t)n.nout;
		__atomic_store_n(&c->has_neighbors, true, __ATOMIC_RELEASE);
	}
	tables_unlock();
	if (n.in != NULL)
		munmap(n.in, n.map_bytes);
	return c;
}
