/* types.c - datatypes: number, size and signature of each handle.
 * In: the constructors, as they are called: a type follows from those it is made of.  Out: type_find().
 * Predefined types are asked for at their first use. Others that nobody saw being made (copies of
 * MPI_Type_get_contents, those that a Fortran layer makes by itself) each time: nobody would see them being freed, and
 * the next one has their handle. */
#include "pmpi/types.h"

#include "format/mpic.h"
#include "format/mpic_defs.h"
#include "pmpi/segfile.h"
#include "pmpi/typesig.h"

#include <string.h>

#define TYPES_MAX 65536u    /* alive at once; of later ones only the size is known, by asking each time */
#define MEANINGS_MAX 16384u /* places of the dictionary, half of which are used: what comes later has no number */
#define PRODUCTS 1024u
#define UNCOUNTED_MAX 1024u
#define REFUSALS_MAX 64u

/* What the trace says of a type. Types that agree in all of it share a number: programs that make the same type in
 * every iteration fill neither the dictionary of types nor that of calls. */
struct meaning {
	uint64_t size_bytes;
	struct typesig sig;
	char name[MPI_MAX_OBJECT_NAME];
	uint32_t name_bytes;
};

static struct entry {
	uint64_t size_bytes;
	struct typesig sig;
	uint32_t id;
} * entries;
static struct index_pool indices = {.max = TYPES_MAX};
static struct handle_map by_handle = {.places = 2 * TYPES_MAX};
struct handle_cache type_cache;

static struct {
	uint64_t key; /* of a meaning, from 1 */
	uint32_t id;
} * meanings;
static uint32_t nmeanings;

/* So many of one type: what was found the last time. */
static struct product {
	struct typesig one;
	uint64_t one_bytes, count;
	struct typesig all;
	uint32_t id; /* 0: an empty place */
} products[PRODUCTS];

static uint64_t key_of(const struct meaning *m)
{
	uint64_t words[4] = {m->size_bytes, m->sig.hash, m->sig.elements, typesig_basic(m->name, m->name_bytes).hash};
	uint64_t key = sig_hash(words, 4);
	return key != 0 ? key : 1;
}

static bool define(uint32_t id, const struct meaning *m)
{
	struct stream *s = stream_mine;
	struct mpic_datatype_head head = {id, 0, m->size_bytes, m->sig.hash, m->sig.elements};
	return s != NULL && stream_put_def(s, MPIC_DEF_DATATYPE, &head, sizeof(head), m->name, m->name_bytes);
}

/* The number of a type with this meaning, written as a definition the first time. */
static uint32_t id_of(const struct meaning *m)
{
	uint64_t key = key_of(m);
	uint32_t at = (uint32_t)(key >> 32) & (MEANINGS_MAX - 1);
	if (meanings == NULL)
		meanings = memory_reserve(MEANINGS_MAX * sizeof(*meanings));
	if (meanings == NULL)
		return MPIC_NO_TYPE;
	for (; meanings[at].key != 0; at = (at + 1) & (MEANINGS_MAX - 1))
		if (meanings[at].key == key)
			return meanings[at].id;
	if (nmeanings >= MEANINGS_MAX / 2)
		stream_no_room();
	if (nmeanings >= MEANINGS_MAX / 2 || !define(nmeanings + 1, m))
		return MPIC_NO_TYPE;
	meanings[at].key = key;
	meanings[at].id = ++nmeanings;
	return nmeanings;
}

/* A type that has no entry comes here at each use, and is counted once; of more than UNCOUNTED_MAX some more often. */
static void no_room_for(uint64_t bits)
{
	static uint64_t counted[UNCOUNTED_MAX];
	uint64_t words[2] = {bits, 0}, *place = &counted[sig_hash(words, 2) >> 32 & (UNCOUNTED_MAX - 1)];
	if (*place != ~bits)
		stream_no_room();
	*place = ~bits;
}

/* Where there is no memory for any, each use would ask for it again. */
static bool new_entry(uint32_t *ret_index)
{
	static uint32_t refused;
	if (entries == NULL && refused < REFUSALS_MAX) {
		entries = memory_reserve(TYPES_MAX * sizeof(*entries));
		refused += entries == NULL;
	}
	return entries != NULL && index_take(&indices, ret_index);
}

/* From now on the handle means this. Where there is no room for it, it is asked for again. */
static void enter(MPI_Datatype type, uint64_t size_bytes, struct typesig sig, uint32_t id)
{
	uint32_t index;
	bool have = handle_map_find(&by_handle, type_bits(type), &index);
	if (!have && !new_entry(&index)) {
		no_room_for(type_bits(type));
		return;
	}
	entries[index] = (struct entry){.size_bytes = size_bytes, .sig = sig, .id = id};
	if (!have && !handle_map_put(&by_handle, type_bits(type), index)) {
		index_give(&indices, index);
		return;
	}
	handle_cache_put(&type_cache, type_bits(type), id, size_bytes, 0);
}

