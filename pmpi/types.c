/* types.c - datatypes: number, size and name, looked up once a handle. */
#include "format/mpic.h"
#include "pmpi/segfile.h"
#include "pmpi/tables.h"

#include <string.h>

#define TYPES_MAX 8192u

struct type_entry type_cache[TYPE_CACHE];
static struct type_entry *entries;
static uint32_t next_id;
static const struct type_entry no_type = {.id = UINT32_MAX};

static uint32_t home(MPI_Datatype type)
{
	uint64_t bits = (uint64_t)(uintptr_t)type * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(bits >> 32) & (TYPES_MAX - 1);
}

/* The entry of a type, or the place where it belongs; NULL when the table is full. Freed places (id set, not used)
 * are passed by a search and filled by an insertion. */
static struct type_entry *place_of(MPI_Datatype type)
{
	struct type_entry *hole = NULL;
	uint32_t at = home(type);
	for (uint32_t i = 0; i < TYPES_MAX; i++, at = (at + 1) & (TYPES_MAX - 1)) {
		if (entries[at].used && entries[at].handle == type)
			return &entries[at];
		if (!entries[at].used && hole == NULL)
			hole = &entries[at];
		if (!entries[at].used && entries[at].id == 0)
			break;
	}
	return hole;
}

static void define(const struct type_entry *t)
{
	struct stream *s = stream_mine;
	char name[MPI_MAX_OBJECT_NAME] = "";
	int len = 0;
	uint64_t head[3] = {t->id, t->size_bytes, 0};
	if (s == NULL)
		return;
	if (next.MPI_Type_get_name(t->handle, name, &len) != MPI_SUCCESS || len < 0)
		len = 0;
	stream_put_def(s, MPIC_DEF_DATATYPE, head, sizeof(head), name, (uint32_t)len);
}

const struct type_entry *type_find_slow(MPI_Datatype type)
{
	if (type == MPI_DATATYPE_NULL)
		return &no_type;
	tables_lock();
	if (entries == NULL)
		entries = memory_reserve(TYPES_MAX * sizeof(*entries));
	struct type_entry *t = entries != NULL ? place_of(type) : NULL;
	if (t != NULL && !t->used) {
		MPI_Count size = 0;
		if (next.MPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
			size = 0;
		*t = (struct type_entry){type, ++next_id, true, (uint64_t)size};
		define(t);
	}
	if (t != NULL && !tables_shared)
		type_cache[type_slot(type)] = *t;
	tables_unlock();
	return t != NULL ? t : &no_type;
}

void type_freed(MPI_Datatype type)
{
	handles_changed();
	tables_lock();
	struct type_entry *t = entries != NULL ? place_of(type) : NULL;
	if (t != NULL && t->used && t->handle == type)
		t->used = false;
	type_cache[type_slot(type)].used = false;
	tables_unlock();
}
