/* match.h - what of sends, receives and collectives found its partner, and what did not (docs/SEMANTICS.md). */
#pragma once

#include <stdint.h>

struct op_counts {
	uint64_t proc_null; /* operations with MPI_PROC_NULL */
	uint64_t cancelled;
	uint64_t outside;	   /* with a process that is not of this MPI_COMM_WORLD */
	uint64_t failed;	   /* calls that returned an error */
	uint64_t unknown_requests; /* completions of requests whose start is not in the record */
};

struct unmatched {
	uint64_t sends, recvs;	     /* in all */
	uint64_t partner_missing;    /* the other rank was not recorded */
	uint64_t record_cut;	     /* the other rank's record ends early */
	uint64_t unknown_source;     /* wildcard receives of which no status says the source */
	uint64_t program;	     /* both records are whole: never received, or never sent */
	uint64_t collectives;	     /* with members missing */
	uint64_t collectives_differ; /* members called different operations, or named different roots */
};
