/* tables.h - what handles mean: communicators, datatypes, requests. Handles are never identities by themselves.
 * Process-wide; locked only under MPI_THREAD_MULTIPLE. What is looked up in every call stands in a cache of handles.h. */
#pragma once

#include "format/mpic.h"
#include "pmpi/handles.h"
#include "pmpi/ops.h"
#include "pmpi/stream.h"

extern bool tables_shared HIDDEN; /* several threads may call MPI at once */
extern struct next next HIDDEN;	  /* the MPI library's own functions */

void tables_lock(void) HIDDEN;
void tables_unlock(void) HIDDEN;

/* ---- communicators ---- */

/* What a call on a communicator must know of it. */
struct comm_view {
	uint32_t id;	      /* MPIC_NO_COMM: no room for it, or MPI_COMM_NULL */
	int32_t rank;	      /* mine in it; -1 if none */
	uint32_t size;	      /* of the local group */
	uint32_t remote_size; /* 0 unless inter */
};

void comms_begin(void) HIDDEN COLD; /* after MPI_Init: MPI_COMM_WORLD, MPI_COMM_SELF */
/* After MPI_Session_init: world ranks are those of group, which is ours from now on. */
void comms_begin_without_world(MPI_Group group) HIDDEN COLD;
struct comm_view comm_find_slow(MPI_Comm comm) HIDDEN COLD;
/* Enter newcomm, created by op from parent. salt distinguishes siblings that are not ordered by the parent's
 * collectives (create_group, intercomm_create: the tag), else -1. Returns its id, MPIC_NO_COMM for MPI_COMM_NULL. */
uint32_t comm_created(uint32_t op, MPI_Comm parent, MPI_Comm newcomm, int64_t salt) HIDDEN COLD;
/* MPI_Comm_idup returned: newcomm gets its place among the parent's children now and is entered at its first use. */
void comm_promised(uint32_t op, MPI_Comm parent, MPI_Comm newcomm) HIDDEN COLD;
/* Before it is freed, as the library may give the handle to another thread at once. */
void comm_freed(MPI_Comm comm) HIDDEN COLD;
void comm_named(MPI_Comm comm, const char *name) HIDDEN COLD;
/* How many neighbours this rank has in comm's topology; who they are becomes a definition at the first use. */
struct comm_degree {
	uint32_t in, out;
};
struct comm_degree comm_neighbors(MPI_Comm comm) HIDDEN COLD;
/* A window or file is made on comm: a global id for it that all members agree on. */
uint64_t comm_next_object(MPI_Comm comm, uint32_t *ret_comm_id) HIDDEN COLD;
/* Members as words {first world rank:32 | stride:16 | count:16}, -1 for a process of another world; at most max words. */
uint32_t group_words(MPI_Group group, uint64_t *ret_words, uint32_t max) HIDDEN COLD;

extern struct handle_cache comm_cache HIDDEN;

static inline uint64_t comm_bits(MPI_Comm comm)
{
	return (uint64_t)(uintptr_t)comm;
}

/* One that nobody saw being created is entered now. */
INLINE struct comm_view comm_find(MPI_Comm comm)
{
	struct handle_cached c;
	if (__builtin_expect(!handle_cache_get(&comm_cache, comm_bits(comm), &c), false))
		return comm_find_slow(comm);
	return (struct comm_view){c.id, (int32_t)(uint32_t)c.a, (uint32_t)(c.a >> 32), (uint32_t)c.b};
}

/* ---- windows and files ---- */

struct object_table {
	struct handle_map map;
	uint32_t next_id; /* from 1 */
	struct handle_cache cache;
};

extern struct object_table windows HIDDEN, files HIDDEN;

uint32_t object_find_slow(struct object_table *table, uint64_t handle) HIDDEN COLD;
/* Enter a new object; its id, MPIC_NO_OBJECT when the table is full. */
uint32_t object_created(struct object_table *table, uint64_t handle) HIDDEN COLD;
/* Before it is freed. */
void object_freed(struct object_table *table, uint64_t handle) HIDDEN COLD;

/* The id of an object, MPIC_NO_OBJECT for one that nobody saw being made. */
static inline uint32_t object_find(struct object_table *table, uint64_t handle)
{
	struct handle_cached c;
	return handle_cache_get(&table->cache, handle, &c) ? c.id : object_find_slow(table, handle);
}

static inline uint32_t win_find(MPI_Win win)
{
	return object_find(&windows, (uint64_t)(uintptr_t)win);
}

/* ---- datatypes ---- */

struct type_view {
	uint32_t id; /* MPIC_NO_TYPE: counts of it are recorded in bytes */
	uint64_t size_bytes;
};

extern struct handle_cache type_cache HIDDEN;

struct type_view type_find_slow(MPI_Datatype type) HIDDEN COLD;
/* newtype was made of so many oldtypes as fit into its size, whatever the constructor. */
void type_made(MPI_Datatype oldtype, MPI_Datatype newtype) HIDDEN;
/* newtype was made of count blocks (int or MPI_Count: wide) of one type each. */
void type_made_struct(MPI_Count count, const void *blocklengths, bool wide, const MPI_Datatype *types,
		      MPI_Datatype newtype) HIDDEN;
void type_named(MPI_Datatype type, const char *name) HIDDEN COLD;
/* Before it is freed. */
void type_freed(MPI_Datatype type) HIDDEN;

static inline uint64_t type_bits(MPI_Datatype type)
{
	return (uint64_t)(uintptr_t)type;
}

INLINE struct type_view type_find(MPI_Datatype type)
{
	struct handle_cached c;
	if (__builtin_expect(!handle_cache_get(&type_cache, type_bits(type), &c), false))
		return type_find_slow(type);
	return (struct type_view){c.id, c.a};
}

INLINE uint64_t bytes_of(uint64_t count, MPI_Datatype type)
{
	return count * type_find(type).size_bytes;
}

/* As a signature tells it: of a type without a number, bytes. */
INLINE uint64_t count_of(struct type_view type, uint64_t count)
{
	return __builtin_expect(type.id != MPIC_NO_TYPE, true) ? count : count * type.size_bytes;
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
