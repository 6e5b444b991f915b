/* chance.h - numbers that are the same on every machine. */
#pragma once

#include <stdint.h>

/* The sum of twelve that are uniform from -0.5 to 0.5: nearly a normal one, of mean 0 and deviation 1. */
static inline double chance(uint64_t *state)
{
	double sum = 0;
	for (int i = 0; i < 12; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*state >> 33) / 2147483648.0 - 0.5;
	}
	return sum;
}
