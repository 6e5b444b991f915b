/* segment.h - the shared file of one traced process: written by pmpi/ inside the program, drained by collect/.
 *
 * The file is mapped MAP_SHARED by both, grows by regions that are allocated (posix_fallocate) before they are
 * mapped, and lives in the step's ranks/ directory. Everything the program committed is there after any death of it.
 *
 *   0                 struct segfile (some pages): who, when, table of regions
 *   regions[i]        THREAD   one struct thread_area: counters of one thread, or of several, one after the other
 *                     DEFS     struct defs_area, then definition records (mpic.h)
 *                     TOTALS   struct segment_total[]: index = signature id; consecutive regions continue
 *                     RING     segments of SEGMENT_BYTES: struct segment, then records
 *
 * A record is one u64: signature in bits 0-15, gap in 16-39, duration in 40-63, both in ticks. Bits 0-15 all ones
 * make it a long record: signature in bits 16-39, number of extra words in 40-63, then u64 gap, u64 duration, the
 * extra words.
 *
 * `<name>.spill` beside it: segments the agent had no time for, written whole by the program at place *
 * SPILL_SLOT_BYTES: struct segment as in the ring, then `committed` bytes of records. The i-th of them is at
 * spill_place[i % SPILL_SEGMENTS_MAX]; places of segments that are in the trace are used again, so the file is as
 * long as the agent ever was behind. */
#pragma once

#include "base/tick.h"
#include "format/uncounted.h"

#include <stdatomic.h>
#include <stdint.h>

#define SEGFILE_MAGIC 0x3174726d69706d74ull
#define SEGFILE_VERSION 21
/* Beside them: in words what the site does not want to be recorded, `profile` (single calls), `arguments`, `paths`,
 * `hosts`; absent: nothing. Variables that say the same may get lost on the way to a program. */
#define FORBIDDEN_FILENAME "forbidden"
#define FORBIDDEN_BYTES_MAX 256u
/* Empty: tasks run without the tracer, and why has been said. */
#define UNSET_FILENAME "unset"

#define SEGFILE_SUFFIX ".mpit"
#define SPILL_SUFFIX ".spill"
#define SPILL_SLOT_BYTES (256u << 10)
#define SPILL_SEGMENTS_MAX 16384u /* not drained; then events are lost, and counted */
#define SEGFILE_THREADS_MAX 255	  /* at once; each takes four regions, and more the more different calls it makes */
#define SEGFILE_REGIONS_MAX 4096
#define SEGFILE_HEAD_BYTES 196608
#define RING_SEGMENTS 16 /* of the main thread; touched as far as needed */

#define SEGREC_LONG 0xffffu	   /* in place of a signature */
#define SEGREC_TICKS_MAX 0xffffffu /* gap or duration of a short record */
#define SEGREC_EXTRA_MAX 8192

static inline uint64_t segrec_short(uint32_t sig, uint64_t gap, uint64_t duration)
{
	return sig | gap << 16 | duration << 40;
}

static inline uint64_t segrec_long(uint32_t sig, uint32_t nextra)
{
	return SEGREC_LONG | (uint64_t)sig << 16 | (uint64_t)nextra << 40;
}

enum segfile_state { SEGFILE_RUNNING = 0, SEGFILE_FINALIZED = 1, SEGFILE_ABORTED = 2 };
enum region_type { REGION_NONE = 0, REGION_THREAD, REGION_DEFS, REGION_TOTALS, REGION_RING };

struct region {
	uint32_t type;
	uint32_t thread;
	uint64_t offset;
	uint64_t len_bytes;
};

/* Which MPI call a thread is in, for when it never returns. The program stores it before the call and never waits for
 * anybody to read it: it counts when the process is dead. At THREAD_OPEN_OFFSET in the region of the thread. */
struct open_call {
	uint64_t inside; /* frame of the call; 0: the thread is in none */
	uint32_t sig;	 /* of the call, or open_by_name() */
	uint32_t reserved;
	uint64_t enter_tick;
};

/* A call by its operation. If shape (enum sig_shape) is not 0, the open words say more of it. kind: enum sig_coll, or
 * sig_rma. */
#define OPEN_BY_NAME 0x80000000u
#define OPEN_OP 0xfffu

static inline uint32_t open_by_name(uint32_t op, uint32_t shape, uint32_t kind)
{
	return OPEN_BY_NAME | op | shape << 12 | kind << 20;
}

static inline uint32_t open_shape(uint32_t sig)
{
	return sig >> 12 & 0xff;
}

