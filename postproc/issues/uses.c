/* uses.c - see uses.h. In: signatures with their totals. */
#include "postproc/issues/uses.h"

bool uses_nonblocking_receives(const struct analysis *a)
{
	for (uint32_t r = 0; r < a->step->nranks; r++)
		for (size_t i = 0; a->step->ranks[r] != NULL && i < a->step->ranks[r]->sigs.n; i++) {
			const struct sig *sig = &a->step->ranks[r]->sigs.at[i];
			if (sig->defined && sig->calls > 0 && sig->call.shape == SIG_RECV &&
			    (sig->call.flags & SIG_STARTS_REQUEST) != 0)
				return true;
		}
	return false;
}

static const char *op_at(const struct analysis *a, uint32_t site)
{
	const struct site *x = site == NONE ? NULL : &a->step->sites.at[site];
	return x == NULL || x->op == NONE ? "" : a->step->ops.at[x->op];
}

bool uses_nonblocking_at(const struct analysis *a, uint32_t site)
{
	static const char *const prefixes[] = {"MPI_I", "MPI_Wait", "MPI_Test", "MPI_Start"};
	const char *op = op_at(a, site);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(op, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static bool is_collective(const char *op)
{
	return strstr(op, "_all") != NULL || strstr(op, "_ordered") != NULL;
}

static bool is_nonblocking(const char *op)
{
	return strncmp(op, "MPI_File_i", 10) == 0 || strstr(op, "_begin") != NULL;
}

/* Does this say yes of most of the time in reading and writing? */
static bool most_io(const struct analysis *a, bool (*says)(const char *op))
{
	double yes = 0, all = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		for (size_t i = 0; a->step->ranks[r] != NULL && i < a->step->ranks[r]->sigs.n; i++) {
			const struct sig *sig = &a->step->ranks[r]->sigs.at[i];
			const char *op = sig_op_or(a->step, sig, "");
			double ns = (double)sig->ticks * a->step->ranks[r]->ns_per_tick;
			if (strncmp(op, "MPI_File_", 9) != 0 ||
			    (strstr(op, "read") == NULL && strstr(op, "write") == NULL))
				continue;
			all += ns;
			yes += says(op) ? ns : 0;
		}
	return all > 0 && 2 * yes > all;
}

bool uses_collective_io(const struct analysis *a)
{
	return most_io(a, is_collective);
}

bool uses_nonblocking_io(const struct analysis *a)
{
	return most_io(a, is_nonblocking);
}
