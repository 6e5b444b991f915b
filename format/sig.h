/* sig.h - what a call was: its signature. A rank sees few different calls; each is written once, as words,
 * and every event names it by number. Written by pmpi/, decoded by postproc/.
 *
 *   word 0   op:16 | shape:8 | flags:8 | list:16 | frames:8 | kind:8      (low bits first)
 *   word 1   return address of the call
 *   then by shape, see below; then `frames` further return addresses, outermost last
 *
 *   TIME      -        list = 1: a coarse signature (the dictionary is full); the event's extra words are its own exact
 *                      signature, to be decoded in its place
 *   SEND/RECV 2: comm:32 | peer:32   3: tag:32 | datatype:32   4: count          [5: received bytes if SIZED]
 *             kind = 1: partitioned (Psend_init, Precv_init), of all partitions together; such messages meet
 *             only each other
 *   SENDRECV  2-4 as a send, 5-7 as a receive                                    [8: received bytes if SIZED]
 *   PROBE     2: comm | peer   3: tag | 0   4: bytes, all of the message found
 *   START     2: runs:32 | requests:32   then runs
 *   START, COMPLETE   kind = 1: more of the event before (very long arrays), not a call of its own
 *             2: runs:32 | requests in the array:32   then runs, then `list` statuses of 3 words:
 *             {index in completion order:32 | source:32} {tag:32 | cancelled:1} {bytes}
 *   COLL      2: comm | root   3: bytes to (each) peer   4: bytes from (each) peer
 *             then `list` words {bytes:48 | repeat:16}: sizes for peer 0, 1, ... of a v/w call: the send
 *             side where the call has one per peer, else the receive side (Gatherv, Allgatherv). The peers of a
 *             neighbourhood collective are the neighbours, as the communicator's topology definition lists them
 *   COMM      2: parent | new communicator (MPIC_NO_COMM: none)
 *   REQUEST   2: as COMPLETE with no statuses: Cancel, Request_free, Pready, Parrived
 *   IO        2: file | how (enum sig_io_how)   3: bytes: moved if SIZED, else asked for
 *             kind = enum sig_io
 *   RMA       2: window | target   3: bytes to the target   4: bytes from the target
 *             kind = enum sig_rma; synchronisation has 3: assert:32 | lock type:32 (1 shared, 2 exclusive)   4: 0,
 *             then `list` words {first world rank:32 | stride:16 | count:16}: the group of Post and Start
 *
 * Peers, roots and targets are ranks of the communicator (of its remote group if it is inter; of the window's
 * communicator). A synchronisation that means everybody (Fence, Lock_all, Flush_all) has target -1.
 *
 * Requests. Every event whose signature has STARTS_REQUEST takes the next serial number of its thread, from 0.
 * A run names requests: value:40 | count:18 | descending:1 | absolute:1 | other thread:1. Relative runs begin at
 * serial = (the thread's next serial) - value; absolute ones (persistent requests) at value. Serials
 * then go up by one, or down. With OTHER_THREAD the serial is absolute and the owning thread is
 * the next word. A persistent request becomes active with START and inactive with COMPLETE; its init is the
 * SEND/RECV/COLL that has STARTS_REQUEST | PERSISTENT.
 *
 * Extra words of one event: POLLS (a run of unsuccessful tests as one event): calls, ticks inside them;
 * Pready and Parrived: the first partition, how many; IO: the offset, in units of the view's elementary type,
 * where the call names one. Behind a coarse signature they follow its literal words. */
#pragma once

#define SIG_OP_SOME 1023u /* a call of which there was no room to say which one */
#define SIG_OP_SOME_NAME "(other)"

#include "base/cursor.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* One row a shape; the number is its place, so rows are only appended. sig.c has a decode_<name>() of each: what that
 * sets is all that the analysis goes by. A reader that does not know a shape takes the time of such calls. */
#define SIG_SHAPE_TABLE(ROW) \
	ROW(SIG_TIME, time) \
	ROW(SIG_SEND, p2p) \
	ROW(SIG_RECV, p2p) \
	ROW(SIG_SENDRECV, sendrecv) \
	ROW(SIG_PROBE, probe) \
	ROW(SIG_START, requests) \
	ROW(SIG_COMPLETE, requests) \
	ROW(SIG_COLL, coll) \
	ROW(SIG_COMM, comm) \
	ROW(SIG_REQUEST, requests) \
	ROW(SIG_IO, io) \
	ROW(SIG_RMA, rma) \
	/* adding a shape: one row here, its words above, its decoder */