static inline uint32_t open_kind(uint32_t sig)
{
	return sig >> 20 & 0xff;
}

#define THREAD_OPEN_OFFSET 1088u

/* By which signature the thread started its last requests, at THREAD_STARTED_OFFSET: that of serial number n at place
 * n % THREAD_STARTED. For the agent, should the thread wait for one that never comes. */
#define THREAD_STARTED_OFFSET 576u
#define THREAD_STARTED 64u

/* Never 0, as what nothing was stored at. */
static inline uint64_t started_word(uint64_t serial, uint32_t sig)
{
	return (uint64_t)(uint32_t)serial | (uint64_t)(sig + 1) << 32;
}

/* What more is known of it. Ranks and tags are the library's. Of RMA comm is the window's number, tag what is asserted,
 * recv_tag the type of the lock as in its signature; of Start as many words of its list as nrequests says lie in place
 * of requests. */
#define OPEN_REQUESTS_MAX 16u
#define OPEN_GROUP_MAX (2 * OPEN_REQUESTS_MAX - 2)
struct open_words {
	uint64_t address;
	uint64_t comm; /* handle */
	int32_t peer, tag, recv_peer, recv_tag;
	uint32_t nrequests, reserved;
	struct open_request {
		uint64_t serial, thread;
	} requests[OPEN_REQUESTS_MAX];
};

/* What a handle of a communicator stands for, at one of some places from that of its hash on. Where all of them are
 * taken, the newest has the first. */
#define OPEN_COMMS_BITS 8u
#define OPEN_COMM_PLACES 4u
struct open_comm {
	uint64_t handle;
	uint64_t id; /* of its definition */
};

/* The i-th of its places. */
static inline uint32_t open_comm_place(uint64_t handle, uint32_t i)
{
	uint32_t first = (uint32_t)(handle * 0x9e3779b97f4a7c15ull >> (64 - OPEN_COMMS_BITS));
	return (first + i) & ((1u << OPEN_COMMS_BITS) - 1);
}

#define SEGFILE_HELPERS_MAX 64u

struct segfile {
	uint64_t magic; /* stored last, with release order: the file is readable from then on */
	uint32_t version;
	uint32_t pid;
	uint64_t pid_namespace;	 /* inode: the pid means something only inside it */
	uint64_t process_start;	 /* /proc/self/stat field 22: distinguishes a reused pid from this process */
	uint64_t time_namespace; /* inode, 0: there are none: and that means something only inside this one */
	_Atomic uint32_t state;
	_Atomic uint32_t stop_events; /* set by the agent: the event budget is spent, totals go on */
	_Atomic uint32_t nregions;    /* release, after the row is written; the agent's acquire is its partner */
	uint32_t ticks_are_tsc;
	int32_t rank, size;		      /* -1 before MPI_Init returned */
	int32_t launched_rank, launched_size; /* what the launcher says that they will be; -1: it says nothing */
	int32_t thread_level;
	uint32_t overhead_ps;	    /* added per call, measured at start */
	uint32_t recording_ticks_m; /* of it, as recording_ticks of a thread by recording_calls; thousandths */
	uint32_t inside_ticks_m;    /* of it, what lies in the time that is recorded of the call; thousandths */
	uint64_t start_tick, init_exit_tick, finalize_enter_tick, end_tick;
	struct tick_sample clock_start, clock_end;
	int32_t cpu; /* where MPI_Init ran */
	int32_t appnum;
	char exe[4096];
	char argv[4096]; /* words separated by NUL */
	uint32_t argv_len_bytes;
	uint32_t argv_missing_bytes; /* what did not fit */
	uint32_t modules_missing;    /* loaded objects not among the definitions: call sites in them stay addresses */
	uint32_t modules_replaced;   /* loaded objects that lie where others were that called MPI */
	char library[256];
	char transports[256]; /* loaded parts that carry messages, comma-separated */
	char cpus[4096];      /* allowed processors, "0-3,8" */
	char host[256];
	char switches[4096];	    /* SLURM_TOPOLOGY_ADDR and _PATTERN, as the task saw them */
	char job_namespace[128];    /* PMIX_NAMESPACE: one for each MPI_COMM_WORLD; empty: not known */
	char parent_namespace[128]; /* of those who spawned this world; empty: not known */
	uint64_t calls_before_init; /* of MPI functions that may be called then; they are no events */
#define SEGFILE_COUNT(name, lacks, noun, said) _Atomic uint64_t name;
	UNCOUNTED(SEGFILE_COUNT)
#undef SEGFILE_COUNT
	int32_t parents; /* how many spawned this world; 0: it was not spawned */
	struct region regions[SEGFILE_REGIONS_MAX];
	_Atomic uint64_t spilled; /* segments in the spill file that are whole; release, after they are written */
	_Atomic uint64_t
		spill_drained; /* by the agent: so many of them are in the trace; release, their places are free */
	uint32_t spill_place[SPILL_SEGMENTS_MAX];
	int32_t any_source, proc_null; /* of this MPI */
	struct open_comm comms[1u << OPEN_COMMS_BITS];
	/* Where threads may call MPI at the same time: those that the MPI library started in MPI_Init, as the kernel
	 * numbers them. */
	_Atomic uint32_t helpers_known; /* release, after they are written */
	uint32_t nhelpers;
	uint32_t helpers[SEGFILE_HELPERS_MAX];
};

