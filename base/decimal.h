/* decimal.h - powers of ten, for whoever writes numbers faster than printf() does. */
#pragma once

#include <stdint.h>

#define POWERS_OF_TEN 20

extern const uint64_t powers_of_ten[POWERS_OF_TEN];
