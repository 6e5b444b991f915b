/* types.h - datatypes: number and size of each handle. */
#pragma once

#include "format/mpic.h"
#include "pmpi/handles.h"
#include "pmpi/library.h"

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
	if (__builtin_expect(!handle_cache_get(&type_cache, type_bits(type), HANDLE_ID | HANDLE_A, &c), false))
		return type_find_slow(type);
	return (struct type_view){c.id, c.a};
}

INLINE uint64_t bytes_of(uint64_t count, MPI_Datatype type)
{
	struct handle_cached c;
	if (__builtin_expect(!handle_cache_get(&type_cache, type_bits(type), HANDLE_A, &c), false))
		return count * type_find_slow(type).size_bytes;
	return count * c.a;
}

/* As a signature records it: of a type without a number, bytes. */
INLINE uint64_t count_of(struct type_view type, uint64_t count)
{
	return __builtin_expect(type.id != MPIC_NO_TYPE, true) ? count : count * type.size_bytes;
}
