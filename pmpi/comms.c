/* comms.c - communicators: which numbers stand for which handles, and who is in them.
 *
 * All members give a new communicator the same global id without talking to each other: creation is collective over the
 * parent, so (parent's id, how many were created from it before, world rank of the new one's first member) is known
 * to all and unique (MPI 4.0, 7.4). Where only the members take part (create_group, intercomm_create) the ordered
 * members, the tag and a count of equal cases take the place of the parent's count. */
#include "pmpi/comms.h"

#include "format/mpic.h"
#include "format/mpic_defs.h"
#include "pmpi/segfile.h"

#include <string.h>
#include <sys/mman.h>

#define COMMS_MAX 16384u /* alive at once; later ones are recorded as unknown */
#define SALTED_MAX 16384u
#define PROMISES_MAX 256u

static struct entry {
	uint64_t global_id;
	uint32_t id;
	int32_t rank;	      /* mine in it */
	uint32_t size;	      /* of the local group */
	uint32_t remote_size; /* 0 unless inter */
	uint32_t created;     /* communicators derived from it so far: the same count on all members */
	uint32_t objects;     /* the same of windows and files made on it */
	/* World ranks of its members where they are one run, else count = 0. */
	struct mpic_rank_run run;
	bool has_neighbors; /* they are known and defined */
	struct comm_degree degree;
} * entries, none = {.id = MPIC_NO_COMM, .rank = -1};
static struct index_pool indices = {.max = COMMS_MAX};
static uint32_t next_id;
static struct handle_map by_handle = {.places = 2 * COMMS_MAX};
static MPI_Group world_group;
struct handle_cache comm_cache;

static struct handle_map salted = {.places = 2 * SALTED_MAX}; /* from a key to how often it came */

