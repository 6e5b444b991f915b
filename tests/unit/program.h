/* program.h - MPI programs with known truth: state calls and times, get the .mpic files a tracer
 * would have written. Times are true microseconds; each node's clock may lie. Calls of one rank
 * must be stated in order. */
#pragma once

#include "format/mpic.h"
#include "format/sig.h"

#include <stdbool.h>
#include <stdint.h>

#define PROGRAM_RANKS_MAX 1024
#define PROGRAM_THREADS_MAX 2

struct program;

/* Ranks are spread over the nodes in blocks. */
struct program *program_create(unsigned ranks, unsigned nodes);
void program_destroy(struct program *p);
/* The node's clock shows offset_us more than the truth and runs faster by ppm. */
void program_clock(struct program *p, unsigned node, double offset_us, double ppm);
/* Like MPI_COMM_WORLD (communicator 0), of these world ranks; the id is equal on all members. */
uint32_t program_comm(struct program *p, const char *name, const int32_t *ranks, unsigned n);
uint32_t program_intercomm(struct program *p, const int32_t *left, unsigned nleft, const int32_t *right,
			   unsigned nright);

/* Datatypes that every program has. */
enum program_type {
	TYPE_BYTE,
	TYPE_INT,
	TYPE_FLOAT,
	TYPE_PACKED,
	TYPE_SIX_INTS,
	TYPE_INT_DOUBLE,
	TYPE_INTEGER,
	PROGRAM_TYPES
};

/* One call: what, when, and where in the program (line number becomes the address). */
struct call {
	const char *op;
	double from_us, to_us;
	uint32_t comm;
	int peer, tag; /* peer: rank in comm */
	uint64_t bytes;
	int recv_peer, recv_tag; /* Sendrecv */
	uint64_t recv_bytes;
	uint64_t room;		/* of a receive, bytes; 0: as many as come */
	enum program_type type; /* of a message; bytes must be a multiple of its size */
	unsigned flags;		/* enum sig_flag */
	enum sig_coll coll;
	uint64_t from_each;    /* collectives: bytes from (each) peer; bytes is what goes to (each)
				  peer */
	const uint64_t *sizes; /* v/w calls: per peer */
	unsigned nsizes;
	unsigned line;
	unsigned thread; /* below PROGRAM_THREADS_MAX; requests are those of thread 0 */
};

void program_send(struct program *p, unsigned rank, struct call c);
void program_recv(struct program *p, unsigned rank, struct call c);
void program_sendrecv(struct program *p, unsigned rank, struct call c);
void program_coll(struct program *p, unsigned rank, struct call c);
/* A call with this signature behind operation and address: what another tracer might write. shape may be any number. */
void program_words(struct program *p, unsigned rank, struct call c, unsigned shape, unsigned kind,
		   const uint64_t *words, unsigned n);
/* From here on the tracer's table of the rank has no room: what a call is stands in its event, and totals know only how
 * often its operation was called there. */
void program_table_full(struct program *p, unsigned rank);
/* A run of tests or probes in vain: so many calls, and how long they were in MPI. */
void program_poll(struct program *p, unsigned rank, struct call c, enum sig_shape shape, const uint64_t *words,
		  unsigned n, uint64_t calls, double inside_us);
/* A window, or an opening of a file, of a communicator's members. */
uint32_t program_window(struct program *p, uint32_t comm);
uint32_t program_file(struct program *p, uint32_t comm);

struct one_sided {
	enum sig_rma kind;
	uint32_t window;
	int target;		  /* of its communicator; SIG_ANY: everybody */
	unsigned assertion, lock; /* lock: 1 shared, 2 exclusive */
	const int *group;	  /* world ranks: Post and Start */
	unsigned ngroup;
};

