/* otf2.h - what the parts of the OTF2 exporter share: otf2.c writes events; otf2_rma.c and otf2_files.c those on
 * windows and files; otf2_started.c keeps what is not complete yet; otf2_definitions.c writes what events name. */
#pragma once

#include "base/index.h"
#include "base/vec.h"
#include "reports/export/format.h"
#include "reports/export/kinds.h"

#include <otf2/otf2.h>

enum otf2_started_kind {
	OTF2_STARTED_NOTHING, /* that OTF2 has records for */
	OTF2_STARTED_COLLECTIVE,
	OTF2_STARTED_RMA,
	OTF2_STARTED_FILE,
};

/* An operation that another call completes. */
struct otf2_started {
	uint64_t number;     /* of its notes */
	uint32_t kind, lane; /* enum otf2_started_kind */
	uint32_t object;     /* communicator, window or file */
	uint32_t root;	     /* COLLECTIVE */
	uint64_t sent_bytes, received_bytes;
	uint64_t matching; /* RMA, FILE */
	OTF2_CollectiveOp op;
};

struct otf2_table {
	struct otf2_started *at; /* number 0: free; a power of two of them, or none */
	size_t cap, n;
};

/* One window as one lane uses it. */
struct otf2_window {
	uint32_t id;
	uint32_t access, exposure; /* groups of the open epochs, or DEFINITION_NONE */
	VEC(struct otf2_transfer {
		uint64_t matching; /* ascending */
		uint32_t remote;
		bool local; /* complete here already */
	})
	transfers; /* not complete at the target */
};

struct otf2_lane {
	VEC(struct otf2_window) windows;
	VEC(struct otf2_split {
		uint32_t file;
		uint64_t matching;
	})
	splits;		      /* MPI_File_..._begin of which the end has not come */
	OTF2_TimeStamp until; /* end of its last event */
};

/* Locks and groups by (rank, signature). */
struct otf2_sync {
	uint32_t rank, signature, lock, group; /* DEFINITION_NONE: no group */
};

/* World ranks that synchronise on a window. */
struct otf2_group {
	uint32_t first, n; /* of members */
};

struct otf2 {
	OTF2_Archive *archive;
	OTF2_EvtWriter **writers; /* by lane; NULL: not open */
	uint64_t *events;	  /* by lane: how many records */
	struct op_kind *kinds;	  /* by operation */
	struct otf2_lane *lanes;
	struct otf2_table started;
	VEC(struct otf2_sync) syncs; /* ascending */
	VEC(struct otf2_group) groups;
	VEC(uint32_t) members;
	struct index group_index;
	uint32_t group_end;   /* lanes before it have been opened */
	uint32_t group_begin; /* lanes before it are closed */
	uint32_t world;	      /* communicator of all ranks */
	uint32_t strings;     /* how many are defined */
	uint64_t matching;    /* of one-sided calls and file operations */
	int64_t shift_ns;     /* OTF2's times are not negative */
	OTF2_AttributeList *attributes;
};

enum otf2_attribute { OTF2_CALLSITE, OTF2_WAIT, OTF2_POLLS, OTF2_OPEN_CALL };

/* One call while it is written. */
struct otf2_call {
	struct exporting *x;
	const struct export_event *ev;
	OTF2_EvtWriter *w;
	OTF2_TimeStamp start, end;
	struct op_kind kind;
};

/* 0, or -EIO with text. */
int otf2_check(struct exporting *x, OTF2_ErrorCode code);
/* Counted. */
OTF2_ErrorCode otf2_left_out(const struct otf2_call *a);
/* A communicator and a partner's rank in it; what has none of ours is of MPI_COMM_WORLD. */
uint32_t otf2_comm_of(const struct exporting *x, uint32_t comm, uint32_t rank, uint32_t *ret_rank);
/* Everything that events name, and the locations. */
int otf2_define(struct exporting *x);
/* The definition of group 0 of otf2.groups; others follow. */
uint32_t otf2_first_group(const struct exporting *x);

/* otf2_rma.c */
int otf2_rma_begin(struct exporting *x);
void otf2_rma_done(struct exporting *x);
OTF2_ErrorCode otf2_rma_start(const struct otf2_call *a);
OTF2_ErrorCode otf2_rma_end(const struct otf2_call *a);
/* Of a call that gives a request, after its start; and the call that completes that. */
struct otf2_started otf2_rma_started(const struct otf2_call *a);
OTF2_ErrorCode otf2_rma_completed(const struct otf2_call *a, const struct otf2_started *s);

/* otf2_files.c */
OTF2_ErrorCode otf2_file_start(const struct otf2_call *a);
OTF2_ErrorCode otf2_file_end(const struct otf2_call *a);
struct otf2_started otf2_file_started(const struct otf2_call *a);

/* otf2_started.c: 0 or -ENOMEM; false: nothing of that number was begun. */
int otf2_started_add(struct otf2_table *t, const struct otf2_started *s);
bool otf2_started_take(struct otf2_table *t, uint64_t number, struct otf2_started *ret_started);
void otf2_started_done(struct otf2_table *t);
void otf2_lane_done(struct otf2_lane *l);
