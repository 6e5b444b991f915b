/* noise.c - see noise.h. B. L. Welch, The generalization of "Student's" problem when several different population
 * variances are involved, Biometrika 34, 1947; S. Holm, A simple sequentially rejective multiple test procedure,
 * Scand. J. Stat. 6, 1979. */
#include "postproc/compare/noise.h"

#include <math.h>

#define EQUAL 1e-9 /* of the larger mean: differences below it are rounding */
#define STEPS_MAX 300
#define QUANTILE_STEPS 24 /* of bisection, each a bit */

double noise_mean(const double *x, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n > 0 ? sum / (double)n : NAN;
}

double noise_spread(const double *x, size_t n)
{
	double mean = noise_mean(x, n), sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return n > 1 ? sqrt(sum / (double)(n - 1)) : NAN;
}

static double not_zero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8), from the front (Lentz). */
static double fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), f = d;
	for (int m = 1; m < STEPS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		f *= c * d;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		f *= c * d;
		if (fabs(c * d - 1) < 1e-14)
			break;
	}
	return f;
}

/* The regularised incomplete beta function. */
static double beta_share(double a, double b, double x)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	/* the fraction converges fast on one side of the mean; the other side follows by symmetry */
	return x < (a + 1) / (a + b + 2) ? front * fraction(a, b, x) / a : 1 - front * fraction(b, a, 1 - x) / b;
}

double noise_student(double t, double degrees)
{
	return beta_share(degrees / 2, 0.5, degrees / (degrees + t * t));
}

/* Variance of the mean, of n runs that vary by `spread`. */
static double variance_of_mean(double spread, size_t n)
{
	return spread * spread / (double)n;
}

static double degrees_of(double va, size_t na, double vb, size_t nb)
{
	double sum = va + vb;
	return sum * sum / (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1));
}

/* The value of Student's distribution that is exceeded, two-sided, with probability p. */
static double quantile(double p, double degrees)
{
	double low = 0, high = 1;
	while (high < 1e12 && noise_student(high, degrees) > p)
		high *= 2;
	for (int i = 0; i < QUANTILE_STEPS; i++) {
		double middle = (low + high) / 2;
		if (noise_student(middle, degrees) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* What both sides vary by; of one that has one run the other's. */
struct spreads {
	double a, b, degrees;
};

static bool get_spreads(const double *a, size_t na, const double *b, size_t nb, struct spreads *ret)
{
	double spread_a = noise_spread(a, na), spread_b = noise_spread(b, nb);
	if (na < 2 && nb < 2)
		return false;
	ret->a = na > 1 ? spread_a : spread_b;
	ret->b = nb > 1 ? spread_b : spread_a;
	double va = variance_of_mean(ret->a, na), vb = variance_of_mean(ret->b, nb);
	ret->degrees = na > 1 && nb > 1 && va + vb > 0 ? degrees_of(va, na, vb, nb) : (double)(na + nb - 2);
	return !isnan(ret->a + ret->b);
}

/* What is exceeded by t of noncentral distribution with probability NOISE_POWER, its deviation taken for normal: the
 * spread that a test divides by is 1 - 1/4d on the average and varies by 1/2d (J. Cohen, Statistical Power Analysis,
 * 1988, 12.8). */
static double smallest_difference(double va, double vb, double degrees, double alpha)
{
	double t = quantile(alpha, degrees), z = quantile(2 * (1 - NOISE_POWER), 1e6);
	return (t * (1 - 1 / (4 * degrees)) + z * sqrt(1 + t * t / (2 * degrees))) * sqrt(va + vb);
}

double noise_smallest(const double *a, size_t na, const double *b, size_t nb, double alpha)
{
	struct spreads s;
	if (!get_spreads(a, na, b, nb, &s))
		return NAN;
	return smallest_difference(variance_of_mean(s.a, na), variance_of_mean(s.b, nb), s.degrees, alpha);
}

unsigned noise_runs(const double *a, size_t na, const double *b, size_t nb, double alpha)
{
	struct spreads s;
	double difference = fabs(noise_mean(b, nb) - noise_mean(a, na));
	if (!get_spreads(a, na, b, nb, &s) || !(difference > 0))
		return 0;
	unsigned low = 1, high = NOISE_RUNS_MAX + 1; /* low is not enough, high is, if it is not the limit */
	while (high - low > 1) {
		unsigned n = low < 8 && high > 16 ? 2 * low : low + (high - low) / 2;
		double va = variance_of_mean(s.a, n), vb = variance_of_mean(s.b, n);
		double degrees = va + vb > 0 ? degrees_of(va, n, vb, n) : 1;
		if (smallest_difference(va, vb, degrees, alpha) <= difference)
			high = n;
		else
			low = n;
	}
	return high <= NOISE_RUNS_MAX ? high : 0;
}

double noise_p(const double *a, size_t na, const double *b, size_t nb)
{
	double mean_a = noise_mean(a, na), mean_b = noise_mean(b, nb), difference = mean_b - mean_a;
	double spread_a = noise_spread(a, na), spread_b = noise_spread(b, nb);
	if (isnan(difference) || (na < 2 && nb < 2))
		return NAN;
	double va = variance_of_mean(na > 1 ? spread_a : spread_b, na);
	double vb = variance_of_mean(nb > 1 ? spread_b : spread_a, nb);
	if (fabs(difference) <= EQUAL * fmax(fabs(mean_a), fabs(mean_b)))
		return 1;
	if (va + vb <= 0)
		return 0;
	double degrees = na > 1 && nb > 1 ? degrees_of(va, na, vb, nb) : (double)(na + nb - 2);
	return noise_student(difference / sqrt(va + vb), degrees);
}

/* The smallest p that is not judged yet. */
static size_t smallest(const double *p, size_t n, const bool *tested)
{
	size_t at = n;
	for (size_t i = 0; i < n; i++)
		if (!tested[i] && !isnan(p[i]) && (at == n || p[i] < p[at]))
			at = i;
	return at;
}

void noise_test(const double *p, size_t n, bool *ret_beyond)
{
	size_t left = 0;
	for (size_t i = 0; i < n; i++) {
		ret_beyond[i] = false;
		left += !isnan(p[i]);
	}
	for (; left > 0; left--) {
		size_t at = smallest(p, n, ret_beyond);
		if (p[at] > NOISE_ALPHA / NOISE_TABLES / (double)left)
			return;
		ret_beyond[at] = true;
	}
}
