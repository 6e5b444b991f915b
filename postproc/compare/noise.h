/* noise.h - is a difference larger than runs differ by chance? */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NOISE_ALPHA 0.05 /* how often a comparison names any difference where there is none */
#define NOISE_TABLES 9	 /* whose rows are judged together; each may err a ninth as often */
#define NOISE_POWER 0.8	 /* how often what is called the smallest difference to be seen would be seen */
#define NOISE_RUNS_MAX 1000

double noise_mean(const double *x, size_t n);
/* Standard deviation of one value; NAN of fewer than two. */
double noise_spread(const double *x, size_t n);
/* How likely two groups of runs that do not differ have means so far apart: Welch's t test, two-sided. Where one
 * group has one run only, its noise is taken to be as large as the other's. NAN where each has one, or a value is not
 * known. */
double noise_p(const double *a, size_t na, const double *b, size_t nb);
/* The smallest difference of means that groups of na and nb runs which vary as these do would have shown at level alpha
 * in NOISE_POWER of all cases. NAN as noise_p(). */
double noise_smallest(const double *a, size_t na, const double *b, size_t nb, double alpha);
/* How many runs a side would show the difference of means; 0: more than NOISE_RUNS_MAX, or not known. */
unsigned noise_runs(const double *a, size_t na, const double *b, size_t nb, double alpha);
/* Which of n differences of a table are beyond noise, if all are asked about at once: Holm's correction. NAN is
 * never. */
void noise_test(const double *p, size_t n, bool *ret_beyond);
/* Two-sided probability of a value as large as t in Student's distribution. */
double noise_student(double t, double degrees);
