/* synth.h - a job that never ran, and the .mpic files its agents would have written.
 *
 * In: calls of simulated ranks, as the tracer's words (format/sig.h) and true times.  Out: one .mpic a node, with the
 * blocks that collect/ makes of them: a block of events for each segment of the tracer, definitions behind it, totals,
 * META and clock samples with the agent's back-off, at the end all of it once more, and END.
 *
 * Memory is that of the tracer's segments and dictionaries: it grows with ranks and signatures, never with events.
 * Equal options give equal bytes. */
#pragma once

#include "format/mpic.h"
#include "format/sig.h"

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
#define SYNTH_OPS(X) /* sorted as the tracer's; operation 0 is that of no call */ \
	X(Abort) X(Allreduce) X(Alltoall) X(Alltoallv) X(Barrier) X(Bcast) X(Cart_create) X(Cart_shift) X(Comm_free) \
	X(Comm_rank) X(Comm_size) X(Comm_split) X(Dims_create) X(Finalize) X(Init) X(Irecv) X(Isend) X(Recv) \
	X(Recv_init) X(Request_free) X(Send) X(Send_init) X(Startall) X(Testall) X(Waitall) X(Waitany)
/* clang-format on */

enum synth_op {
#define OP(name) OP_##name,
	SYNTH_OPS(OP)
#undef OP
		SYNTH_OP_COUNT
};

/* Datatypes, which all ranks know. */
enum synth_type { TYPE_DOUBLE, TYPE_INT, TYPE_BYTE, SYNTH_TYPES };

struct synth_options {
	const char *dir, *program;
	uint32_t ranks, nodes;
	bool noise; /* the clock: steps of 2 ticks with noise, else of 24.5 */
	uint64_t seed;
	uint32_t without; /* bits: planted faults that are left out */
};

/* Something that a pattern has planted, and who does it. */
#define SYNTH_FAULTS_MAX 3u
struct synth_fault {
	const char *kind;
	uint32_t rank;
};

/* What patterns see of one rank. All times are true ones, in picoseconds since the job began. */
struct synth_rank {
	uint64_t now_ps;      /* exit of its last call */
	uint64_t next_serial; /* of requests */
	double pace;	      /* its computation takes so many times as long */
	struct synth_record *record;
};

struct synth {
	struct synth_options options;
	struct synth_rank *ranks;
	uint64_t op_calls[SYNTH_OP_COUNT], events;
	uint64_t random;
	uint32_t spread[4096]; /* by how much times vary: factors in 1/4096 */
	struct synth_files *files;
	struct synth_fault faults[SYNTH_FAULTS_MAX];
	uint32_t nfaults;
	uint64_t begun_ps, last_ps; /* when the first rank is out of MPI_Init, and the last one comes to MPI_Finalize */
	bool failed;		    /* told already */
};

struct synth *synth_create(const struct synth_options *o);
/* One call, behind the rank's last one. words as of a signature; extra belongs to this event alone. Requests are
 * counted by the flags in words. */
void synth_call(struct synth *s, uint32_t rank, const uint64_t *words, uint32_t nwords, uint64_t enter_ps,
		uint64_t exit_ps);
/* So many unsuccessful tests between two times, as one event. */
void synth_polls(struct synth *s, uint32_t rank, const uint64_t *words, uint32_t nwords, uint64_t enter_ps,
		 uint64_t exit_ps, uint64_t calls);
/* A communicator of these world ranks, seen from one of them; ids count up from 0 = world, 1 = self. */
uint32_t synth_comm(struct synth *s, uint32_t rank, enum synth_op made_by, uint64_t global_id,
		    struct mpic_rank_run members);
/* The agents look around; to be called often. */
void synth_round(struct synth *s, uint64_t now_ps);
/* All ranks have called MPI_Init, or MPI_Finalize. */
void synth_init(struct synth *s);
void synth_finalize(struct synth *s);
/* Close the files. 0 when all of them are whole. */
int synth_end(struct synth *s);

uint32_t synth_node_of(const struct synth *s, uint32_t rank);
/* Where in the program a call stands: its line makes the address. */
uint64_t synth_address(unsigned line);

static inline uint64_t synth_random(struct synth *s)
{
	s->random += 0xa0761d6478bd642full;
	const unsigned __int128 product = (unsigned __int128)s->random * (s->random ^ 0xe7037ed1a0b428dbull);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Around that time, with a tail. */
static inline uint64_t synth_vary(struct synth *s, uint64_t ps)
{
	return ps * s->spread[synth_random(s) >> 52] >> 12;
}

static inline uint64_t synth_mix(uint64_t a, uint64_t b)
{
	a = (a ^ a >> 31) * 0xbf58476d1ce4e5b9ull + b;
	a = (a ^ a >> 29) * 0x94d049bb133111ebull;
	return a ^ a >> 32;
}
