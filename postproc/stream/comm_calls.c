/* comm_calls.c - calls that make or free a communicator: which of them are one operation, of whom. In: SIG_COMM. Out:
 * struct sync_call.
 *
 * MPI lets all members of a communicator make such calls in the same order (MPI 4.0, 7.4), so the k-th of a member
 * belongs to the k-th of the others. Where only those who will be in it take part, the new communicator is the one
 * operation that it comes from. */
#include "postproc/stream/walk.h"

#define MAKES_CHANNEL 0x40000000u /* above those of persistent collectives, below those of windows and files */
#define MADE_CHANNEL (MAKES_CHANNEL + 1)

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names != NULL && strcmp(name, *names) != 0)
		names++;
	return *names != NULL;
}

static uint32_t made_by(const struct walk *w)
{
	uint32_t id = w->sig->call.new_comm;
	uint32_t comm = id < w->p->comms.n ? w->p->comms.at[id] : 0;
	return comm != 0 ? comm - 1 : NONE;
}

bool comm_call(struct walk *w, struct sync_call *ret_call)
{
	static const char *const frees[] = {"MPI_Comm_free", "MPI_Comm_disconnect", NULL};
	static const char *const of_group[] = {"MPI_Comm_create_group", "MPI_Comm_create_from_group",
					       "MPI_Intercomm_create", "MPI_Intercomm_create_from_groups", NULL};
	const char *op = w->sig->op != NONE ? w->st->step->ops.at[w->sig->op] : "";
	bool members = is_one_of(op, of_group);
	uint32_t comm = members ? made_by(w) : w->sig->comm;
	if (comm == NONE)
		return false;
	*ret_call = (struct sync_call){.comm = same_comm(w, comm),
				       .channel = members ? MADE_CHANNEL : MAKES_CHANNEL,
				       .kind = is_one_of(op, frees) ? SYNC_COMM_FREE : SYNC_COMM_CREATE,
				       .in_sweep = true,
				       .of_members = members};
	return true;
}
