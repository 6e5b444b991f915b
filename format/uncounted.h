/* uncounted.h - what a process did that stands in no event, or not as what it was: a row each. The tracer counts it in
 * the segment file, META has it by the same name (absent: none), and so has the analysis's coverage.
 *
 * X(name, lacks, noun, said). lacks: the record is not whole with it, and each rank is named. said: in front of
 * ": 17 calls". Adding one: its row, and what it is in docs/analysis.schema.json and RECORDED.md. */
#pragma once

#define UNCOUNTED(X) \
	X(calls_outside, true, "call", \
	  "of threads for which the tracer had no room (too many, no memory, its files gone, or it may not " \
	  "ask for any), and in no count") \
	X(calls_unclear, true, "call", \
	  "in no count, since nothing tells whether MPI made them inside of another call") \
	X(calls_left, true, "call", \
	  "in no count, since they were not seen to return, as of a longjmp, an exception or the end of their thread") \
	X(calls_again, true, "call", \
	  "of sessions that were begun when all before them had been finalised, and in no count") \
	X(calls_forked, true, "call", "made by children that were forked while MPI ran, and in no count") \
	X(calls_replaced, true, "call", \
	  "made by a profiling library in a function of it for another call, in place of the program's or beside it, " \
	  "and " \
	  "in no count") \
	X(calls_doubtful, true, "call", \
	  "in the counts though a profiling library may have made them for itself, since one function of it makes " \
	  "the " \
	  "same call in two places") \
	X(requests_unseen, true, "request", \
	  "completed where no call is recorded: in a profiling library, or in a function of the program that MPI " \
	  "called") \
	X(functions_past, true, "function", \
	  "of MPI that a library of the program, opened with RTLD_DEEPBIND, reaches past the tracer: its calls are " \
	  "in " \
	  "no count") \
	X(messages_in_callbacks, true, "call", \
	  "made by the program in functions of its own that MPI called during another call, and in no count, though " \
	  "other " \
	  "ranks have a part in them") \
	X(calls_in_callbacks, false, "call", \
	  "made by the program in functions of its own that MPI called during another call, and in no count") \
	X(calls_of_tools, false, "call", \
	  "made by a profiling library for itself, in the program or ahead of the tracer, and in no count")

enum uncounted {
#define UNCOUNTED_ID(name, lacks, noun, said) UNCOUNTED_##name,
	UNCOUNTED(UNCOUNTED_ID)
#undef UNCOUNTED_ID
		UNCOUNTED_ROWS
};
