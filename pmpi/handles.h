/* handles.h - from a handle to what it stands for now. A handle is no identity: one that was freed comes back as
 * another object, often in the next call. Whoever makes or frees an object says so here, and nothing else is forgotten.
 *
 * handle_map: open addressing, always at most half full; what is erased leaves no trace (Knuth, TAOCP 3, 6.4 R).
 *             Read and written under tables_lock().
 * handle_cache: one place a hash, read without a lock by all threads. A writer makes `seq` odd before and even after
 *             (a sequence lock), so a reader that met a change looks into the map instead. */
#pragma once

#include "pmpi/stream.h"

struct handle_place {
	uint64_t handle; /* 0 = empty: no object has that handle */
	uint32_t value;
};

struct handle_map {
	uint32_t places; /* a power of two */
	uint32_t used;
	struct handle_place *at; /* mapped at the first use */
};

bool handle_map_find(const struct handle_map *m, uint64_t handle, uint32_t *ret_value) HIDDEN;
/* Enter, or replace the value. False when the map is half full, or without memory. */
bool handle_map_put(struct handle_map *m, uint64_t handle, uint32_t value) HIDDEN;
/* Find and erase. */
bool handle_map_take(struct handle_map *m, uint64_t handle, uint32_t *ret_value) HIDDEN;

/* Indices below max that are handed out, given back and handed out again. */
struct index_pool {
	uint32_t max;
	uint32_t used;	    /* so many were ever handed out */
	uint32_t free_list; /* index + 1 of the one given back last */
	uint32_t *next;	    /* by index: the one given back before it; mapped at the first use */
};

bool index_take(struct index_pool *p, uint32_t *ret_index) HIDDEN;
void index_give(struct index_pool *p, uint32_t index) HIDDEN;

struct handle_cached {
	uint32_t seq; /* odd while it changes */
	uint32_t id;
	uint64_t handle; /* 0 = empty */
	uint64_t a, b;
};

#define HANDLE_CACHE_BITS 8

struct handle_cache {
	struct handle_cached at[1u << HANDLE_CACHE_BITS];
};

static inline uint32_t handle_slot(uint64_t handle)
{
	return (uint32_t)(handle * 0x9e3779b97f4a7c15ull >> (64 - HANDLE_CACHE_BITS));
}

enum handle_fields { HANDLE_ID = 1, HANDLE_A = 2, HANDLE_B = 4 };

/* False: not there, or just changing. `fields` is a constant: what is read into *ret. */
INLINE bool handle_cache_get(const struct handle_cache *c, uint64_t handle, unsigned fields, struct handle_cached *ret)
{
	const struct handle_cached *p = &c->at[handle_slot(handle)];
	uint32_t seq = __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE); /* partner: the last store of handle_cache_put() */
	ret->handle = __atomic_load_n(&p->handle, __ATOMIC_ACQUIRE);
	ret->id = fields & HANDLE_ID ? __atomic_load_n(&p->id, __ATOMIC_ACQUIRE) : 0;
	ret->a = fields & HANDLE_A ? __atomic_load_n(&p->a, __ATOMIC_ACQUIRE) : 0;
	ret->b = fields & HANDLE_B ? __atomic_load_n(&p->b, __ATOMIC_ACQUIRE) : 0;
	uint32_t again = __atomic_load_n(&p->seq, __ATOMIC_RELAXED);
	uint64_t differ = (ret->handle ^ handle) | (seq & 1) | (seq ^ again);
	return __builtin_expect(differ == 0, true);
}

/* How often any of the caches was changed: what was read at the same epoch still holds. */
extern uint64_t handle_epoch HIDDEN;

/* Under tables_lock(). */
void handle_cache_put(struct handle_cache *c, uint64_t handle, uint32_t id, uint64_t a, uint64_t b) HIDDEN;
void handle_cache_drop(struct handle_cache *c, uint64_t handle) HIDDEN;