_Static_assert(sizeof(struct segfile) <= SEGFILE_HEAD_BYTES, "the head must fit its place");

/* A run of unsuccessful tests that is still growing; recorded as one event when it ends. */
struct pending_polls {
	uint32_t sig;
	uint32_t busy; /* non-zero while it stands */
	uint64_t calls, ticks;
	uint64_t enter_tick, exit_tick, previous_exit_tick;
};

enum thread_counted { THREAD_UNCOUNTED = 0, THREAD_COUNTED, THREAD_COUNTED_AT_END };

struct thread_area {
	uint64_t calls;	 /* seen at the interface */
	uint64_t events; /* recorded one by one */
	uint64_t lost;	 /* calls of which the event was not recorded (totals still count them) */
	uint64_t lost_from_tick;
	uint64_t lost_reason;	   /* enum lost_reason of the first loss */
	_Atomic uint64_t next_seq; /* of segments */
	struct pending_polls polls;
	/* Where the tracer's work was more than what overhead_ps says: new signatures, datatypes, communicators,
	 * segments. */
	uint64_t slow_calls, slow_ticks;
	/* Of a sample of other calls: from when they returned to the end of their recording. */
	uint64_t recording_calls, recording_ticks;
	uint64_t defs_missing; /* definitions that found no room, but for signatures: events carry those */
	/* By the agent, here because it may die: events that it took from the program and could not write. */
	uint64_t dropped, dropped_from_tick;
	uint32_t tid;		 /* of the kernel: /proc/PID/task/TID; of the thread that has the area now */
	uint32_t threads_before; /* that had it, one after the other, and have ended */
	uint64_t unused_ticks;	 /* from the last call of each of them to the first of the next */
	/* What the kernel counted of who has it now, when it ended or MPI_Finalize began, and of those before; without
	 * what the thread that initialised MPI had behind it when MPI_Init returned. */
	_Atomic int64_t running_ns, ready_ns; /* on a processor; ready to run, and on none */
	int64_t running_from_ns, ready_from_ns, running_before_ns, ready_before_ns;
	_Atomic uint32_t counted; /* enum thread_counted */
	uint32_t counted_before;  /* threads */
	struct open_words open;
};

_Static_assert(sizeof(struct thread_area) <= THREAD_STARTED_OFFSET, "what was started has its place");
_Static_assert(THREAD_STARTED_OFFSET + THREAD_STARTED * sizeof(uint64_t) <= THREAD_OPEN_OFFSET, "so has the open call");

enum lost_reason {
	LOST_NOTHING = 0,
	LOST_BUDGET,
	LOST_SPILL_FULL,
	LOST_DICTIONARY_FULL,
	LOST_MODE,
	LOST_PAUSED,
	LOST_SPILL_REFUSED, /* the process may not write there, or not so much */
	LOST_CONFINED,	    /* it has forbidden itself system calls */
};

struct defs_area {
	_Atomic uint32_t committed; /* bytes of records after this header; release/acquire */
	uint32_t reserved[15];
};

struct segment_total {
	uint64_t calls;
	uint64_t ticks;
};

enum segment_state { SEGMENT_FREE = 0, SEGMENT_OPEN = 1, SEGMENT_FULL = 2 };

struct segment {
	_Atomic uint32_t state;	    /* OPEN, FULL by the program; FREE by the agent when drained */
	_Atomic uint32_t committed; /* bytes of records: final once stored with release order */
	uint32_t thread;
	uint32_t len_bytes; /* of this slot, header included */
	uint64_t seq;
	uint64_t begin_tick; /* exit of the event before the first */
	uint64_t reserved[4];
};

_Static_assert(sizeof(struct segment) == 64, "records start on a cache line");
