/* types.c - datatypes: number, size, signature and name, looked up once a handle. */
#include "format/mpic.h"
#include "pmpi/segfile.h"
#include "pmpi/tables.h"
#include "pmpi/typesig.h"

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

/* What the trace says of a type. Types that agree in all of it share a number: programs that make the same type in
 * every iteration fill neither this table nor the dictionary of calls. */
struct meaning {
	uint64_t size_bytes;
	struct typesig sig;
	char name[MPI_MAX_OBJECT_NAME];
	uint32_t name_bytes;
};

static struct told {
	uint64_t key; /* of a meaning, from 1 */
	uint32_t id;
} * told;

static void find_meaning(MPI_Datatype type, struct meaning *ret_meaning)
{
	MPI_Count size = 0;
	int len = 0;
	if (next.MPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
		size = 0;
	if (next.MPI_Type_get_name(type, ret_meaning->name, &len) != MPI_SUCCESS || len < 0)
		len = 0;
	ret_meaning->name_bytes = (uint32_t)len;
	ret_meaning->size_bytes = (uint64_t)size;
	ret_meaning->sig = typesig_of(type);
}

static uint64_t key_of(const struct meaning *m)
{
	uint64_t words[4] = {m->size_bytes, m->sig.hash, m->sig.elements, typesig_basic(m->name, m->name_bytes).hash};
	uint64_t key = sig_hash(words, 4);
	return key != 0 ? key : 1;
}

static void define(uint32_t id, const struct meaning *m)
{
	struct stream *s = stream_mine;
	uint64_t head[4] = {id, m->size_bytes, m->sig.hash, m->sig.elements};
	if (s != NULL)
		stream_put_def(s, MPIC_DEF_DATATYPE, head, sizeof(head), m->name, m->name_bytes);
}

/* The number of a type with this meaning, told as a definition the first time. */
static uint32_t id_of(const struct meaning *m)
{
	uint64_t key = key_of(m);
	uint32_t at = (uint32_t)(key >> 32) & (TYPES_MAX - 1);
	if (told == NULL)
		told = memory_reserve(TYPES_MAX * sizeof(*told));
	for (uint32_t i = 0; told != NULL && i < TYPES_MAX; i++, at = (at + 1) & (TYPES_MAX - 1)) {
		if (told[at].key == key)
			return told[at].id;
		if (told[at].key == 0) {
			told[at] = (struct told){key, ++next_id};
			define(next_id, m);
			return next_id;
		}
	}
	return UINT32_MAX;
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
		struct meaning m = {0};
		find_meaning(type, &m);
		*t = (struct type_entry){type, id_of(&m), true, m.size_bytes};
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
