/* untraced.h - why processes of a step ran untraced although the tracer was loaded: the lines that it left in the step
 * directory (pmpi/front.c). */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define UNTRACED_WHYS_MAX 8u
#define UNTRACED_WHY_MAX 512u

struct untraced {
	uint32_t n; /* different reasons; what failed comes first */
	struct {
		uint32_t processes;
		bool failed; /* the tracer could not be loaded; else no call came, and there may have been none */
		char why[UNTRACED_WHY_MAX];
	} whys[UNTRACED_WHYS_MAX];
};

/* Of that directory of segments; empty when nothing is there that can be read. */
void untraced_read(const char *ranks, struct untraced *ret_untraced);
