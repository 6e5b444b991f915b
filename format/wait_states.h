/* wait_states.h - the wait states: a row each, all that is said of one in one place. The number of a state in an .mpix
 * is its place here and 1, so rows are only appended. postproc/stream/ finds them, docs/SEMANTICS.md defines them.
 * LATE_SENDER_WRONG_ORDER and LATE_COMPLETE are parts of another one, not counted again in sums.
 * tests/integration/schema.py holds the schema, SPEC.md and the viewer against this. */
#pragma once

/* clang-format off */
#define WAIT_STATE_TABLE(ROW) \
	/*  in C                     by name                  in words                       what it is */ \
	ROW(LATE_SENDER,             late_sender,             "late sender",                 "a receive was there before its send") \
	ROW(LATE_SENDER_WRONG_ORDER, late_sender_wrong_order, "late sender, wrong order",    "another message could have been received first") \
	ROW(LATE_RECEIVER,           late_receiver,           "late receiver",               "a blocking send was there before its receive") \
	ROW(WAIT_AT_BARRIER,         wait_at_barrier,         "wait at barrier",             "early at a barrier, until the last rank came") \
	ROW(BARRIER_COMPLETION,      barrier_completion,      "barrier completion",          "leaving a barrier after all had come") \
	ROW(WAIT_AT_NXN,             wait_at_nxn,             "wait at N\xc3\x97N collective", "early at an all-to-all collective, until the last rank came") \
	ROW(NXN_COMPLETION,          nxn_completion,          "N\xc3\x97N completion",       "leaving such a collective after all had come") \
	ROW(LATE_BROADCAST,          late_broadcast,          "late broadcast",              "waiting for the root of a broadcast or scatter") \
	ROW(EARLY_REDUCE,            early_reduce,            "early reduce",                "a root waiting for the first rank that contributes") \
	ROW(EARLY_SCAN,              early_scan,              "early scan",                  "waiting for lower ranks in a scan") \
	ROW(LATE_REDUCE,             late_reduce,             "late reduce",                 "a root waiting for the last rank that contributes, after the first") \
	ROW(WAIT_AT_CREATE,          wait_at_create,          "wait at window creation",     "until the last rank came to make a window") \
	ROW(WAIT_AT_FENCE,           wait_at_fence,           "wait at fence",               "early at a fence, until the last rank came") \
	ROW(WAIT_AT_FREE,            wait_at_free,            "wait at window free",         "until the last rank came to free a window") \
	ROW(LATE_POST,               late_post,               "late post",                   "an origin that had started, until its target posted") \
	ROW(EARLY_WAIT,              early_wait,              "early wait",                  "a target in MPI_Win_wait, until its last origin called MPI_Win_complete") \
	ROW(LATE_COMPLETE,           late_complete,           "late complete",               "the part of it after that origin's last access") \
	ROW(EARLY_TRANSFER,          early_transfer,          "early transfer",              "a one-sided access, until its target posted") \
	ROW(LOCK_CONTENTION,         lock_contention,         "lock contention",             "until another rank gave back a lock") \
	ROW(WAIT_FOR_PROGRESS,       wait_for_progress,       "wait for progress",           "a passive target computed instead of answering") \
	ROW(WAIT_AT_COLLECTIVE_IO,   wait_at_collective_io,   "wait at collective I/O",      "early at a collective call on a file, until the last rank came") \
	ROW(WAIT_AT_NEIGHBORS,       wait_at_neighbors,       "wait at neighbourhood collective", "early at a neighbourhood collective, until the last neighbour came that sends to this rank") \
	ROW(WAIT_AT_COMM_CREATE,     wait_at_comm_create,     "wait at communicator creation", "until the last rank came to make a communicator") \
	ROW(WAIT_AT_COMM_FREE,       wait_at_comm_free,       "wait at communicator free",   "until the last rank came to free a communicator") \
	ROW(LATE_PROGRESS,           late_progress,           "late progress",               "a send that needed its receiver inside of MPI, which computed") \
	ROW(POLLING,                 polling,                 "polling",                     "tests in vain, until what they tested for came") \
	/* adding one: a row here, its definition in docs/SEMANTICS.md */
/* clang-format on */
