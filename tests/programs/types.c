/* types.c - datatypes made in all ways, each named for its signature and used once by a send to itself; types in a
 * loop; handles that come back as other types. One rank. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;
static char out[65536], in[65536];

static void use(MPI_Datatype t, int count)
{
	MPI_Request r;
	MPI_Irecv(in, sizeof(in), MPI_BYTE, rank, 0, MPI_COMM_WORLD, &r);
	MPI_Send(out, count, t, rank, 0, MPI_COMM_WORLD);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void done(MPI_Datatype *t, const char *name)
{
	MPI_Type_set_name(*t, (char *)name);
	MPI_Type_commit(t);
	use(*t, 1);
	MPI_Type_free(t);
}

/* Six ints, however they lie. */
static void six_ints(void)
{
	MPI_Datatype t, two, three;
	int lengths[3] = {1, 3, 2}, starts[3] = {0, 4, 9}, sizes[2] = {4, 5}, parts[2] = {2, 3}, from[2] = {1, 1};
	int distribs[1] = {MPI_DISTRIBUTE_BLOCK}, args[1] = {MPI_DISTRIBUTE_DFLT_DARG}, psizes[1] = {1},
	    gsizes[1] = {6};
	MPI_Aint far[3] = {0, 16, 64};
	MPI_Datatype kinds[3] = {MPI_INT, MPI_INT, MPI_INT};
	MPI_Type_contiguous(6, MPI_INT, &t), done(&t, "ints6 contiguous");
	MPI_Type_vector(3, 2, 4, MPI_INT, &t), done(&t, "ints6 vector");
	MPI_Type_create_hvector(2, 3, 64, MPI_INT, &t), done(&t, "ints6 hvector");
	MPI_Type_indexed(3, lengths, starts, MPI_INT, &t), done(&t, "ints6 indexed");
	MPI_Type_create_hindexed(3, lengths, far, MPI_INT, &t), done(&t, "ints6 hindexed");
	MPI_Type_create_indexed_block(3, 2, starts, MPI_INT, &t), done(&t, "ints6 indexed_block");
	MPI_Type_create_hindexed_block(3, 2, far, MPI_INT, &t), done(&t, "ints6 hindexed_block");
	MPI_Type_create_struct(3, lengths, far, kinds, &t), done(&t, "ints6 struct");
	MPI_Type_create_subarray(2, sizes, parts, from, MPI_ORDER_C, MPI_INT, &t), done(&t, "ints6 subarray");
	MPI_Type_create_darray(1, 0, 1, gsizes, distribs, args, psizes, MPI_ORDER_C, MPI_INT, &t),
		done(&t, "ints6 darray");
	MPI_Type_contiguous(3, MPI_INT, &three);
	MPI_Type_dup(three, &two);
	MPI_Type_free(&three); /* before anything made of it is used */
	MPI_Type_create_resized(two, 0, 256, &three);
	MPI_Type_free(&two);
	MPI_Type_contiguous(2, three, &t);
	MPI_Type_free(&three);
	done(&t, "ints6 nested");
}

static void others(void)
{
	MPI_Datatype t;
	int ones[2] = {1, 1};
	MPI_Aint far[2] = {0, 8};
	MPI_Datatype int_double[2] = {MPI_INT, MPI_DOUBLE}, double_int[2] = {MPI_DOUBLE, MPI_INT};
	MPI_Type_contiguous(6, MPI_FLOAT, &t), done(&t, "floats6");
	MPI_Type_contiguous(5, MPI_INT, &t), done(&t, "ints5");
	MPI_Type_create_struct(2, ones, far, int_double, &t), done(&t, "int double");
	MPI_Type_create_struct(2, ones, far, double_int, &t), done(&t, "double int");
	MPI_Type_dup(MPI_DOUBLE_INT, &t), done(&t, "double int pair");
	MPI_Type_contiguous(0, MPI_INT, &t), done(&t, "nothing");
	MPI_Type_contiguous(3, MPI_PACKED, &t), done(&t, "packed");
	MPI_Type_create_f90_real(15, MPI_UNDEFINED, &t), use(t, 1);
#if MPI_VERSION >= 4
	MPI_Count lengths[2] = {4, 2}, starts[2] = {0, 8};
	MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
	MPI_Type_contiguous_c(6, MPI_INT, &t), done(&t, "ints6 contiguous_c");
	MPI_Type_indexed_c(2, lengths, starts, MPI_INT, &t), done(&t, "ints6 indexed_c");
	MPI_Type_create_struct_c(2, lengths, starts, ints, &t), done(&t, "ints6 struct_c");
#endif
}

int main(int argc, char **argv)
{
	MPI_Datatype t;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	use(MPI_INT, 6);
	six_ints();
	others();
	for (int i = 0; i < 2000; i++) { /* one meaning, 2000 handles; and handles that come back with another size */
		MPI_Type_vector(7, 1, 2, MPI_SHORT, &t);
		MPI_Type_commit(&t);
		use(t, 1);
		MPI_Type_free(&t);
		MPI_Type_contiguous(1 + i % 3, MPI_CHAR, &t);
		MPI_Type_commit(&t);
		use(t, 2);
		MPI_Type_free(&t);
	}
	MPI_Finalize();
	printf("done\n");
	return 0;
}
