/* typesig.c - the signature of a datatype, from what MPI says about how it was made. Types it was made of may be
 * freed by then; MPI_Type_get_contents gives equal ones. */
#include "pmpi/typesig.h"

#include "pmpi/segfile.h"

#include <string.h>
#include <sys/mman.h>

#define DEPTH_MAX 32 /* types made of types; deeper ones are not known */

static const struct typesig unknown;

/* Pairs of the standard's 6.9.4 are two basic types. */
static struct typesig named(MPI_Datatype type)
{
	static const char *const pairs[][3] = {
		{"MPI_FLOAT_INT", "MPI_FLOAT", "MPI_INT"},
		{"MPI_DOUBLE_INT", "MPI_DOUBLE", "MPI_INT"},
		{"MPI_LONG_INT", "MPI_LONG", "MPI_INT"},
		{"MPI_2INT", "MPI_INT", "MPI_INT"},
		{"MPI_SHORT_INT", "MPI_SHORT", "MPI_INT"},
		{"MPI_LONG_DOUBLE_INT", "MPI_LONG_DOUBLE", "MPI_INT"},
		{"MPI_2REAL", "MPI_REAL", "MPI_REAL"},
		{"MPI_2INTEGER", "MPI_INTEGER", "MPI_INTEGER"},
		{"MPI_2DOUBLE_PRECISION", "MPI_DOUBLE_PRECISION", "MPI_DOUBLE_PRECISION"},
	};
	char name[MPI_MAX_OBJECT_NAME] = "";
	int len = 0;
	if (pmpi.MPI_Type_get_name(type, name, &len) != MPI_SUCCESS || len <= 0 || strcmp(name, "MPI_PACKED") == 0)
		return unknown;
	for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (strcmp(name, pairs[i][0]) == 0)
			return typesig_concat(typesig_basic(pairs[i][1], strlen(pairs[i][1])),
					      typesig_basic(pairs[i][2], strlen(pairs[i][2])));
	return typesig_basic(name, (uint64_t)len);
}

/* How a type was made. */
struct recipe {
	int combiner;
	MPI_Count nints, naddresses, ncounts, ntypes;
	int *ints;
	MPI_Count *counts; /* in the place of ints where the type was made by a call with large counts */
	MPI_Datatype *types;
	void *map;
	size_t map_bytes;
};

#if MPI_VERSION >= 4
static bool envelope(MPI_Datatype type, struct recipe *r)
{
	return pmpi.MPI_Type_get_envelope_c(type, &r->nints, &r->naddresses, &r->ncounts, &r->ntypes, &r->combiner) ==
	       MPI_SUCCESS;
}

static bool contents(MPI_Datatype type, struct recipe *r, MPI_Aint *addresses)
{
	return pmpi.MPI_Type_get_contents_c(type, r->nints, r->naddresses, r->ncounts, r->ntypes, r->ints, addresses,
					    r->counts, r->types) == MPI_SUCCESS;
}
#else
static bool envelope(MPI_Datatype type, struct recipe *r)
{
	int nints = 0, naddresses = 0, ntypes = 0;
	bool good = pmpi.MPI_Type_get_envelope(type, &nints, &naddresses, &ntypes, &r->combiner) == MPI_SUCCESS;
	r->nints = nints;
	r->naddresses = naddresses;
	r->ntypes = ntypes;
	return good;
}

static bool contents(MPI_Datatype type, struct recipe *r, MPI_Aint *addresses)
{
	return pmpi.MPI_Type_get_contents(type, (int)r->nints, (int)r->naddresses, (int)r->ntypes, r->ints, addresses,
					  r->types) == MPI_SUCCESS;
}
#endif

/* Named types and those of MPI_Type_create_f90_* are predefined: made of nothing, never freed. */
static bool is_predefined(int combiner)
{
	return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
	       combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

static bool open_recipe(MPI_Datatype type, struct recipe *r)
{
	size_t wide = (size_t)(r->naddresses + r->ncounts + r->ntypes) * 8;
	r->map_bytes = wide + (size_t)r->nints * sizeof(int) + 1;
	r->map = memory_reserve(r->map_bytes);
	if (r->map == NULL)
		return false;
	MPI_Aint *addresses = r->map;
	r->counts = (MPI_Count *)(void *)(addresses + r->naddresses);
	r->types = (MPI_Datatype *)(void *)(r->counts + r->ncounts);
	r->ints = (int *)(void *)((uint8_t *)r->map + wide);
	if (contents(type, r, addresses))
		return true;
	munmap(r->map, r->map_bytes);
	return false;
}

static void close_recipe(struct recipe *r)
{
	for (MPI_Count i = 0; i < r->ntypes; i++) {
		struct recipe inner = {0};
		if (envelope(r->types[i], &inner) && !is_predefined(inner.combiner))
			pmpi.MPI_Type_free(&r->types[i]);
	}
	munmap(r->map, r->map_bytes);
}

static struct typesig resolve(MPI_Datatype type, int depth);

/* false: not known. */
static bool append(struct typesig *all, MPI_Datatype type, uint64_t count, int depth)
{
	MPI_Count bytes = 0;
	if (count == 0 || pmpi.MPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes == 0)
		return true;
	struct typesig one = resolve(type, depth + 1);
	*all = typesig_concat(*all, typesig_repeat(one, count));
	return one.elements > 0;
}

static struct typesig resolve_struct(const struct recipe *r, int depth)
{
	struct typesig all = {0, 0};
	for (MPI_Count i = 0; i < r->ntypes; i++) {
		int64_t block = r->ncounts > 0 ? r->counts[1 + i] : r->ints[1 + i];
		if (!append(&all, r->types[i], (uint64_t)block, depth))
			return unknown;
	}
	return all;
}

/* Whatever the constructor, a type made of one type is so many of it as fit into its size. */
static struct typesig resolve_repeated(MPI_Datatype type, const struct recipe *r, int depth)
{
	MPI_Count bytes = 0, inner = 0;
	struct typesig all = {0, 0};
	if (pmpi.MPI_Type_size_x(type, &bytes) != MPI_SUCCESS ||
	    pmpi.MPI_Type_size_x(r->types[0], &inner) != MPI_SUCCESS || inner <= 0)
		return unknown;
	return append(&all, r->types[0], (uint64_t)(bytes / inner), depth) ? all : unknown;
}

static struct typesig resolve(MPI_Datatype type, int depth)
{
	struct recipe r = {0};
	struct typesig sig;
	if (depth > DEPTH_MAX || !envelope(type, &r))
		return unknown;
	if (is_predefined(r.combiner))
		return named(type);
	if (r.ntypes <= 0 || !open_recipe(type, &r))
		return unknown;
	sig = r.ntypes == 1 && r.combiner != MPI_COMBINER_STRUCT ? resolve_repeated(type, &r, depth)
								 : resolve_struct(&r, depth);
	close_recipe(&r);
	return sig;
}

struct typesig typesig_of(MPI_Datatype type)
{
	return resolve(type, 0);
}

bool typesig_is_predefined(MPI_Datatype type)
{
	struct recipe r = {0};
	return envelope(type, &r) && is_predefined(r.combiner);
}
