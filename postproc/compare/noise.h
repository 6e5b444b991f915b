/* noise.h - is a difference larger than runs differ by chance? */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NOISE_ALPHA 0.05 /* how often a table names any difference where there is none */

double noise_mean(const double *x, size_t n);
/* Standard deviation of one value; NAN of fewer than two. */
double noise_spread(const double *x, size_t n);
/* How likely two groups of runs that do not differ have means so far apart: Welch's t test, two-sided. Where one
 * group has one run only, its noise is taken to be as large as the other's. NAN where each has one, or a value is not
 * known. */
double noise_p(const double *a, size_t na, const double *b, size_t nb);
/* Which of n differences are beyond noise, if all are asked about at once: Holm's correction. NAN is never. */
void noise_judge(const double *p, size_t n, bool *ret_beyond);
/* Two-sided probability of a value as large as t in Student's distribution. */
double noise_student(double t, double degrees);