enum sig_shape {
#define ROW(shape, decoder) shape,
	SIG_SHAPE_TABLE(ROW)
#undef ROW
		SIG_SHAPES
};

enum sig_flag {
	SIG_STARTS_REQUEST = 1,
	SIG_PERSISTENT = 2,
	SIG_ANY_SOURCE = 4, /* posted with a wildcard; peer and tag are the actual ones if SIZED */
	SIG_ANY_TAG = 8,
	SIG_SIZED = 16,	       /* received bytes are known */
	SIG_POLLS = 32,	       /* unsuccessful tests; two extra words */
	SIG_FAILED = 64,       /* the call returned an error */
	SIG_SYNCHRONOUS = 128, /* Ssend family: returns (completes) only when matched */
};

/* Which collective, for wait states and traffic; one value serves blocking, I- and persistent forms. */
enum sig_coll {
	COLL_NONE = 0,
	COLL_BARRIER,
	COLL_BCAST,
	COLL_REDUCE,
	COLL_GATHER,
	COLL_GATHERV,
	COLL_SCATTER,
	COLL_SCATTERV,
	COLL_ALLREDUCE,
	COLL_ALLGATHER,
	COLL_ALLGATHERV,
	COLL_ALLTOALL,
	COLL_ALLTOALLV,
	COLL_REDUCE_SCATTER, /* list: sizes per peer */
	COLL_REDUCE_SCATTER_BLOCK,
	COLL_SCAN,
	COLL_EXSCAN,
	COLL_NEIGHBOR,		  /* neighbourhood collectives: to each out-neighbour, from each in-neighbour */
	COLL_NEIGHBOR_ALLGATHERV, /* list: sizes from each in-neighbour */
	COLL_NEIGHBOR_ALLTOALLV,  /* list: sizes to each out-neighbour */
	COLL_KINDS
};

static inline bool coll_is_neighborhood(enum sig_coll kind)
{
	return kind >= COLL_NEIGHBOR && kind <= COLL_NEIGHBOR_ALLTOALLV;
}

/* The traced region begins behind MPI_Init, or the first session's, and ends before MPI_Finalize, or the last
 * session's: these have no share of it. */
static inline bool op_is_outside_region(const char *op)
{
	static const char *const names[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init",
					    "MPI_Session_finalize"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(op, names[i]) == 0)
			return true;
	return false;
}

/* Each member needs all others. */
static inline bool coll_is_all_for_all(int kind)
{
	return kind == COLL_BARRIER || (kind >= COLL_ALLREDUCE && kind <= COLL_REDUCE_SCATTER_BLOCK);
}

/* Its members' data meet in an operation, which may be the program's. */
static inline bool coll_reduces(enum sig_coll kind)
{
	return kind == COLL_REDUCE || kind == COLL_ALLREDUCE || kind == COLL_REDUCE_SCATTER ||
	       kind == COLL_REDUCE_SCATTER_BLOCK || kind == COLL_SCAN || kind == COLL_EXSCAN;
}

static inline bool coll_is_rooted(enum sig_coll kind)
{
	return kind == COLL_BCAST || kind == COLL_REDUCE || kind == COLL_GATHER || kind == COLL_GATHERV ||
	       kind == COLL_SCATTER || kind == COLL_SCATTERV;
}

/* Which one-sided call. */
enum sig_rma {
	RMA_OTHER = 0, /* Attach, Detach, names, attributes */
	RMA_CREATE,
	RMA_FREE,
	RMA_PUT,
	RMA_GET,
	RMA_ACCUMULATE,
	RMA_FETCH, /* Get_accumulate, Fetch_and_op, Compare_and_swap: bytes both ways */
	RMA_FENCE,
	RMA_POST,
	RMA_START,
	RMA_COMPLETE,
	RMA_WAIT, /* and Win_test */
	RMA_LOCK,
	RMA_UNLOCK,
	RMA_FLUSH,
	RMA_FLUSH_LOCAL,
	RMA_SYNC,
	RMA_KINDS
};

static inline bool rma_moves_data(enum sig_rma kind)
{
	return kind >= RMA_PUT && kind <= RMA_FETCH;
}

/* Which call on a file. */
enum sig_io {
	IO_OTHER = 0, /* Seek, Set_view, Sync, Set_size ... */
	IO_OPEN,
	IO_CLOSE,
	IO_READ,
	IO_WRITE,
	IO_KINDS
};

enum sig_io_how {
	IO_EXPLICIT = 1, /* offset given (_at); neither EXPLICIT nor SHARED: the individual file pointer */
	IO_SHARED = 2,	 /* the shared file pointer */
	IO_COLLECTIVE = 4,
	IO_BEGIN = 8, /* first half of a split call: the bytes stand in the second */
	IO_END = 16,
};

