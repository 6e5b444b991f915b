/* clocks.c - how far off nodes' times are, in simulated cases (tests/unit/clock_cases.h): by the analysis, and by
 * MPEye's method, which sets each clock once, at the begin. Prints the table of docs/LABORATORY.md. Usage: clocks
 * [cases of each kind] */
#include "tests/unit/clock_cases.h"

#include "base/units.h"
#include "base/vec.h"

#include <math.h>
#include <stdio.h>

typedef VEC(double) values;

struct column {
	values ours, start, bound;
	unsigned outside; /* cases in which the truth is not within the bound */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static struct fmt share_of(const values *v, double share)
{
	size_t at = (size_t)(share * (double)v->n);
	return fmt_time(v->n == 0 ? NAN : v->at[at < v->n ? at : v->n - 1] / 1e9);
}

static int add_case(struct column *c, enum case_kind kind, uint64_t seed)
{
	struct clock_outcome o = clock_case(kind, seed);
	int code = vec_push(&c->bound, o.bound_ns);
	c->outside += !(o.worst_ns <= o.bound_ns + 2);
	for (unsigned i = 1; i < o.nodes; i++)
		for (unsigned k = 0; k < CASE_TIMES && code == 0; k++) {
			code = vec_push(&c->ours, o.ours_ns[i][k]);
			code = code == 0 ? vec_push(&c->start, o.start_ns[i][k]) : code;
		}
	return code;
}

static int print_kind(enum case_kind kind, unsigned cases)
{
	struct column c = {.outside = 0};
	int code = 0;
	for (uint64_t seed = 1; seed <= cases && code == 0; seed++)
		code = add_case(&c, kind, seed);
	vec_sort(&c.ours, by_value);
	vec_sort(&c.start, by_value);
	vec_sort(&c.bound, by_value);
	printf("| %s | %s | %s | %s | %s | %s | %u |\n", case_names[kind], share_of(&c.ours, 0.5).s,
	       share_of(&c.ours, 0.95).s, share_of(&c.start, 0.5).s, share_of(&c.start, 0.95).s,
	       share_of(&c.bound, 0.5).s, c.outside);
	vec_done(&c.ours);
	vec_done(&c.start);
	vec_done(&c.bound);
	return code;
}

int main(int argc, char **argv)
{
	unsigned long cases = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	puts("| clocks | median | 95 % | MPEye: median | 95 % | bound, median | cases outside "
	     "|\n|---|---|---|---|---|---|---|");
	for (unsigned kind = 0; kind < CASE_KINDS; kind++)
		if (print_kind((enum case_kind)kind, (unsigned)cases) < 0)
			return 1;
	return 0;
}
