/* numbers.c - what of math.h and stdlib.h an import needs. Numbers with a point are printed and read by the page,
 * which is the one thing that a module asks of it (src/decode/foreign.ts). */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

/* Of the page: text of a number, as "%.*f" or "%.*g" say (is_fixed), and the number of a text. Both end with a zero. */
__attribute__((import_module("page"), import_name("print"))) void page_print(double value, int digits, bool is_fixed,
									     char *to);
__attribute__((import_module("page"), import_name("parse"))) double page_parse(const char *text);

void print_double(double value, int digits, bool is_fixed, char *to)
{
	page_print(value, digits, is_fixed, to);
}

double strtod(const char *text, char **ret_end)
{
	(void)ret_end; /* nobody here asks */
	return page_parse(text);
}

#define BIAS 1022 /* of an exponent: such that the fraction is in [1/2, 1) */
#define EXPONENT_BITS (0x7ffull << 52)

double frexp(double value, int *ret_two)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	*ret_two = 0;
	if (value == 0 || !isfinite(value))
		return value;
	*ret_two = (int)((bits & EXPONENT_BITS) >> 52) - BIAS;
	if ((bits & EXPONENT_BITS) == 0) { /* subnormal */
		value = frexp(value * 0x1p64, ret_two);
		*ret_two -= 64;
		return value;
	}
	bits = (bits & ~EXPONENT_BITS) | (uint64_t)BIAS << 52;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

double ldexp(double value, int two)
{
	for (; two > 0; two--)
		value *= 2;
	for (; two < 0; two++)
		value /= 2;
	return value;
}

long long llround(double value)
{
	double whole = __builtin_trunc(value);
	return (long long)(__builtin_fabs(value - whole) >= 0.5 ? whole + (value < 0 ? -1 : 1) : whole);
}