/* Communicators of MPI_Comm_idup that nobody used yet. */
static struct promise {
	MPI_Comm handle;
	struct entry parent; /* as it was */
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

/* ---- members ---- */

struct members {
	int *ranks; /* world ranks */
	int n;
	struct mpic_rank_run *runs;
	uint32_t nruns;
};

/* Memory for the members of one group, kept for the next: one for a local, one for a remote group. */
static struct room {
	int *at;
	size_t len_bytes;
} rooms[2];

static int *room_for(struct room *r, size_t len_bytes)
{
	if (len_bytes > r->len_bytes) {
		int *more = memory_reserve(len_bytes * 2);
		if (more == NULL)
			return NULL;
		if (r->at != NULL)
			munmap(r->at, r->len_bytes);
		*r = (struct room){more, len_bytes * 2};
	}
	return r->at;
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

static bool members_of(MPI_Group group, struct room *room, struct members *ret_members)
{
	struct members m = {0};
	if (pmpi.MPI_Group_size(group, &m.n) != MPI_SUCCESS || m.n <= 0)
		return false;
	m.ranks = room_for(room, (size_t)m.n * (2 * sizeof(int) + sizeof(struct mpic_rank_run)));
	if (m.ranks == NULL)
		return false;
	int *own = m.ranks + m.n;
	m.runs = (struct mpic_rank_run *)(void *)(m.ranks + 2 * m.n);
	for (int i = 0; i < m.n; i++)
		own[i] = i;
	pmpi.MPI_Group_translate_ranks(group, m.n, own, world_group, m.ranks);
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
	uint32_t count = 0;
	key = key != 0 ? key : 1;
	handle_map_find(&salted, key, &count);
	if (!handle_map_put(&salted, key, count + 1))
		stream_no_room(); /* the next of its kind will have the same number */
	return count;
}

/* Of siblings that their parent's collectives order: members of one all have the same first member. */
static uint64_t child_identity(const struct entry *parent, uint32_t child, int32_t first, int32_t remote_first)
{
	return mix(mix(parent->global_id, child),
		   (uint64_t)(int64_t)first + 2 + (remote_first > first ? (uint64_t)(remote_first - first) : 0));
}

/* Both sides of an inter-communicator must agree: the side of the lower first member comes first. */
static uint64_t salted_identity(int64_t salt, const struct members *local, const struct members *remote)
{
	bool swap = remote->n > 0 && remote->ranks[0] < local->ranks[0];
	uint64_t h = mix(0x677270, (uint64_t)salt);
	h = members_hash(swap ? remote : local, h);
	h = members_hash(swap ? local : remote, h);
	return mix(h, salted_count(h));
}

static void put_def(const struct entry *c, uint32_t op, uint32_t parent, bool inter, const struct members *local,
		    const struct members *remote)
{
	struct stream *s = stream_mine != NULL ? stream_mine : stream_attach();
	struct mpic_comm_head head = {c->id,   parent, c->global_id, op,	   c->size,
				      c->rank, inter,  local->nruns, remote->nruns};
	size_t local_bytes = local->nruns * sizeof(*local->runs), remote_bytes = remote->nruns * sizeof(*remote->runs);
	if (s == NULL)
		return;
	uint8_t *both = (uint8_t *)local->runs;
	if (remote_bytes > 0) {
		both = (uint8_t *)stream_scratch(s, SCRATCH_DEFINITION, (local_bytes + remote_bytes) / 8 + 2);
		if (both == NULL) {
			stream_no_room();
			return;
		}
		memcpy(both, local->runs, local_bytes);
		memcpy(both + local_bytes, remote->runs, remote_bytes);
	}
	stream_put_def(s, MPIC_DEF_COMM, &head, sizeof(head), both, (uint32_t)(local_bytes + remote_bytes));
}

/* Where the agent finds a handle: its place, else a free one, else that of another. */
static struct open_comm *open_comm_of(uint64_t handle)
{
	struct open_comm *place = NULL;
	for (uint32_t i = 0; i < OPEN_COMM_PLACES; i++) {
		struct open_comm *c = &segfile->comms[open_comm_place(handle, i)];
		if (c->handle == handle)
			return c;
		if (c->handle == 0 && place == NULL)
			place = c;
	}
	return place != NULL ? place : &segfile->comms[open_comm_place(handle, 0)];
}

static void put_cache(MPI_Comm comm, const struct entry *c)
{
	if (segfile != NULL)
		*open_comm_of(comm_bits(comm)) = (struct open_comm){comm_bits(comm), c->id};
	handle_cache_put(&comm_cache, comm_bits(comm), c->id, (uint64_t)(uint32_t)c->rank | (uint64_t)c->size << 32,
			 c->remote_size);
}

/* The handle stands for it from now on. */
static struct entry *store_entry(MPI_Comm comm, const struct entry *fresh)
{
	uint32_t index;
	if (!handle_map_find(&by_handle, comm_bits(comm), &index) && !index_take(&indices, &index))
		return &none;
	entries[index] = *fresh;
	if (!handle_map_put(&by_handle, comm_bits(comm), index))
		return &none;
	put_cache(comm, &entries[index]);
	return &entries[index];
}

/* A duplicate of a communicator whose members are one run: everything is known. */
static struct entry *enter_duplicate(MPI_Comm comm, uint32_t op, const struct entry *parent, uint32_t child)
{
	struct entry c = *parent;
	struct mpic_rank_run run = parent->run;
	struct members local = {.n = (int)c.size, .runs = &run, .nruns = 1}, remote = {0};
	c.id = next_id++;
	c.created = c.objects = 0;
	c.global_id = child_identity(parent, child, run.first, run.first);
	put_def(&c, op, parent->id, false, &local, &remote);
	return store_entry(comm, &c);
}

static bool have_room(void)
{
	return indices.free_list != 0 || indices.used < indices.max;
}

static bool is_duplicate(uint32_t op, const struct entry *parent)
{
	bool dup = op == OP_MPI_Comm_dup || op == OP_MPI_Comm_dup_with_info || op == OP_MPI_Comm_idup;
#ifdef HAVE_MPI_Comm_idup_with_info
	dup |= op == OP_MPI_Comm_idup_with_info;
#endif
	/* One with a topology keeps it, and neighbours are defined once a communicator. */
	return dup && parent->run.count > 0 && !parent->has_neighbors;
}

static struct entry *enter(MPI_Comm comm, uint32_t op, const struct entry *parent, uint32_t child, int64_t salt,
			   uint64_t fixed_id)
{
	struct members local = {0}, remote = {0};
	MPI_Group group, remote_group;
	struct entry c = {.rank = -1}, *kept = &none;
	int inter = 0;

	if (entries == NULL || !have_room())
		return &none;
	if (is_duplicate(op, parent))
		return enter_duplicate(comm, op, parent, child);
	if (pmpi.MPI_Comm_group(comm, &group) != MPI_SUCCESS)
		return &none;
	pmpi.MPI_Comm_test_inter(comm, &inter);
	pmpi.MPI_Comm_rank(comm, &c.rank);
	if (inter && pmpi.MPI_Comm_remote_group(comm, &remote_group) == MPI_SUCCESS) {
		members_of(remote_group, &rooms[1], &remote);
		pmpi.MPI_Group_free(&remote_group);
	}
	if (members_of(group, &rooms[0], &local)) {
		c.id = next_id++;
		c.size = (uint32_t)local.n;
		c.remote_size = (uint32_t)remote.n;
		if (!inter && local.nruns == 1)
			c.run = local.runs[0];
		c.global_id = fixed_id != 0 ? fixed_id
			      : salt < 0    ? child_identity(parent, child, local.ranks[0],
							     remote.n > 0 ? remote.ranks[0] : local.ranks[0])
					    : salted_identity(salt, &local, &remote);
		put_def(&c, op, parent->id, inter != 0, &local, &remote);
		kept = store_entry(comm, &c);
	}
	pmpi.MPI_Group_free(&group);
	return kept;
}

void comms_begin_without_world(MPI_Group group)
{
	tables_lock();
	world_group = group;
	entries = memory_reserve(COMMS_MAX * sizeof(*entries));
	tables_unlock();
}

void comms_begin(void)
{
	MPI_Comm parent = MPI_COMM_NULL;
	int rank = 0;
	tables_lock();
	pmpi.MPI_Comm_group(MPI_COMM_WORLD, &world_group);
	if (entries == NULL)
		entries = memory_reserve(COMMS_MAX * sizeof(*entries));
	pmpi.MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	enter(MPI_COMM_WORLD, OP_MPI_Init, &none, 0, -1, 1);
	enter(MPI_COMM_SELF, OP_MPI_Init, &none, 0, -1, mix(2, (uint64_t)rank));
	if (pmpi.MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL)
		enter(parent, OP_MPI_Comm_get_parent, &none, 0, -1, 3);
	tables_unlock();
}

static struct entry *enter_promised(MPI_Comm comm)
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

/* Under the lock; &none for MPI_COMM_NULL and where there is no room. */
static struct entry *find(MPI_Comm comm)
{
	uint32_t index;
	struct entry *c = &none;
	if (entries == NULL || comm == MPI_COMM_NULL)
		return c;
	if (handle_map_find(&by_handle, comm_bits(comm), &index))
		return &entries[index];
	c = enter_promised(comm);
	if (c == &none) /* nobody saw it being made: members are all that is known of it */
		c = enter(comm, OP_MPI_Init, &none, 0, 0, 0);
	return c;
}

struct comm_view comm_find_slow(MPI_Comm comm)
{
	tables_lock();
	const struct entry *c = find(comm);
	struct comm_view view = {c->id, c->rank, c->size, c->remote_size};
	if (c != &none)
		put_cache(comm, c);
	tables_unlock();
	return view;
}

uint32_t comm_known(MPI_Comm comm)
{
	uint32_t index;
	tables_lock();
	const struct entry *c =
		handle_map_find(&by_handle, comm_bits(comm), &index) ? &entries[index] : enter_promised(comm);
	uint32_t id = c->id;
	tables_unlock();
	return id;
}

uint32_t comm_created(uint32_t op, MPI_Comm parent, MPI_Comm newcomm, int64_t salt)
{
	uint32_t id = MPIC_NO_COMM;
	tables_lock();
	struct entry *p = find(parent);
	uint32_t child = salt < 0 && p != &none ? p->created++ : 0;
	if (newcomm != MPI_COMM_NULL) {
		const struct entry *c = enter(newcomm, op, p, child, salt, 0);
		id = c->id;
		if (c == &none)
			stream_no_room();
	}
	tables_unlock();
	return id;
}

void comm_promised(uint32_t op, MPI_Comm parent, MPI_Comm newcomm)
{
	tables_lock();
	struct entry *p = find(parent);
	uint32_t child = p != &none ? p->created++ : 0;
	bool kept = false;
	for (uint32_t i = 0; i < PROMISES_MAX && !kept; i++)
		if (!promises[i].busy) {
			promises[i] = (struct promise){newcomm, *p, op, child, true};
			kept = true;
		}
	if (!kept) /* its identity will not be that of the other members */
		stream_no_room();
	tables_unlock();
}

#define NO_PLACE UINT32_MAX

uint32_t comm_leaves(MPI_Comm comm)
{
	uint32_t index;
	tables_lock();
	bool known = handle_map_take(&by_handle, comm_bits(comm), &index);
	handle_cache_drop(&comm_cache, comm_bits(comm));
	tables_unlock();
	return known ? index : NO_PLACE;
}

void comm_left(MPI_Comm comm, uint32_t place, bool stays)
{
	if (place == NO_PLACE)
		return;
	tables_lock();
	if (!stays || !handle_map_put(&by_handle, comm_bits(comm), place))
		index_give(&indices, place);
	tables_unlock();
}

void comm_named(MPI_Comm comm, const char *name)
{
	uint32_t id = comm_id(comm);
	struct stream *s = stream_mine;
	if (s != NULL && id != MPIC_NO_COMM && name != NULL)
		stream_put_def(s, MPIC_DEF_COMM_NAME, &id, 4, name, (uint32_t)strnlen(name, MPI_MAX_OBJECT_NAME));
}

uint64_t comm_next_object(MPI_Comm comm, uint32_t *ret_comm_id)
{
	tables_lock();
	struct entry *c = find(comm);
	uint64_t id = mix(mix(0x6f626a, c->global_id), c->objects);
	*ret_comm_id = c->id;
	if (c != &none)
		c->objects++;
	tables_unlock();
	return id;
}

#define GROUP_RUN_MAX 0xffffu

uint32_t group_words(MPI_Group group, uint64_t *ret_words, uint32_t max)
{
	struct members m = {0};
	uint32_t n = 0;
	if (group == MPI_GROUP_NULL)
		return 0;
	tables_lock();
	if (!members_of(group, &rooms[0], &m)) {
		tables_unlock();
		return 0;
	}
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
	tables_unlock();
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
	pmpi.MPI_Cartdim_get(comm, &dims);
	n->nin = n->nout = 2 * dims;
	if (!neighbors_room(n))
		return false;
	for (int i = 0; i < dims; i++)
		pmpi.MPI_Cart_shift(comm, i, 1, &n->in[2 * i], &n->in[2 * i + 1]);
	memcpy(n->out, n->in, (size_t)n->nout * sizeof(int));
	return true;
}

static bool graph_neighbors(MPI_Comm comm, int rank, struct neighbors *n)
{
	pmpi.MPI_Graph_neighbors_count(comm, rank, &n->nin);
	n->nout = n->nin;
	if (!neighbors_room(n))
		return false;
	pmpi.MPI_Graph_neighbors(comm, rank, n->nin, n->in);
	memcpy(n->out, n->in, (size_t)n->nout * sizeof(int));
	return true;
}

static bool dist_graph_neighbors(MPI_Comm comm, struct neighbors *n)
{
	int weighted = 0;
	pmpi.MPI_Dist_graph_neighbors_count(comm, &n->nin, &n->nout, &weighted);
	if (!neighbors_room(n))
		return false;
	int *weights = n->out + n->nout;
	pmpi.MPI_Dist_graph_neighbors(comm, n->nin, n->in, weights, n->nout, n->out, weights + n->nin);
	return true;
}

static bool find_neighbors(MPI_Comm comm, int rank, struct neighbors *n)
{
	int kind = MPI_UNDEFINED;
	pmpi.MPI_Topo_test(comm, &kind);
	return kind == MPI_CART		? cart_neighbors(comm, n)
	       : kind == MPI_GRAPH	? graph_neighbors(comm, rank, n)
	       : kind == MPI_DIST_GRAPH ? dist_graph_neighbors(comm, n)
					: false;
}

static void put_neighbors(uint32_t comm, struct neighbors *n)
{
	struct stream *s = stream_mine;
	struct mpic_topology_head head = {comm, (uint32_t)n->nin, (uint32_t)n->nout, 0};
	for (int i = 0; i < n->nin + n->nout; i++)
		if (n->in[i] < 0)
			n->in[i] = SIG_PROC_NULL;
	if (s != NULL)
		stream_put_def(s, MPIC_DEF_TOPOLOGY, &head, sizeof(head), n->in, (uint32_t)(n->nin + n->nout) * 4);
}

struct comm_degree comm_neighbors(MPI_Comm comm)
{
	struct neighbors n = {0};
	tables_lock();
	struct entry *c = find(comm);
	if (c != &none && !c->has_neighbors) {
		if (find_neighbors(comm, c->rank, &n))
			put_neighbors(c->id, &n);
		c->degree = (struct comm_degree){(uint32_t)n.nin, (uint32_t)n.nout};
		c->has_neighbors = true;
	}
	struct comm_degree degree = c->degree;
	tables_unlock();
	if (n.in != NULL)
		munmap(n.in, n.map_bytes);
	return degree;
}
