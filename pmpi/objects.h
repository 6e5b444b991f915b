/* objects.h - windows and files: which numbers stand for which handles. */
#pragma once

#include "pmpi/handles.h"
#include "pmpi/library.h"

struct object_table {
	struct handle_map map;
	uint32_t next_id; /* from 1 */
	struct handle_cache cache;
};

extern struct object_table windows HIDDEN, files HIDDEN;

uint32_t object_find_slow(struct object_table *table, uint64_t handle) HIDDEN COLD;
/* Enter a new object; its id, MPIC_NO_OBJECT when the table is full. */
uint32_t object_created(struct object_table *table, uint64_t handle) HIDDEN COLD;
/* Before it is freed; its id. */
uint32_t object_leaves(struct object_table *table, uint64_t handle) HIDDEN COLD;
/* MPI has refused to free it. */
void object_stays(struct object_table *table, uint64_t handle, uint32_t id) HIDDEN COLD;

/* The id of an object, MPIC_NO_OBJECT for one that nobody saw being made. */
static inline uint32_t object_find(struct object_table *table, uint64_t handle)
{
	struct handle_cached c;
	return handle_cache_get(&table->cache, handle, HANDLE_ID, &c) ? c.id : object_find_slow(table, handle);
}

static inline uint32_t win_find(MPI_Win win)
{
	return object_find(&windows, (uint64_t)(uintptr_t)win);
}
