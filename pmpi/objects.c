/* objects.c - windows and files: which numbers stand for which handles. A handle that was freed may come back as
 * another object: it gets a new number then. */
#include "format/mpic.h"
#include "pmpi/segfile.h"
#include "pmpi/tables.h"

#define OBJECTS_MAX 4096u /* alive at once; later ones are told as unknown */

static struct object_entry none = {.id = MPIC_NO_OBJECT};
struct object_table windows = {.last = &none}, files = {.last = &none};

/* The entry of a handle; if there is none, the place where it belongs, NULL when the table is full. */
static struct object_entry *place_of(const struct object_table *t, uint64_t handle)
{
	struct object_entry *hole = NULL;
	uint32_t at = (uint32_t)((handle * 0x9e3779b97f4a7c15ull) >> 32) & (OBJECTS_MAX - 1);
	for (uint32_t i = 0; i < OBJECTS_MAX; i++, at = (at + 1) & (OBJECTS_MAX - 1)) {
		struct object_entry *e = &t->entries[at];
		if (e->used && e->handle == handle)
			return e;
		if (!e->used && hole == NULL)
			hole = e;
		if (e->id == 0)
			break;
	}
	return hole;
}

uint32_t object_find_slow(struct object_table *t, uint64_t handle)
{
	uint32_t id = MPIC_NO_OBJECT;
	tables_lock();
	struct object_entry *e = t->entries != NULL ? place_of(t, handle) : NULL;
	if (e != NULL && e->used) {
		id = e->id;
		__atomic_store_n(&t->last, e, __ATOMIC_RELAXED);
	}
	tables_unlock();
	return id;
}

uint32_t object_created(struct object_table *t, uint64_t handle)
{
	uint32_t id = MPIC_NO_OBJECT;
	tables_lock();
	if (t->entries == NULL)
		t->entries = memory_reserve(OBJECTS_MAX * sizeof(*t->entries));
	struct object_entry *e = t->entries != NULL ? place_of(t, handle) : NULL;
	if (e != NULL) {
		id = ++t->next_id;
		/* Partner: the acquire load in object_find(). */
		__atomic_store_n(&e->handle, handle, __ATOMIC_RELAXED);
		__atomic_store_n(&e->id, id, __ATOMIC_RELAXED);
		__atomic_store_n(&e->used, true, __ATOMIC_RELEASE);
	}
	tables_unlock();
	return id;
}

void object_freed(struct object_table *t, uint64_t handle)
{
	tables_lock();
	struct object_entry *e = t->entries != NULL ? place_of(t, handle) : NULL;
	if (e != NULL && e->used)
		__atomic_store_n(&e->used, false, __ATOMIC_RELAXED);
	__atomic_store_n(&t->last, &none, __ATOMIC_RELAXED);
	tables_unlock();
}
