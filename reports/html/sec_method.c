/* sec_method.c - what the words mean and where the numbers come from.
 * Out: a list of terms, folded. */
#include "reports/html/section.h"

static const struct {
	const char *term, *meaning;
} glossary[] = {
	{"rank", "One process of the program, by its number in MPI_COMM_WORLD."},
	{"useful time", "Time of a rank outside of MPI and of the tracer, between MPI_Init and MPI_Finalize."},
	{"waiting", "The part of a call in which it could not continue because another rank was late. The rest of the "
		    "call moves data, or is the work of the library and of functions that the program gave it."},
	{"call site", "A place in the program\xe2\x80\x99s source from which MPI is called."},
	{"late sender",
	 "A receive was there before its message was sent; late receiver is the opposite, of sends that block."},
	{"load balance",
	 "Mean over longest useful time of the ranks. 0.50: the others have half as much work as the busiest."},
	{"communication efficiency",
	 "Longest useful time over the run time: what is left is lost in MPI even for the busiest "
	 "rank."},
	{"serialization, transfer",
	 "The same in two factors: what would be lost with an infinitely fast network, and what "
	 "moving data adds."},
	{"processor",
	 "What runs one rank at a time: a hardware thread. With hyper-threading a core has two of them, without one."},
	{"core-hour",
	 "One processor held by the job for an hour. A rank holds one; where ranks share processors, its part of "
	 "them."},
	{"lost", "Time of all ranks together that the issue costs. Issues overlap: their losses do not add up."},
	{"partial", "Something that was to be recorded is missing. Counts and times of what is there are still exact."},
};

static void write_method(struct page *p)
{
	put(p,
	    "<p>Every MPI call of every rank was recorded when it began and when it ended; numbers of calls, times and "
	    "bytes "
	    "are exact totals. Waiting, messages and the order of things come from the single calls: each message is "
	    "matched with its receive, each collective with its members, in one common time.</p>\n"
	    "<p>Confidence is in the strip below the headline: how many ranks and calls are there, what tracing cost, "
	    "how "
	    "well the clocks of nodes agree. A difference below that of the clocks says nothing.</p>\n"
	    "<details><summary>Glossary</summary><dl class=\"glossary\">\n");
	for (size_t i = 0; i < sizeof(glossary) / sizeof(glossary[0]); i++)
		put(p, "<dt>%s</dt><dd>%s</dd>\n", glossary[i].term, glossary[i].meaning);
	put(p, "</dl></details>\n");
}

static void result(struct page *p)
{
	put(p, "what was recorded, how sure it is, and a glossary");
}

const struct section section_method = {
	.id = "method",
	.title = "Method and glossary",
	.how = "Wait states after Scalasca, efficiencies after POP; docs/SEMANTICS.md of mpitrace defines each number.",
	.result = result,
	.write = write_method,
};
