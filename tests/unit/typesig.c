/* typesig.c - signatures of datatypes agree exactly when the sequences of basic types do. */
#include "format/typesig.h"

#include <criterion/criterion.h>

static struct typesig basic(const char *name)
{
	uint64_t len = 0;
	while (name[len] != '\0')
		len++;
	return typesig_basic(name, len);
}

static int same(struct typesig a, struct typesig b)
{
	return a.hash == b.hash && a.elements == b.elements;
}

Test(typesig, a_sequence_does_not_remember_how_it_was_made)
{
	struct typesig i = basic("MPI_INT"), d = basic("MPI_DOUBLE"), six = {0, 0};
	for (int k = 0; k < 6; k++)
		six = typesig_concat(six, i);
	cr_assert(same(six, typesig_repeat(i, 6)));
	cr_assert(same(six, typesig_repeat(typesig_repeat(i, 3), 2)));
	cr_assert(same(six, typesig_concat(typesig_repeat(i, 5), i)));
	struct typesig pair = typesig_concat(i, d), left = typesig_concat(pair, pair);
	cr_assert(same(left, typesig_concat(i, typesig_concat(d, pair))));
	cr_assert(same(typesig_repeat(pair, 1ull << 40), typesig_concat(typesig_repeat(pair, (1ull << 40) - 1), pair)));
}

Test(typesig, order_number_and_kind_tell_sequences_apart)
{
	struct typesig i = basic("MPI_INT"), d = basic("MPI_DOUBLE");
	cr_assert(!same(i, d));
	cr_assert(!same(typesig_concat(i, d), typesig_concat(d, i)));
	cr_assert(!same(typesig_repeat(i, 5), typesig_repeat(i, 6)));
	cr_assert(!same(typesig_repeat(typesig_concat(i, d), 2),
			typesig_concat(typesig_repeat(i, 2), typesig_repeat(d, 2))));
}

Test(typesig, nothing_is_neutral)
{
	struct typesig i = basic("MPI_INT"), nothing = {0, 0};
	cr_assert(same(typesig_repeat(i, 0), nothing));
	cr_assert(same(typesig_concat(nothing, i), i));
	cr_assert(same(typesig_concat(i, nothing), i));
}
