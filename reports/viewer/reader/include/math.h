/* math.h - for reader/: instructions of the processor, and library.c. */
#pragma once
#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#define isnan(x) __builtin_isnan(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)
#define fabs(x) __builtin_fabs(x)
#define floor(x) __builtin_floor(x)
#define fmax(x, y) ((x) > (y) ? (x) : (y))
double frexp(double value, int *ret_two);
double ldexp(double value, int two);
long long llround(double value);
