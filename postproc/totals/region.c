/* region.c - of which time of a rank its times are a part, and what of its calls is outside of it. */
#include "postproc/analysis.h"
#include "postproc/read/ends.h"
#include "postproc/stream/threads.h"

#include <math.h>

bool is_startup(const struct step *s, const struct sig *sig)
{
	return op_is_outside_region(sig_op_or(s, sig, ""));
}

double rank_open_ns(const struct process *p, uint32_t thread)
{
	const struct open_sig *o = thread == NONE ? NULL : step_open(p, thread);
	int64_t from = thread == NONE ? threads_open(p) : o != NULL ? o->enter_ns : TIME_ABSENT;
	bool known = p->init_exit_ns != TIME_ABSENT && p->end_ns != TIME_ABSENT && p->finalize_enter_ns == TIME_ABSENT;
	if (!known || from == TIME_ABSENT || from == INT64_MAX)
		return 0;
	return fmax(0, (double)(p->end_ns - p->hung_ns - from));
}

void rank_region(const struct process *p, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	int64_t from = p->init_exit_ns, to = p->finalize_enter_ns;
	if (from == TIME_ABSENT)
		from = p->first_ns != TIME_ABSENT ? p->first_ns : p->start_ns;
	if (to == TIME_ABSENT && p->end_ns != TIME_ABSENT)
		to = p->end_ns - p->hung_ns;
	if (to == TIME_ABSENT)
		to = ends_last_known(p);
	bool known = from != TIME_ABSENT && to > from && !ends_starting(p);
	*ret_from_ns = known ? from : TIME_ABSENT;
	*ret_to_ns = known ? to : TIME_ABSENT;
}

bool thread_called(const struct process *p, uint32_t thread, uint64_t calls)
{
	return calls > 0 || rank_open_ns(p, thread) > 0;
}
