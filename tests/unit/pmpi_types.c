/* pmpi_types.c - the signature of a datatype out of what an MPI says of how it was made: the answers stand here, a row
 * a type. */
#include "traced.h"

#include "pmpi/typesig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum type { INT, FLOAT, LONG, PACKED, SMALL_PAIR, FLOAT_INT, TWO_INT, REAL, NOTHING, NAMELESS, MADE };

static struct row {
	int combiner;
	const char *name;
	int bytes;
	int n, blocks[4], of[4]; /* types that it was made of */
} rows[64] = {
	[INT] = {MPI_COMBINER_NAMED, "MPI_INT", 4, 0, {0}, {0}},
	[FLOAT] = {MPI_COMBINER_NAMED, "MPI_FLOAT", 4, 0, {0}, {0}},
	[LONG] = {MPI_COMBINER_NAMED, "MPI_LONG", 8, 0, {0}, {0}},
	[PACKED] = {MPI_COMBINER_NAMED, "MPI_PACKED", 1, 0, {0}, {0}},
	[SMALL_PAIR] = {MPI_COMBINER_NAMED, "MPI_SHORT_INT", 6, 0, {0}, {0}},
	[FLOAT_INT] = {MPI_COMBINER_NAMED, "MPI_FLOAT_INT", 8, 0, {0}, {0}},
	[TWO_INT] = {MPI_COMBINER_NAMED, "MPI_2INT", 8, 0, {0}, {0}},
	[REAL] = {MPI_COMBINER_F90_REAL, "MPI_REAL", 4, 0, {0}, {0}},
	[NOTHING] = {MPI_COMBINER_CONTIGUOUS, "", 0, 1, {0}, {INT}},
	[NAMELESS] = {MPI_COMBINER_NAMED, "", 4, 0, {0}, {0}},
};
static int freed[64];

static int get_envelope(MPI_Datatype type, MPI_Count *ints, MPI_Count *addresses, MPI_Count *counts, MPI_Count *types,
			int *combiner)
{
	const struct row *r = &rows[type];
	*ints = r->n > 0 ? r->n + 1 : 0;
	*addresses = *types = r->n;
	*counts = 0;
	*combiner = r->combiner;
	return MPI_SUCCESS;
}

static int get_contents(MPI_Datatype type, MPI_Count nints, MPI_Count naddresses, MPI_Count ncounts, MPI_Count ntypes,
			int ints[], MPI_Aint addresses[], MPI_Count counts[], MPI_Datatype types[])
{
	const struct row *r = &rows[type];
	(void)naddresses, (void)ncounts, (void)counts;
	for (int i = 0; i < ntypes; i++) {
		addresses[i] = -1;
		types[i] = r->of[i];
	}
	for (int i = 1; i < nints; i++)
		ints[i] = r->blocks[i - 1];
	ints[0] = r->n;
	return MPI_SUCCESS;
}

static int get_name(MPI_Datatype type, char *name, int *len)
{
	*len = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", rows[type].name);
	return MPI_SUCCESS;
}

static int size_of(MPI_Datatype type, MPI_Count *bytes)
{
	*bytes = rows[type].bytes;
	return MPI_SUCCESS;
}

static int free_type(MPI_Datatype *type)
{
	freed[*type]++;
	return MPI_SUCCESS;
}

static void begin(void)
{
	pmpi.MPI_Type_get_envelope_c = get_envelope;
	pmpi.MPI_Type_get_contents_c = get_contents;
	pmpi.MPI_Type_get_name = get_name;
	pmpi.MPI_Type_size_x = size_of;
	pmpi.MPI_Type_free = free_type;
}

TestSuite(datatypes, .init = begin);

static struct typesig basic(const char *name)
{
	return typesig_basic(name, strlen(name));
}

static void is(MPI_Datatype type, struct typesig expected)
{
	struct typesig sig = typesig_of(type);
	cr_expect_eq(sig.elements, expected.elements, "type %d: %llu elements", type, (unsigned long long)sig.elements);
	cr_expect_eq(sig.hash, expected.hash, "type %d", type);
}

Test(datatypes, pairs_are_the_two_that_they_are_made_of)
{
	is(FLOAT_INT, typesig_concat(basic("MPI_FLOAT"), basic("MPI_INT")));
	is(SMALL_PAIR, typesig_concat(basic("MPI_SHORT"), basic("MPI_INT")));
	is(TWO_INT, typesig_repeat(basic("MPI_INT"), 2));
	is(INT, basic("MPI_INT"));
	is(REAL, basic("MPI_REAL"));
	is(PACKED, (struct typesig){0});
	is(NAMELESS, (struct typesig){0});
}

Test(datatypes, made_of_one_are_as_many_of_it_as_fit)
{
	rows[MADE] = (struct row){MPI_COMBINER_CONTIGUOUS, "", 12, 1, {3}, {INT}};
	rows[MADE + 1] = (struct row){MPI_COMBINER_VECTOR, "", 24, 1, {2}, {MADE}};
	is(MADE, typesig_repeat(basic("MPI_INT"), 3));
	is(MADE + 1, typesig_repeat(basic("MPI_INT"), 6));
	cr_expect_eq(freed[MADE], 1, "what MPI gave a handle of");
	cr_expect_eq(freed[INT], 0, "which is not ours");
}

Test(datatypes, of_a_struct_are_its_blocks_one_after_the_other)
{
	rows[MADE] = (struct row){MPI_COMBINER_STRUCT, "", 20, 4, {2, 0, 7, 1}, {INT, LONG, NOTHING, LONG}};
	is(MADE, typesig_concat(typesig_repeat(basic("MPI_INT"), 2), basic("MPI_LONG")));
	rows[MADE] = (struct row){MPI_COMBINER_STRUCT, "", 8, 1, {2}, {FLOAT}};
	is(MADE, typesig_repeat(basic("MPI_FLOAT"), 2));
	rows[MADE] = (struct row){MPI_COMBINER_STRUCT, "", 5, 2, {1, 1}, {INT, PACKED}};
	is(MADE, (struct typesig){0});
}

Test(datatypes, made_of_others_more_often_than_anyone_does_are_not_known)
{
	for (int i = 0; i <= 33; i++)
		rows[MADE + i] = (struct row){MPI_COMBINER_DUP, "", 4, 1, {0}, {i == 0 ? INT : MADE + i - 1}};
	is(MADE + 31, basic("MPI_INT"));
	is(MADE + 32, (struct typesig){0});
}

Test(datatypes, without_a_size_are_nothing)
{
	rows[MADE] = (struct row){MPI_COMBINER_CONTIGUOUS, "", 12, 1, {3}, {NOTHING}};
	is(MADE, (struct typesig){0});
	is(NOTHING, (struct typesig){0});
}

Test(datatypes, that_stay_as_long_as_mpi_are_named_or_of_fortran)
{
	cr_expect(typesig_is_predefined(INT));
	cr_expect(typesig_is_predefined(REAL));
	cr_expect_not(typesig_is_predefined(NOTHING));
}
