/* postproc_lines.c - call sites are resolved in this very program, whose lines are known. */
#include "postproc/lines/apart.h"
#include "postproc/lines/lines.h"
#include "postproc/lines/python_name.h"
#include "postproc/lines/unwind.h"

#include <criterion/criterion.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static __attribute__((noinline)) uint64_t return_address(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr; /* the program itself comes first */
	return 1;
}

static __attribute__((noinline)) uint64_t call_here(int *ret_line)
{
	*ret_line = __LINE__ + 1;
	uint64_t address = return_address();
	__asm__ volatile("" ::: "memory"); /* keeps the call from becoming a jump */
	return address;
}

static void make_step(struct step *s, uint64_t address, const char *build_id)
{
	char path[4096] = "";
	uint64_t bias = 0;
	struct module m = {0};
	dl_iterate_phdr(take_bias, &bias);
	cr_assert_gt(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
	m.path = strdup(path);
	cr_assert_lt((size_t)snprintf(m.build_id, sizeof(m.build_id), "%s", build_id), sizeof(m.build_id));
	cr_assert_eq(vec_push(&s->modules, m), 0);
	cr_assert_eq(vec_push(&s->sites, (struct site){.module = 0, .offset = address - bias}), 0);
}

Test(lines, tells_function_file_and_line_of_the_call_not_of_what_follows)
{
	struct step s = {0};
	int line;
	make_step(&s, call_here(&line), "");
	lines_resolve(&s);
	cr_assert_not_null(s.sites.at[0].file);
	cr_expect_not_null(strstr(s.sites.at[0].file, "postproc_lines.c"));
	cr_expect_eq(s.sites.at[0].line, line);
	cr_expect_str_eq(s.sites.at[0].function, "call_here");
	step_done(&s);
}

Test(lines, takes_nothing_from_a_program_that_was_built_anew)
{
	struct step s = {0};
	int line;
	make_step(&s, call_here(&line), "0123456789abcdef");
	lines_resolve(&s);
	cr_expect_null(s.sites.at[0].file);
	cr_expect_null(s.sites.at[0].function);
	step_done(&s);
}

Test(lines, survives_modules_that_are_gone_or_are_no_programs)
{
	struct step s = {0};
	const char *const paths[] = {"/nonexistent", "/dev/zero", "/etc/passwd", "relative", ""};
	for (uint32_t i = 0; i < 5; i++) {
		struct module m = {.path = strdup(paths[i])};
		cr_assert_eq(vec_push(&s.modules, m), 0);
		cr_assert_eq(vec_push(&s.sites, (struct site){.module = i, .offset = 0x1000}), 0);
	}
	lines_resolve(&s);
	for (uint32_t i = 0; i < 5; i++)
		cr_expect_null(s.sites.at[i].function);
	step_done(&s);
}

/* ---- the process in which modules are read ---- */

static void make_two_sites(struct step *s)
{
	cr_assert_eq(vec_push(&s->modules, (struct module){.path = strdup("/nonexistent")}), 0);
	for (uint64_t i = 0; i < 2; i++)
		cr_assert_eq(vec_push(&s->sites, (struct site){.module = 0, .offset = i}), 0);
}

static void die(struct step *s, uint32_t module)
{
	(void)module;
	s->sites.at[0].file = strdup("half");
	raise(SIGSEGV);
}

Test(lines, a_reader_that_dies_costs_names_and_nothing_else)
{
	struct step s = {0};
	make_two_sites(&s);
	apart_resolve(&s, 0, die);
	cr_expect_null(s.sites.at[0].file);
	cr_expect_null(s.sites.at[1].function);
	step_done(&s);
}

/* As somebody would who has taken over the reader. */
static void escape(struct step *s, uint32_t module)
{
	char *argv[] = {"/bin/true", NULL}, path[] = "/tmp/mpitrace-apart-XXXXXX";
	struct rlimit cpu;
	(void)module;
	bool wrote = true, bounded = getrlimit(RLIMIT_CPU, &cpu) == 0 && cpu.rlim_cur < 1000;
	int fd = mkstemp(path); /* of no bytes: that is all it can make */
	unlink(path);
	signal(SIGXFSZ, SIG_IGN);
	wrote = fd >= 0 && write(fd, "x", 1) == 1;
	bool forked = fork() >= 0, ran = execv(argv[0], argv) == 0, talked = socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
	s->sites.at[0].line = 100 + wrote + 2 * forked + 4 * ran + 8 * talked + 16 * !bounded;
	s->sites.at[1].function = strdup("told\xff");
}

Test(lines, a_reader_starts_and_writes_nothing_and_is_bounded)
{
	struct step s = {0};
	if (prctl(PR_GET_SECCOMP) < 0) /* qemu-user: it needs system calls that the program does not make */
		cr_skip_test("this system does not filter system calls");
	make_two_sites(&s);
	apart_resolve(&s, 0, escape);
	cr_expect_eq(s.sites.at[0].line, 100);
	cr_assert_not_null(s.sites.at[1].function);
	cr_expect_str_eq(s.sites.at[1].function, "told?");
	step_done(&s);
}

/* ---- functions of a stripped module, as Python finds them: this program has such arrays too ---- */

#define MODULE "/usr/lib/python3/dist-packages/pack/age.cpython-311-x86_64-linux-gnu.so"
#define FLIPS 2000

#ifdef __clang__ /* it clones none */
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

struct method_def {
	const char *name;
	int (*function)(int);
	int flags;
	const char *text;
};

static volatile int depth;

static APART int shared(int n)
{
	depth += n;
	return depth * 3;
}

static APART int only_receive(int n)
{
	int rc = shared(n + 1);
	return rc + depth;
}

static APART int send_it(int n)
{
	return shared(n) + depth;
}

static APART int receive_it(int n)
{
	return only_receive(n) + depth;
}

static APART int rank_of(int n)
{
	return n + depth + 7;
}

static APART int by_pointer(int n)
{
	return n + depth + 11;
}

static APART int no_word(int n)
{
	return n + depth + 29;
}

static APART int named_at_length(int n)
{
	return n + depth + 13;
}

static APART int named_too_long(int n)
{
	return n + depth + 17;
}

#define TEN(x) x x x x x x x x x x
#define LONG_NAME "allgather_" TEN("abcdefg") /* 80 bytes */

struct method_def methods[] = {
	{"send", send_it, 3, "Comm.send(self, obj)\nSend it"},
	{"recv", receive_it, 3, "Comm.recv(self)"},
	{"rank", rank_of, 0, "the rank. Of whom?"},
	{"no word", no_word, 0, NULL},
	{LONG_NAME, named_at_length, 3, "Comm." LONG_NAME "(self)"},
	{LONG_NAME LONG_NAME, named_too_long, 3, "Comm." LONG_NAME LONG_NAME "(self)"},
};

/* Of Cython 3: texts have no class, each function stands alone as well, and of the class only the type object knows. */
static APART int bcast_it(int n)
{
	return n + depth + 19;
}

static APART int of_no_class(int n)
{
	return n + depth + 23;
}

struct method_def alone[] = {{"of_module", of_no_class, 3, "of_module(self)"},
			     {"Bcast", bcast_it, 3, "Bcast(self, obj)"}};

struct {
	struct method_def before, none, first, second, last;
} of_class = {
	.before = {"rank", rank_of, 0, NULL},
	.first = {"__reduce__", by_pointer, 3, NULL},
	.second = {"Bcast", bcast_it, 3, "Bcast(self, obj)"},
};

struct {
	uint64_t counted[3];
	const char *name;
	uint64_t between[25];
	struct method_def *methods;
} type_object = {.name = "pack.age.Intracomm", .methods = &of_class.first};

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	cr_assert_not_null(f, "%s", path);
	char *image = NULL;
	size_t n = 0, got;
	do {
		image = realloc(image, n + 65536);
		got = fread(image + n, 1, 65536, f);
		n += got;
	} while (got > 0);
	fclose(f);
	*ret_len = n;
	return image;
}