/* Special peers. */
#define SIG_PROC_NULL (-2)
#define SIG_ANY (-1)
#define SIG_ROOT (-3) /* MPI_ROOT of an inter-communicator */
#define SIG_NO_ROOT (-1)
#define SIG_NO_COMM 0xffffffffu
#define SIG_GROUP_WORDS_MAX 1024u /* of Post and Start: with as many some of the group are not known */

struct sig_run {
	uint64_t value;
	uint32_t count;
	bool descending, absolute, other_thread;
	uint32_t thread; /* if other_thread */
};

struct sig_call {
	uint16_t op;
	enum sig_shape shape;
	uint8_t flags;
	bool literal_follows; /* TIME with list = 1 */
	bool partitioned;     /* SEND, RECV */
	bool continues;	      /* START or COMPLETE with kind = 1 */
	bool unknown;	      /* a TIME in place of what this program cannot decode */
	enum sig_coll coll;
	uint64_t address;
	uint32_t comm; /* SEND, RECV, SENDRECV, PROBE, COLL; COMM: the parent; SIG_NO_COMM: none */
	int32_t peer;  /* SENDRECV: the destination; COLL: the root; RMA: the target */
	int32_t tag;
	uint32_t datatype;
	uint64_t count;
	int32_t recv_peer, recv_tag; /* SENDRECV: the source */
	uint32_t recv_datatype;
	uint64_t recv_count;
	uint64_t received_bytes;		   /* if SIZED */
	uint64_t send_unit_bytes, recv_unit_bytes; /* COLL */
	uint32_t new_comm;			   /* COMM */
	uint32_t object;			   /* IO: file id; RMA: window id */
	uint64_t bytes;				   /* PROBE, IO; RMA: to the target */
	uint64_t fetched_bytes;			   /* RMA: from the target */
	uint64_t moved_bytes; /* by the call, where its words say it; of messages and collectives bytes.c knows */
	enum sig_rma rma;
	uint32_t assertion, lock_type; /* RMA synchronisation */
	enum sig_io io;
	uint32_t io_how;		      /* enum sig_io_how */
	uint32_t requests;		      /* START, COMPLETE: length of the array passed */
	const uint64_t *list, *runs, *frames; /* point into the words decoded */
	uint32_t nlist;			      /* COLL, RMA: words; COMPLETE: statuses (3 words each) */
	uint32_t nruns;			      /* use sig_next_run */
	uint32_t nrun_words;
	uint32_t nframes;
	uint32_t nwords; /* of the whole signature */
};

#define SIG_WORDS_MIN 2u /* the head and the address of the caller */
/* Decode one signature; every count is checked against nwords. A shape or kind not known here, or words that do not
 * fill their shape, make an unknown one: operation, flags and address are kept. 0, or -EBADMSG below two words. */
int sig_decode(const uint64_t *words, uint32_t nwords, struct sig_call *ret_call);
/* Walk the runs: *index starts at 0 and advances by words. 1 and *ret_run, 0 at the end. */
int sig_next_run(const struct sig_call *call, uint32_t *index, struct sig_run *ret_run);

struct sig_status {
	uint32_t index; /* which of the completed requests, in order of the runs */
	int32_t source, tag;
	bool cancelled;
	uint64_t bytes;
};

/* The i-th status of a COMPLETE. */
void sig_status_at(const struct sig_call *call, uint32_t i, struct sig_status *ret_status);

/* Word building, used by pmpi/ and tests. */
static inline uint64_t sig_pair(uint32_t low, uint32_t high)
{
	return (uint64_t)low | (uint64_t)high << 32;
}

static inline uint64_t sig_head(uint16_t op, enum sig_shape shape, unsigned flags, unsigned list, unsigned frames,
				unsigned kind)
{
	return (uint64_t)op | (uint64_t)shape << 16 | (uint64_t)(flags & 0xff) << 24 | (uint64_t)(list & 0xffff) << 32 |
	       (uint64_t)(frames & 0xff) << 48 | (uint64_t)(kind & 0xff) << 56;
}

#define SIG_RUN_COUNT_MAX ((1u << 18) - 1)
#define SIG_RUN_DESCENDING (1ull << 58)
#define SIG_RUN_ABSOLUTE (1ull << 59)
#define SIG_RUN_OTHER_THREAD (1ull << 60)

static inline uint64_t sig_run_word(uint64_t value, uint32_t count, uint64_t run_flags)
{
	return (value & ((1ull << 40) - 1)) | (uint64_t)count << 40 | run_flags;
}
