/* postproc_names.c - names of functions for people; symbols come from files of others. */
#include "postproc/lines/modules_shown.h"
#include "postproc/read/names.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_MAX_BYTES (1u << 20)
#define GARBAGE 200000

static void expect_names(const char *symbol, const char *full, const char *shown)
{
	char *name = name_readable(symbol), *text = name_short(name);
	cr_expect_str_eq(name, full);
	if (shown == NULL)
		cr_expect_null(text, "%s is short, not %s", name, text);
	else
		cr_expect_str_eq(text, shown);
	free(name);
	free(text);
}

Test(names, names_of_cxx_are_readable)
{
	expect_names("_ZN4ring4HaloIiE8exchangeEii", "ring::Halo<int>::exchange(int, int)",
		     "ring::Halo<int>::exchange");
	expect_names("_ZN4ring4HaloIiE8exchangeEii.isra.0.cold", "ring::Halo<int>::exchange(int, int)",
		     "ring::Halo<int>::exchange");
	expect_names("_ZL6throwsv", "throws()", "throws");
	expect_names("_Z3sumIiET_S0_", "int sum<int>(int)", "sum<int>");
	expect_names("_ZN12_GLOBAL__N_17At_exitD2Ev", "(anonymous namespace)::At_exit::~At_exit()",
		     "(anonymous namespace)::At_exit::~At_exit");
	expect_names("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const",
		     "main::{lambda#1}::operator()");
	expect_names("_ZlsRSoRK1A", "operator<<(std::ostream&, A const&)", "operator<<");
	expect_names("_ZltIiEbT_S0_", "bool operator< <int>(int, int)", "operator< <int>");
	expect_names("_ZN1AcviEv", "A::operator int()", "A::operator int");
}

