/* tables.h - what handles mean: communicators, datatypes, requests. Handles are never identities by themselves.
 * Process-wide; locked only under MPI_THREAD_MULTIPLE. */
#pragma once

#include "pmpi/ops.h"
#include "pmpi/stream.h"

extern bool tables_shared HIDDEN; /* several threads may call MPI at once */
extern struct next next HIDDEN;	  /* the MPI library's own functions */

/* A handle is about to be freed: what calls with it mean must be looked up again. */
static inline void handles_changed(void)
{
	if (__atomic_add_fetch(&handles_epoch, 1, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&handles_epoch, 1, __ATOMIC_RELAXED);
}

/* ---- communicators ---- */

struct comm_entry {
	MPI_Comm handle;
	bool used; /* it and the handle are read without the lock, the others only when it is set */
	uint32_t id;
	int32_t rank;	      /* mine in it */
	uint32_t size;	      /* of the local group */
	uint32_t remote_size; /* 0 unless inter */
	uint32_t created;     /* communicators derived from it so far: the same count on all members */
	uint32_t objects;     /* the same of windows and files made on it */
	bool has_neighbors;   /* the next two are known and told */
	uint32_t in, out;     /* neighbours of this rank */
	uint64_t global_id;
};

void comms_begin(void) HIDDEN COLD; /* after MPI_Init: MPI_COMM_WORLD, MPI_COMM_SELF */
/* After MPI_Session_init: world ranks are those of group, which is ours from now on. */
void comms_begin_without_world(MPI_Group group) HIDDEN COLD;
struct comm_entry *comm_find_slow(MPI_Comm comm) HIDDEN COLD;
/* Enter newcomm, created by op from parent. salt distinguishes siblings that are not ordered by the parent's
 * collectives (create_group, intercomm_create: the tag), else -1. Returns its id, MPIC_NO_COMM for MPI_COMM_NULL. */
uint32_t comm_created(uint32_t op, MPI_Comm parent, MPI_Comm newcomm, int64_t salt) HIDDEN COLD;
/* MPI_Comm_idup returned: newcomm gets its place among the parent's children now and is entered at its first use. */
void comm_promised(uint32_t op, MPI_Comm parent, MPI_Comm newcomm) HIDDEN COLD;
void comm_freed(MPI_Comm comm) HIDDEN COLD;
void comm_named(MPI_Comm comm, const char *name) HIDDEN COLD;
/* The entry with its neighbours, told as a definition at the first use. */
const struct comm_entry *comm_neighbors_slow(MPI_Comm comm) HIDDEN COLD;
/* A window or file is made on comm: a global id for it that all members agree on. */
uint64_t comm_next_object(MPI_Comm comm, uint32_t *ret_comm_id) HIDDEN COLD;
/* Members as words {first world rank:32 | stride:16 | count:16}, -1 for a process of another world; at most max
 * words. */
uint32_t group_words(MPI_Group group, uint64_t *ret_words, uint32_t max) HIDDEN COLD;

extern struct comm_entry *comm_last HIDDEN;

/* The entry of a communicator; one that nobody saw being created is entered now. Never NULL. */
static inline const struct comm_entry *comm_find(MPI_Comm comm)
{
	struct comm_entry *last = __atomic_load_n(&comm_last, __ATOMIC_RELAXED);
	bool used = __atomic_load_n(&last->used, __ATOMIC_ACQUIRE);
	return __builtin_expect(used && __atomic_load_n(&last->handle, __ATOMIC_RELAXED) == comm, true)
		       ? last
		       : comm_find_slow(comm);
}

static inline const struct comm_entry *comm_neighbors(MPI_Comm comm)
{
	const struct comm_entry *c = comm_find(comm);
	/* Partner: the release store in comm_neighbors_slow. */
	return __builtin_expect(__atomic_load_n(&c->has_neighbors, __ATOMIC_ACQUIRE), true) ? c
											    : comm_neighbors_slow(comm);
}

/* ---- windows and files ---- */

struct object_entry {
	uint64_t handle;
	uint32_t id; /* from 1; 0 = this place was never used */
	bool used;
};

struct object_table {
	struct object_entry *entries; /* mapped at the first use */
	struct object_entry *last;
	uint32_t next_id;
};

extern struct object_table windows HIDDEN, files HIDDEN;

uint32_t object_find_slow(struct object_table *table, uint64_t handle) HIDDEN COLD;
/* Enter a new object; its id, MPIC_NO_OBJECT when the table is full. */
uint32_t object_created(struct object_table *table, uint64_t handle) HIDDEN COLD;
void object_freed(struct object_table *table, uint64_t handle) HIDDEN COLD;

/* The id of an object, MPIC_NO_OBJECT for one that nobody saw being made. */
static inline uint32_t object_find(struct object_table *table, uint64_t handle)
{
	const struct object_entry *last = __atomic_load_n(&table->last, __ATOMIC_RELAXED);
	/* Another thread may be entering another object there; a handle in use has its entry to itself. */
	bool used = __atomic_load_n(&last->used, __ATOMIC_ACQUIRE);
	return __builtin_expect(used && __atomic_load_n(&last->handle, __ATOMIC_RELAXED) == handle, true)
		       ? __atomic_load_n(&last->id, __ATOMIC_RELAXED)
		       : object_find_slow(table, handle);
}

static inline uint32_t win_find(MPI_Win win)
{
	return object_find(&windows, (uint64_t)(uintptr_t)win);
}

/* ---- datatypes ---- */

struct type_entry {
	MPI_Datatype handle;
	uint32_t id;
	bool used;
	uint64_t size_bytes;
};

#define TYPE_CACHE 64

extern struct type_entry type_cache[TYPE_CACHE] HIDDEN;

const struct type_entry *type_find_slow(MPI_Datatype type) HIDDEN COLD;
/* The handle may mean something else from now on: it was freed, or named. */
void type_freed(MPI_Datatype type) HIDDEN COLD;

static inline uint32_t type_slot(MPI_Datatype type)
{
	uint64_t bits = (uint64_t)(uintptr_t)type;
	return (uint32_t)((bits ^ bits >> 9 ^ bits >> 17) & (TYPE_CACHE - 1));
}

static inline struct type_entry type_find(MPI_Datatype type)
{
	const struct type_entry *t = &type_cache[type_slot(type)];
	if (__builtin_expect(!tables_shared && t->used && t->handle == type, true))
		return *t;
	return *type_find_slow(type);
}

static inline uint64_t bytes_of(uint64_t count, MPI_Datatype type)
{
	return count * type_find(type).size_bytes;
}

/* ---- requests ---- */

enum request_flag {
	REQUEST_PERSISTENT = 1,
	REQUEST_WANTS_STATUS = 2, /* a wildcard receive, or cancelled: only the status knows */
};

struct request {
	uint64_t serial; /* of its thread */
	uint32_t thread;
	uint32_t flags;
};

extern int64_t requests_wanting_status HIDDEN;

/* Open addressing by handle. Open MPI hands out one shared object for operations that completed at once: the operations
 * behind one handle are a queue, its oldest here, the others in nodes of requests.c. */
struct request_slot {
	uint64_t key; /* 0 = empty: no request has that handle */
	struct request oldest;
	uint32_t next, last; /* nodes; 0 = none */
};

extern struct request_slot *request_slots HIDDEN;
extern uint32_t request_mask HIDDEN;	   /* of the index of a slot */
extern uint32_t requests_held HIDDEN;	   /* slots in use */
extern uint32_t request_slots_room HIDDEN; /* that many may be */

void request_put_slow(MPI_Request handle, struct request r) HIDDEN;
bool request_take_slow(MPI_Request handle, bool always, struct request *ret_request) HIDDEN;

static inline uint64_t request_key(MPI_Request handle)
{
	return (uint64_t)(uintptr_t)handle;
}

static inline uint32_t request_home(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & request_mask;
}

INLINE void request_put(MPI_Request handle, struct request r)
{
	if (__builtin_expect(!tables_shared && requests_held < request_slots_room && r.flags == 0, true)) {
		uint64_t key = request_key(handle);
		struct request_slot *s = &request_slots[request_home(key)];
		if (__builtin_expect(s->key == 0, true)) {
			*s = (struct request_slot){key, r, 0, 0};
			requests_held++;
			return;
		}
	}
	request_put_slow(handle, r);
}

/* The oldest operation behind a handle. */
bool request_get(MPI_Request handle, struct request *ret_request) HIDDEN;

/* As request_get, and forget it unless it is persistent or `always`. */
INLINE bool request_take(MPI_Request handle, bool always, struct request *ret_request)
{
	if (__builtin_expect(!tables_shared && requests_held > 0, true)) {
		uint64_t key = request_key(handle);
		uint32_t at = request_home(key);
		struct request_slot *s = &request_slots[at];
		/* Nothing behind it that a search would no longer find. */
		bool alone = s->key == key && s->next == 0 && s->oldest.flags == 0 &&
			     request_slots[(at + 1) & request_mask].key == 0;
		if (__builtin_expect(alone, true)) {
			*ret_request = s->oldest;
			s->key = 0;
			requests_held--;
			return true;
		}
	}
	return request_take_slow(handle, always, ret_request);
}

/* From now on its status matters. */
void request_want_status(MPI_Request handle) HIDDEN;

void tables_lock(void) HIDDEN;
void tables_unlock(void) HIDDEN;
