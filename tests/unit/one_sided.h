/* one_sided.h - one-sided calls of a program of program.h, all on window 0, and the wait states that they make. */
#pragma once

#include "step_analysis.h"

#define NEAR 2e-9

struct call call_of(const char *op, double from, double to);
const cJSON *row_of(const cJSON *root, const char *state, int rank);
void expect_wait(const cJSON *root, const char *state, int rank, double us, int causer);
void expect_none(const cJSON *root, const char *state);
void rma_together(struct program *p, unsigned rank, const char *op, enum sig_rma kind, double from, double to,
		  unsigned assertion);
void rma_group(struct program *p, unsigned rank, const char *op, enum sig_rma kind, double from, double to,
	       const int *ranks, unsigned n);
void rma_post(struct program *p, unsigned rank, double from, int origin);
void rma_start(struct program *p, unsigned rank, double from, double to, int target);
void rma_complete(struct program *p, unsigned rank, double from, double to);
void rma_wait(struct program *p, unsigned rank, double from, double to);
void rma_put(struct program *p, unsigned rank, double from, double to, int target);
void rma_lock(struct program *p, unsigned rank, double from, double to, int target, unsigned type, unsigned assertion);
void rma_unlock(struct program *p, unsigned rank, double from, double to, int target);
void rma_flush(struct program *p, unsigned rank, double from, double to, int target);