static char *read_self(size_t *ret_len)
{
	return read_file("/proc/self/exe", ret_len);
}

static void name_of(Elf *elf, int (*function)(int), char *to)
{
	uint64_t bias = 0;
	dl_iterate_phdr(take_bias, &bias);
	cr_expect(python_function(elf, MODULE, (uint64_t)(uintptr_t)function - bias, to, PYTHON_NAME_MAX));
}

Test(python, functions_are_named_by_the_arrays_that_python_calls_them_through)
{
	size_t len;
	char *image = read_self(&len), name[PYTHON_NAME_MAX];
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory(image, len);
	cr_assert_not_null(elf);
	name_of(elf, send_it, name);
	cr_expect_str_eq(name, "pack.age.Comm.send");
	name_of(elf, only_receive, name);
	cr_expect_str_eq(name, "pack.age.Comm.recv", "it has the name of its only caller, not %s", name);
	name_of(elf, rank_of, name);
	cr_expect_str_eq(name, "pack.age.rank", "a text that is no signature has no class: %s", name);
	name_of(elf, shared, name);
	cr_expect(strcmp(name, "pack.age.Comm.send or Comm.recv") == 0 ||
			  strcmp(name, "pack.age.Comm.recv or Comm.send") == 0,
		  "%s", name);
	name_of(elf, no_word, name);
	cr_expect_eq(strncmp(name, "pack.age+0x", 11), 0, "%s", name);
	name_of(elf, by_pointer, name);
	cr_expect_str_eq(name, "pack.age.Intracomm.__reduce__", "%s", name);
	name_of(elf, bcast_it, name);
	cr_expect_str_eq(name, "pack.age.Intracomm.Bcast", "the class is that of the type with this array, not %s",
			 name);
	name_of(elf, of_no_class, name);
	cr_expect_str_eq(name, "pack.age.of_module", "no type has it: %s", name);
	cr_expect_not(python_function(elf, "/usr/lib/libx.so", 0x1000, name, sizeof(name)));
	cr_expect_not(python_function(NULL, MODULE, 0x1000, name, sizeof(name)));
	elf_end(elf);
	free(image);
}

