/* one_sided.c - see one_sided.h. */
#include "one_sided.h"

#include <criterion/criterion.h>
#include <string.h>

struct call call_of(const char *op, double from, double to)
{
	return (struct call){.op = op, .from_us = from, .to_us = to, .bytes = 8, .line = 3};
}

const cJSON *row_of(const cJSON *root, const char *state, int rank)
{
	cJSON *row;
	cJSON_ArrayForEach(row, node_at(root, "wait_states"))
	{
		if (strcmp(cJSON_GetObjectItem(row, "state")->valuestring, state) == 0 && field(row, "rank") == rank)
			return row;
	}
	return NULL;
}

void expect_wait(const cJSON *root, const char *state, int rank, double us, int causer)
{
	const cJSON *row = row_of(root, state, rank);
	cr_expect_not_null(row, "no %s of rank %d", state, rank);
	if (row == NULL)
		return;
	cr_expect_float_eq(field(row, "seconds"), us * 1e-6, NEAR, "%s of rank %d: %g", state, rank,
			   field(row, "seconds"));
	cr_expect_eq(field(row, "causer"), causer, "%s of rank %d: causer %g", state, rank, field(row, "causer"));
}

void expect_none(const cJSON *root, const char *state)
{
	cr_expect_null(find_text(root, "wait_states", "state", state), "there is %s", state);
}

void rma_together(struct program *p, unsigned rank, const char *op, enum sig_rma kind, double from, double to,
		  unsigned assertion)
{
	program_rma(p, rank, call_of(op, from, to),
		    (struct one_sided){.kind = kind, .target = SIG_ANY, .assertion = assertion});
}

void rma_group(struct program *p, unsigned rank, const char *op, enum sig_rma kind, double from, double to,
	       const int *ranks, unsigned n)
{
	program_rma(p, rank, call_of(op, from, to),
		    (struct one_sided){.kind = kind, .target = SIG_ANY, .group = ranks, .ngroup = n});
}

void rma_post(struct program *p, unsigned rank, double from, int origin)
{
	rma_group(p, rank, "MPI_Win_post", RMA_POST, from, from + 1, &origin, 1);
}

void rma_start(struct program *p, unsigned rank, double from, double to, int target)
{
	rma_group(p, rank, "MPI_Win_start", RMA_START, from, to, &target, 1);
}

void rma_complete(struct program *p, unsigned rank, double from, double to)
{
	program_rma(p, rank, call_of("MPI_Win_complete", from, to),
		    (struct one_sided){RMA_COMPLETE, .target = SIG_ANY});
}

void rma_wait(struct program *p, unsigned rank, double from, double to)
{
	program_rma(p, rank, call_of("MPI_Win_wait", from, to), (struct one_sided){RMA_WAIT, .target = SIG_ANY});
}

void rma_put(struct program *p, unsigned rank, double from, double to, int target)
{
	program_rma(p, rank, call_of("MPI_Put", from, to), (struct one_sided){RMA_PUT, .target = target});
}

void rma_lock(struct program *p, unsigned rank, double from, double to, int target, unsigned type, unsigned assertion)
{
	program_rma(p, rank, call_of(target == SIG_ANY ? "MPI_Win_lock_all" : "MPI_Win_lock", from, to),
		    (struct one_sided){RMA_LOCK, .target = target, .lock = type, .assertion = assertion});
}

void rma_unlock(struct program *p, unsigned rank, double from, double to, int target)
{
	program_rma(p, rank, call_of(target == SIG_ANY ? "MPI_Win_unlock_all" : "MPI_Win_unlock", from, to),
		    (struct one_sided){RMA_UNLOCK, .target = target});
}

void rma_flush(struct program *p, unsigned rank, double from, double to, int target)
{
	program_rma(p, rank, call_of("MPI_Win_flush", from, to), (struct one_sided){RMA_FLUSH, .target = target});
}
