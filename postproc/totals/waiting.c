/* waiting.c - see waiting.h. */
#include "postproc/totals/waiting.h"
#include "postproc/read/ends.h"

/* Of these only their time is known, or of whom they wait for only a part is in the record. */
static bool is_named(const char *op)
{
	static const char *const names[] = {
		/* until others have received what is in a buffer */
		"MPI_Buffer_detach", "MPI_Buffer_flush", "MPI_Buffer_iflush", "MPI_Comm_detach_buffer",
		"MPI_Comm_flush_buffer", "MPI_Comm_iflush_buffer", "MPI_Session_detach_buffer",
		"MPI_Session_flush_buffer", "MPI_Session_iflush_buffer",
		/* processes of other worlds, beside those that wait for a program which is there */
		"MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Publish_name", "MPI_Unpublish_name",
		"MPI_Lookup_name", "MPI_Session_init", "MPI_Session_finalize"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(op, names[i]) == 0)
			return true;
	return false;
}

bool waiting_is_unknown(const struct step *s, const struct sig *sig)
{
	const struct sig_call *c = &sig->call;
	bool everybody = c->shape == SIG_RMA && c->peer == SIG_ANY;
	if (!sig->defined || sig->op == NONE)
		return false;
	switch (c->shape) {
	case SIG_TIME:
	case SIG_COMM:
		return is_named(s->ops.at[sig->op]) || ends_outside(s, sig);
	case SIG_IO: /* halves of split calls */
		return (c->io_how & IO_COLLECTIVE) != 0 && (c->io_how & (IO_BEGIN | IO_END)) != 0;
	case SIG_RMA:
		return (c->flags & SIG_POLLS) != 0 ||
		       (everybody && (c->rma == RMA_UNLOCK || c->rma == RMA_FLUSH || c->rma == RMA_FLUSH_LOCAL));
	case SIG_REQUEST: /* MPI_Parrived */
		return (c->flags & SIG_POLLS) != 0;
	default:
		return false;
	}
}