/* A trace may be analyzed on another machine than the one that it comes from. */
Test(python, functions_of_a_module_for_aarch64_are_named_wherever_it_is_read)
{
	static const struct {
		uint64_t start;
		const char *name;
	} functions[] = {
		{0x3a8, "pack.age.Comm.send"},
		{0x3c8, "pack.age.Comm.recv"},
		{0x384, "pack.age.Comm.recv"},
		{0x3e8, "pack.age.Intracomm.Bcast"},
	};
	size_t len;
	char path[512], name[PYTHON_NAME_MAX];
	snprintf(path, sizeof(path), "%s/modules/age.so", getenv("MPITRACE_CORPUS"));
	char *image = read_file(path, &len);
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory(image, len);
	cr_assert_not_null(elf);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		cr_expect(python_function(elf, MODULE, functions[i].start, name, sizeof(name)));
		cr_expect_str_eq(name, functions[i].name, "%s", name);
	}
	cr_expect(python_function(elf, MODULE, 0x368, name, sizeof(name)));
	cr_expect(strcmp(name, "pack.age.Comm.send or Comm.recv") == 0 ||
			  strcmp(name, "pack.age.Comm.recv or Comm.send") == 0,
		  "%s", name);
	elf_end(elf);
	free(image);
}

/* What is shown is a name of the module or none: a cut one might be that of another function. */
Test(python, a_long_name_is_shown_whole_or_not_at_all)
{
	size_t len;
	char *image = read_self(&len), name[PYTHON_NAME_MAX];
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory(image, len);
	cr_assert_not_null(elf);
	name_of(elf, named_at_length, name);
	cr_expect_str_eq(name, "pack.age.Comm." LONG_NAME);
	name_of(elf, named_too_long, name);
	cr_expect_eq(strncmp(name, "pack.age+0x", 11), 0, "%s", name);
	elf_end(elf);
	free(image);
}

#define BAD_BYTES 20

Test(python, damaged_modules_hurt_nobody, .timeout = 300)
{
	size_t len;
	char *image = read_self(&len), name[PYTHON_NAME_MAX], good[BAD_BYTES];
	size_t bad[BAD_BYTES];
	uint64_t seed = 20231121;
	elf_version(EV_CURRENT);
	for (int i = 0; i < FLIPS; i++) {
		for (int k = 0; k < BAD_BYTES; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			size_t span = k < 4 ? 0x400 : len; /* headers first */
			size_t at = (seed >> 20) % span;
			bad[k] = k < 2 ? at : len - 1 - at;
			good[k] = image[bad[k]];
			image[bad[k]] = (char)(seed >> 12);
		}
		size_t cut = i % 4 == 0 ? (seed >> 20) % len : len;
		Elf *elf = elf_memory(image, cut);
		uint64_t start = unwind_start(elf, (seed >> 30) % len);
		if (elf != NULL && python_function(elf, MODULE, start, name, sizeof(name)))
			cr_assert_lt(strlen(name), sizeof(name));
		elf_end(elf);
		for (int k = BAD_BYTES; k-- > 0;)
			image[bad[k]] = good[k];
	}
	free(image);
}
