/* postproc_leaks.c - what a program made and never freed is named where it was made, and what it freed is not. */
#include "step_analysis.h"
#include "base/json.h"

#include <criterion/criterion.h>

static struct program *p;
static double now_us;

static struct call call(const char *op, unsigned line)
{
	now_us += 10;
	return (struct call){.op = op, .from_us = now_us, .to_us = now_us + 1, .line = line};
}

static void begin(void)
{
	now_us = 0;
	p = program_create(1, 1);
}

static cJSON *analysed(void)
{
	return analyse_program(p, now_us + 100);
}

static double counted(const cJSON *root, const char *kind)
{
	const cJSON *row = find_text(root, "correctness", "kind", kind);
	return row != NULL ? field(row, "count") : 0;
}

static void comm(const char *op, uint32_t parent, uint32_t made)
{
	uint64_t word = sig_pair(parent, made);
	program_words(p, 0, call(op, made == SIG_NO_COMM ? 2 : 1), SIG_COMM, 0, &word, 1);
}

TestSuite(leaks, .init = begin);

Test(leaks, communicators_are_freed_or_disconnected)
{
	for (uint32_t id = 5; id < 9; id++)
		comm("MPI_Comm_dup", 0, id);
	comm("MPI_Comm_free", 5, SIG_NO_COMM);
	comm("MPI_Comm_disconnect", 6, SIG_NO_COMM);
	comm("MPI_Comm_split", 7, SIG_NO_COMM); /* of which this rank is no member: it ends nothing */
	cJSON *root = analysed();
	cr_expect_eq(counted(root, "communicator_leak"), 2);
	cJSON_Delete(root);
}

Test(leaks, what_was_not_made_here_need_not_be_freed)
{
	comm("MPI_Comm_free", 0, SIG_NO_COMM);
	cJSON *root = analysed();
	cr_expect_eq(counted(root, "communicator_leak"), 0);
	cJSON_Delete(root);
}

static void type(const char *op, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		program_words(p, 0, call(op, 3), SIG_TIME, 0, NULL, 0);
}

Test(leaks, datatypes_are_counted_against_those_that_were_freed)
{
	type("MPI_Type_contiguous", 3);
	type("MPI_Type_create_struct_c", 2);
	type("MPI_Type_create_f90_real", 4); /* predefined */
	type("MPI_Type_vectors", 7);	     /* no such call */
	type("MPI_Type_commit", 5);
	type("MPI_Type_free", 4);
	cJSON *root = analysed();
	cr_expect_eq(counted(root, "datatype_leak"), 1);
	cJSON_Delete(root);
}

/* By call site, "" where none is named: how many. */
static double left_at(const cJSON *root, const char *op)
{
	double n = 0;
	for (const cJSON *d = json_first(root, "correctness"); d != NULL; d = d->next) {
		const cJSON *sites = cJSON_GetObjectItem(d, "callsites");
		const char *made = "";
		for (const cJSON *s = json_first(root, "callsites"); s != NULL && cJSON_GetArraySize(sites) > 0;
		     s = s->next)
			if (json_number_or(s, "id", -1) == json_number_of(cJSON_GetArrayItem(sites, 0)))
				made = json_text(s, "op", "");
		if (strcmp(json_text(d, "kind", ""), "datatype_leak") == 0 && strcmp(made, op) == 0)
			n += json_number_or(d, "count", 0);
	}
	return n;
}

Test(leaks, a_place_has_the_types_that_it_made_itself)
{
	type("MPI_Type_contiguous", 3);
	for (unsigned i = 0; i < 2; i++)
		program_words(p, 0, call("MPI_Type_vector", 9), SIG_TIME, 0, NULL, 0);
	cJSON *root = analysed();
	cr_expect_eq(left_at(root, "MPI_Type_contiguous"), 3);
	cr_expect_eq(left_at(root, "MPI_Type_vector"), 2);
	cJSON_Delete(root);
}

Test(leaks, of_several_kinds_of_calls_some_of_whose_types_were_freed_none_is_named)
{
	type("MPI_Type_contiguous", 3);
	for (unsigned i = 0; i < 2; i++)
		program_words(p, 0, call("MPI_Type_vector", 9), SIG_TIME, 0, NULL, 0);
	type("MPI_Type_free", 1);
	cJSON *root = analysed();
	cr_expect_eq(left_at(root, ""), 4);
	cr_expect_eq(counted(root, "datatype_leak"), 4);
	cJSON_Delete(root);
}

Test(leaks, the_only_kind_of_call_that_made_as_many_as_are_left_is_named)
{
	type("MPI_Type_contiguous", 3);
	for (unsigned i = 0; i < 2; i++)
		program_words(p, 0, call("MPI_Type_vector", 9), SIG_TIME, 0, NULL, 0);
	type("MPI_Type_free", 2);
	cJSON *root = analysed();
	cr_expect_eq(left_at(root, "MPI_Type_contiguous"), 3);
	cr_expect_eq(left_at(root, "MPI_Type_vector"), 0);
	cJSON_Delete(root);
}

Test(leaks, as_many_frees_as_types_are_none)
{
	type("MPI_Type_dup", 2);
	type("MPI_Type_free", 2);
	cJSON *root = analysed();
	cr_expect_eq(counted(root, "datatype_leak"), 0);
	cJSON_Delete(root);
}

Test(leaks, windows_and_files_are_closed)
{
	for (int i = 0; i < 2; i++) {
		uint32_t window = program_window(p, 0), file = program_file(p, 0);
		program_rma(p, 0, call("MPI_Win_create", 4),
			    (struct one_sided){.kind = RMA_CREATE, .window = window, .target = SIG_ANY});
		program_io(p, 0, call("MPI_File_open", 5), IO_OPEN, file, IO_COLLECTIVE);
		if (i == 0) {
			program_rma(p, 0, call("MPI_Win_free", 6),
				    (struct one_sided){.kind = RMA_FREE, .window = window, .target = SIG_ANY});
			program_io(p, 0, call("MPI_File_close", 7), IO_CLOSE, file, IO_COLLECTIVE);
		}
	}
	cJSON *root = analysed();
	cr_expect_eq(counted(root, "window_leak"), 1);
	cr_expect_eq(counted(root, "file_leak"), 1);
	cJSON_Delete(root);
}

Test(leaks, of_a_rank_that_died_nothing_is_said)
{
	comm("MPI_Comm_dup", 0, 5);
	type("MPI_Type_dup", 2);
	program_killed(p, 0, 9);
	cJSON *root = analysed();
	cr_expect_eq(counted(root, "communicator_leak") + counted(root, "datatype_leak"), 0);
	cJSON_Delete(root);
}

Test(leaks, a_call_that_failed_made_nothing_and_is_an_error)
{
	struct call c = call("MPI_Comm_dup", 1);
	uint64_t word = sig_pair(0, 5);
	c.flags = SIG_FAILED;
	program_words(p, 0, c, SIG_COMM, 0, &word, 1);
	cJSON *root = analysed();
	cr_expect_eq(counted(root, "communicator_leak"), 0);
	cr_expect_eq(counted(root, "error_returned"), 1);
	cJSON_Delete(root);
}
