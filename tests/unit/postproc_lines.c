/* postproc_lines.c - call sites are resolved in this very program, whose lines are known. */
#include "postproc/lines.h"

#include <criterion/criterion.h>
#include <link.h>
#include <string.h>
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
	strcpy(m.build_id, build_id);
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
