/* objects.c - windows and files: which numbers stand for which handles. A handle that was freed may come back as
 * another object: it gets a new number then. */
#include "pmpi/objects.h"

#include "format/mpic.h"

#define PLACES 8192u /* twice of those alive at once; later ones are recorded as unknown */

struct object_table windows = {.map.places = PLACES}, files = {.map.places = PLACES};

uint32_t object_find_slow(struct object_table *t, uint64_t handle)
{
	uint32_t id = MPIC_NO_OBJECT;
	tables_lock();
	if (handle_map_find(&t->map, handle, &id))
		handle_cache_put(&t->cache, handle, id, 0, 0);
	tables_unlock();
	return id;
}

uint32_t object_created(struct object_table *t, uint64_t handle)
{
	uint32_t id = MPIC_NO_OBJECT;
	tables_lock();
	if (handle_map_put(&t->map, handle, t->next_id + 1)) {
		id = ++t->next_id;
		handle_cache_put(&t->cache, handle, id, 0, 0);
	} else {
		stream_no_room();
	}
	tables_unlock();
	return id;
}

uint32_t object_leaves(struct object_table *t, uint64_t handle)
{
	uint32_t id = MPIC_NO_OBJECT;
	tables_lock();
	handle_map_take(&t->map, handle, &id);
	handle_cache_drop(&t->cache, handle);
	tables_unlock();
	return id;
}

void object_stays(struct object_table *t, uint64_t handle, uint32_t id)
{
	tables_lock();
	if (id != MPIC_NO_OBJECT)
		handle_map_put(&t->map, handle, id);
	tables_unlock();
}
