/* calls_life.c - Init, Finalize, Abort, Pcontrol. */
#include "pmpi/process.h"

#include <stdarg.h>

static void init_event(struct call_span *s, bool first, uint32_t op, int rc, int level)
{
	if (!span_stop(s, rc)) {
		process_unseen(first);
		return;
	}
	process_initialized(rc, level, s->exit);
	if (stream_mine != NULL)
		record_time(s, op);
}

int wrap_MPI_Init(int *argc, char ***argv)
{
	struct call_span s;
	bool first = process_begin();
	if (!SPAN_BEGIN(&s, OP_MPI_Init)) { /* a profiling library goes on */
		process_unseen(first);
		return next.MPI_Init(argc, argv);
	}
	int rc = next.MPI_Init(argc, argv);
	init_event(&s, first, OP_MPI_Init, rc, MPI_THREAD_SINGLE);
	return rc;
}

/* What MPI_Init_thread has set; MPICH lets it have nowhere to do so. */
static int level_of(int rc, const int *provided)
{
	int level = MPI_THREAD_SINGLE;
	if (rc == MPI_SUCCESS && (provided != NULL || pmpi.MPI_Query_thread(&level) == MPI_SUCCESS))
		return provided != NULL ? *provided : level;
	return MPI_THREAD_SINGLE;
}

int wrap_MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	struct call_span s;
	bool first = process_begin();
	if (!SPAN_BEGIN(&s, OP_MPI_Init_thread)) { /* a profiling library goes on */
		process_unseen(first);
		return next.MPI_Init_thread(argc, argv, required, provided);
	}
	int rc = next.MPI_Init_thread(argc, argv, required, provided);
	init_event(&s, first, OP_MPI_Init_thread, rc, level_of(rc, provided));
	return rc;
}

int wrap_MPI_Finalize(void)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Finalize))
		return next.MPI_Finalize();
	process_finalizing();
	int rc = next.MPI_Finalize();
	if (!span_stop(&s, rc))
		return rc;
	record_time(&s, OP_MPI_Finalize);
	process_finalized();
	return rc;
}

/* Does not return: recorded before it happens, without a duration. What a profiling library does then is its own. */
int wrap_MPI_Abort(MPI_Comm comm, int errorcode)
{
	struct call_span s;
	bool recorded = SPAN_BEGIN(&s, OP_MPI_Abort) && span_stop(&s, MPI_SUCCESS);
	if (recorded)
		record_time(&s, OP_MPI_Abort);
	process_aborting(); /* also where MPI has called who calls it, as an error handler */
	if (recorded && next.MPI_Abort != pmpi.MPI_Abort)
		s.stream->open.inside = (uintptr_t)WRAPPER_FRAME;
	return next.MPI_Abort(comm, errorcode);
}

/* Whatever the program passed to a profiling library: as much as comes in registers (System V ABI, 3.5.7). */
static int pass_control(int level, va_list args)
{
	uint64_t n[5];
	double x[8];
	for (int i = 0; i < 5; i++)
		n[i] = va_arg(args, uint64_t);
	for (int i = 0; i < 8; i++)
		x[i] = va_arg(args, double);
	return next.MPI_Pcontrol(level, n[0], n[1], n[2], n[3], n[4], x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
}

/* The standard leaves levels to the profiler (MPI 4.0, 15.2.4): 0 stops the recording of events, 1 and above go on. */
int wrap_MPI_Pcontrol(const int level, ...)
{
	struct call_span s;
	va_list args;
	bool traced = SPAN_BEGIN(&s, OP_MPI_Pcontrol);
	va_start(args, level);
	int rc = pass_control(level, args);
	va_end(args);
	if (traced && span_stop(&s, rc)) {
		record_time(&s, OP_MPI_Pcontrol);
		stream_control(s.stream, level > 0);
	}
	return rc;
}

#ifdef HAVE_MPI_Session_init
int wrap_MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
	struct call_span s;
	bool first = process_begin();
	bool traced = SPAN_BEGIN(&s, OP_MPI_Session_init);
	int rc = next.MPI_Session_init(info, errhandler, session);
	if (!traced || !span_stop(&s, rc)) {
		process_unseen(first);
		return rc;
	}
	process_session(rc, rc == MPI_SUCCESS ? *session : MPI_SESSION_NULL, s.exit);
	if (stream_mine != NULL)
		record_time(&s, OP_MPI_Session_init);
	return rc;
}

int wrap_MPI_Session_finalize(MPI_Session *session)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Session_finalize))
		return next.MPI_Session_finalize(session);
	process_finalizing();
	int rc = next.MPI_Session_finalize(session);
	if (!span_stop(&s, rc))
		return rc;
	record_time(&s, OP_MPI_Session_finalize);
	if (rc == MPI_SUCCESS)
		process_finalized();
	return rc;
}
#endif