/* Bytes of the call go to the target. */
void program_rma(struct program *p, unsigned rank, struct call c, struct one_sided x);
/* As program_died_in(), with three ranks in the group at most. */
void program_died_in_rma(struct program *p, unsigned rank, struct call c, struct one_sided x);
/* how: enum sig_io_how. */
void program_io(struct program *p, unsigned rank, struct call c, enum sig_io kind, uint32_t file, unsigned how);
/* Put a definition of a type that nobody knows in front of all others. */
void program_unknown_def(struct program *p);
/* The three above with SIG_STARTS_REQUEST in flags start a request; this is the serial of the last
 * one. */
uint64_t program_serial(const struct program *p, unsigned rank);

struct done {
	uint64_t serial;
	int source, tag; /* source < -5: no status */
	uint64_t bytes;
	bool cancelled;
};

#define NO_STATUS (-9)

void program_start(struct program *p, unsigned rank, struct call c, const uint64_t *serials, unsigned n);
void program_wait(struct program *p, unsigned rank, struct call c, const struct done *done, unsigned n);
void program_free_request(struct program *p, unsigned rank, struct call c, uint64_t serial);
enum block_fate {
	BLOCK_WHOLE,
	BLOCK_MISSING,
	BLOCK_BROKEN, /* its checksums hold, but its columns end too early */
	BLOCK_LATER,  /* the file ends before it, and what it says of how many there are is from before it too */
};

/* What the thread recorded since its last block becomes an EVENTS block, which then has this fate. */
void program_end_block(struct program *p, unsigned rank, unsigned thread, enum block_fate fate);
/* What a thread of the rank spent on slow paths of the tracer; each other call costs 50 ns. */
void program_slow(struct program *p, unsigned rank, unsigned thread, uint64_t calls, double us);
/* Of so many of its other calls the recording was timed: 10 ns at the start, later ns each. */
void program_timed(struct program *p, unsigned rank, uint64_t calls, uint64_t ns);
/* On a processor, as long as it was ready without one. */
void program_shares_processor(struct program *p, unsigned rank, double us);
/* The rank was ready to run for so long while others had the processors. */
void program_processor_wait(struct program *p, unsigned rank, double us);
/* The processor counted so many cycles in so long of user mode. */
void program_counters(struct program *p, unsigned rank, double cycles, double user_us);
/* What the job had of the memory that it may have on the node, at the first sample and at the next; each rank has half
 * of it. */
void program_memory(struct program *p, unsigned node, uint64_t first_bytes, uint64_t then_bytes, uint64_t limit_bytes);
/* Calls that were made but of which no event was kept: only totals. */
void program_budget_spent(struct program *p, unsigned rank);
/* The rank never came to MPI_Finalize; wait status as of waitpid(). */
void program_killed(struct program *p, unsigned rank, int wait_status);
/* It ended then, not when the program did. */
void program_ended(struct program *p, unsigned rank, double at_us);
/* It came to MPI_Finalize then, and died in it. */
void program_finalizing(struct program *p, unsigned rank, double at_us, int wait_status);
/* Of the rank only its exit is told. */
void program_unrecorded(struct program *p, unsigned rank);
/* The rank died in this call: a receive, a send or a collective as c says, or a wait for one request. Since when is
 * told where from_us is not 0. */
void program_died_in(struct program *p, unsigned rank, struct call c, enum sig_shape shape, uint64_t serial);
/* As its MPI library says; MPI_THREAD_SINGLE by default. */
void program_thread_level(struct program *p, unsigned rank, int level);
void program_job(struct program *p, const char *job_id);
/* Further members of a node's META, each followed by a comma; the text must live as long as p. */
void program_node_members(struct program *p, unsigned node, const char *members);
/* What META says as the step's nodes; not told by default. */
void program_nodelist(struct program *p, const char *nodelist);

/* Write <dir>/n0.mpic ...; leave_out: a node that gives no file, or -1. Runs from MPI_Init at 0 to
 * MPI_Finalize at end_us. */
void program_write(struct program *p, const char *dir, double end_us, int leave_out);