Test(names, other_names_stay_as_they_are)
{
	static const char *const names[] = {"main",
					    "MAIN__",
					    "__halo_MOD_exchange",
					    "foo.isra.0",
					    "_Z",
					    "_Zfoo",
					    "",
					    "_RNvCs1234_7mycrate3foo",
					    "_ZN4core3fmt5write17h0123456789abcdefE",
					    "__pyx_pw_",
					    "__pyx_pw_99",
					    "__pyx_pymod_exec_MPI",
					    "__pyx_f_5"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		expect_names(names[i], names[i], NULL);
}

Test(names, names_of_cython_are_those_of_python)
{
	expect_names("__pyx_pw_6mpi4py_3MPI_4Comm_67send", "mpi4py.MPI.Comm.send", NULL);
	expect_names("__pyx_pf_6mpi4py_3MPI_4Comm_4send", "mpi4py.MPI.Comm.send", NULL);
	expect_names("__pyx_pf_6mpi4py_3MPI_4Comm_66send.isra.0", "mpi4py.MPI.Comm.send", NULL);
	expect_names("__pyx_f_6mpi4py_3MPI_PyMPI_send", "mpi4py.MPI.PyMPI_send", NULL);
	expect_names("__pyx_pw_6mpi4py_3MPI_4Comm_4send_all", "mpi4py.MPI.Comm.send.all", NULL);
}

Test(names, long_templates_are_folded_and_longer_ones_lose_their_beginning)
{
	char *text =
		name_short("std::vector<std::map<std::string, std::vector<double, std::allocator<double> > > > "
			   "ring::Halo<std::vector<std::map<std::string, int> >, 3ul>::exchange<double>(int) const");
	cr_expect_str_eq(text, "ring::Halo<>::exchange<>");
	free(text);
	char name[400];
	for (size_t i = 0; i < 390; i += 3)
		memcpy(name + i, "a::", 3);
	snprintf(name + 390, sizeof(name) - 390, "last()");
	text = name_short(name);
	cr_expect_eq(strlen(text), NAME_SHORT_MAX);
	cr_expect_eq(strncmp(text, "...", 3), 0);
	cr_expect_str_eq(text + NAME_SHORT_MAX - 6, "::last");
	free(text);
}

/* Each letter doubles what the one before unfolds to: all memory, if nobody stops it. */
Test(names, a_symbol_that_unfolds_without_end_is_cut, .timeout = 20)
{
	char symbol[1024] = "_Z1f1AI1BS0_E";
	for (unsigned i = 1; i < 36; i++) {
		char digit = (char)(i < 10 ? '0' + i : 'A' + i - 10);
		size_t n = strlen(symbol);
		snprintf(symbol + n, sizeof(symbol) - n, "S_IS%c_S%c_E", digit, digit);
	}
	char *name = name_readable(symbol);
	cr_expect_eq(strlen(name), NAME_FULL_MAX + 3);
	cr_expect_str_eq(name + NAME_FULL_MAX, "...");
	free(name_short(name));
	free(name);
}

Test(names, very_long_symbols_are_bounded)
{
	static const char *const starts[] = {"_Z", "_ZN", "_Z1f", "_Z1fI", "__pyx_pw_", "__pyx_f_1a_", "x", "f(", "f<"};
	static const char *const pieces[] = {"P",      "1a", "I", "N1a",      "S_", "9",
					     "4Comm_", "(",  "<", "operator", "L",  "X"};
	char *symbol = malloc(LONG_MAX_BYTES + 64);
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		for (size_t k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++)
			for (size_t len = 500; len < LONG_MAX_BYTES; len *= 6) {
				size_t n = strlen(starts[i]), step = strlen(pieces[k]);
				memcpy(symbol, starts[i], n);
				for (; n + step < len; n += step)
					memcpy(symbol + n, pieces[k], step);
				symbol[n] = '\0';
				char *name = name_readable(symbol), *text = name_short(name);
				cr_assert_leq(strlen(name), NAME_FULL_MAX + 3);
				cr_assert(text == NULL || strlen(text) <= NAME_SHORT_MAX);
				cr_assert(text != NULL || strlen(name) <= NAME_SHORT_MAX);
				free(name);
				free(text);
			}
	free(symbol);
}

Test(names, garbage_hurts_nobody, .timeout = 60)
{
	static const char letters[] = "_ZNKSIEPRLXTt0123459aifvjlmncDpUlJ.$<>() :";
	uint64_t seed = 20231121;
	char symbol[256];
	for (int i = 0; i < GARBAGE; i++) {
		size_t n = 3;
		memcpy(symbol, "_ZN", 3);
		for (seed = seed * 6364136223846793005u + 1442695040888963407u; n < 4 + (seed >> 33) % 200; n++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			symbol[n] = letters[(seed >> 33) % (sizeof(letters) - 1)];
		}
		symbol[n] = '\0';
		char *name = name_readable(symbol + (i % 3 == 0 ? 3 : 0)), *text = name_short(name);
		cr_assert_leq(strlen(name), NAME_FULL_MAX + 3);
		cr_assert(text == NULL || strlen(text) <= NAME_SHORT_MAX);
		free(name);
		free(text);
	}
}

Test(names, modules_of_python_have_their_name_there)
{
	static const char *const names[][2] = {
		{"/usr/lib/python3/dist-packages/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so", "mpi4py/MPI"},
		{"/home/a/venv/lib/python3.11/site-packages/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so", "mpi4py/MPI"},
		{"/site-packages/x/site-packages/h5py/defs.abi3.so", "h5py/defs"},
		{"/opt/MPI.cpython-39.so", "MPI"},
		{"/usr/lib/libfoo.so", NULL},
		{"/usr/bin/python3.11", NULL},
		{"/x.cpython-1/y.so", NULL},
		{"/site-packages/.cpython-3.so", NULL},
		{"", NULL},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *name = module_short(names[i][0]);
		cr_expect(names[i][1] == NULL ? name == NULL : name != NULL && strcmp(name, names[i][1]) == 0, "%s: %s",
			  names[i][0], name);
		free(name);
	}
}