static uint64_t size_of(MPI_Datatype type)
{
	MPI_Count size = 0;
	return pmpi.MPI_Type_size_x(type, &size) == MPI_SUCCESS && size > 0 ? (uint64_t)size : 0;
}

/* Ask MPI for everything. */
static struct entry resolve(MPI_Datatype type)
{
	struct meaning m = {.size_bytes = size_of(type), .sig = typesig_of(type)};
	int len = 0;
	if (pmpi.MPI_Type_get_name(type, m.name, &len) == MPI_SUCCESS && len > 0)
		m.name_bytes = (uint32_t)len;
	return (struct entry){m.size_bytes, m.sig, id_of(&m)};
}

static void enter_resolved(MPI_Datatype type)
{
	struct entry t = resolve(type);
	enter(type, t.size_bytes, t.sig, t.id);
}

static struct entry unseen; /* asked for the last time */

/* It holds until the next call of this. */
static const struct entry *find(MPI_Datatype type)
{
	uint32_t index;
	if (handle_map_find(&by_handle, type_bits(type), &index))
		return &entries[index];
	if (by_handle.used >= TYPES_MAX)
		return NULL;
	if (!typesig_is_predefined(type)) {
		unseen = resolve(type);
		return &unseen;
	}
	enter_resolved(type);
	return handle_map_find(&by_handle, type_bits(type), &index) ? &entries[index] : NULL;
}

struct type_view type_find_slow(MPI_Datatype type)
{
	struct type_view view = {MPIC_NO_TYPE, 0};
	if (type == MPI_DATATYPE_NULL)
		return view;
	tables_lock();
	const struct entry *t = find(type);
	if (t != NULL) {
		if (t != &unseen)
			handle_cache_put(&type_cache, type_bits(type), t->id, t->size_bytes, 0);
		view = (struct type_view){t->id, t->size_bytes};
	} else {
		view.size_bytes = size_of(type);
	}
	tables_unlock();
	return view;
}

/* count of a known type */
static struct product *product_of(const struct entry *one, uint64_t count)
{
	uint64_t words[4] = {one->sig.hash, one->sig.elements, one->size_bytes, count};
	struct product *p = &products[sig_hash(words, 4) >> 32 & (PRODUCTS - 1)];
	bool same = p->id != 0 && p->one.hash == one->sig.hash && p->one.elements == one->sig.elements &&
		    p->one_bytes == one->size_bytes && p->count == count;
	if (!same) {
		struct meaning m = {.size_bytes = one->size_bytes * count, .sig = typesig_repeat(one->sig, count)};
		*p = (struct product){one->sig, one->size_bytes, count, m.sig, id_of(&m)};
	}
	return p;
}

void type_made(MPI_Datatype oldtype, MPI_Datatype newtype)
{
	tables_lock();
	const struct entry *old = find(oldtype);
	uint64_t size_bytes = size_of(newtype);
	if (old != NULL && old->size_bytes > 0) {
		const struct product *p = product_of(old, size_bytes / old->size_bytes);
		enter(newtype, size_bytes, p->all, p->id);
	} else {
		enter_resolved(newtype);
	}
	tables_unlock();
}

void type_made_struct(MPI_Count count, const void *blocklengths, bool wide, const MPI_Datatype *types,
		      MPI_Datatype newtype)
{
	struct meaning m = {0};
	bool known = true;
	tables_lock();
	for (MPI_Count i = 0; i < count && known; i++) {
		int64_t length = wide ? ((const int64_t *)blocklengths)[i] : ((const int *)blocklengths)[i];
		const struct entry *t = length > 0 ? find(types[i]) : NULL;
		if (length <= 0 || (t != NULL && t->size_bytes == 0))
			continue;
		known = t != NULL && t->sig.elements > 0;
		if (known)
			m.sig = typesig_concat(m.sig, product_of(t, (uint64_t)length)->all);
	}
	if (known) {
		m.size_bytes = size_of(newtype);
		enter(newtype, m.size_bytes, m.sig, id_of(&m));
	} else {
		enter_resolved(newtype);
	}
	tables_unlock();
}

void type_named(MPI_Datatype type, const char *name)
{
	tables_lock();
	const struct entry *t = find(type);
	if (t != NULL) {
		struct meaning m = {.size_bytes = t->size_bytes, .sig = t->sig};
		m.name_bytes = (uint32_t)strnlen(name, sizeof(m.name) - 1);
		memcpy(m.name, name, m.name_bytes);
		enter(type, m.size_bytes, m.sig, id_of(&m));
	}
	tables_unlock();
}

void type_freed(MPI_Datatype type)
{
	uint32_t index;
	tables_lock();
	if (handle_map_take(&by_handle, type_bits(type), &index))
		index_give(&indices, index);
	handle_cache_drop(&type_cache, type_bits(type));
	tables_unlock();
}
