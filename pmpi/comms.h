/* comms.h - communicators: which numbers stand for which handles, and who is in them. */
#pragma once

#include "format/mpic.h"
#include "pmpi/handles.h"
#include "pmpi/library.h"

/* What a call on a communicator must know of it. */
struct comm_view {
	uint32_t id;	      /* MPIC_NO_COMM: no room for it, or MPI_COMM_NULL */
	int32_t rank;	      /* mine in it; -1 if none */
	uint32_t size;	      /* of the local group */
	uint32_t remote_size; /* 0 unless inter */
};

void comms_begin(void) HIDDEN COLD; /* after MPI_Init: MPI_COMM_WORLD, MPI_COMM_SELF */
/* After MPI_Session_init: world ranks are those of group, which is ours from now on. */
void comms_begin_without_world(MPI_Group group) HIDDEN COLD;
struct comm_view comm_find_slow(MPI_Comm comm) HIDDEN COLD;
/* Enter newcomm, created by op from parent. salt distinguishes siblings that are not ordered by the parent's
 * collectives (create_group, intercomm_create: the tag), else -1. Returns its id, MPIC_NO_COMM for MPI_COMM_NULL. */
uint32_t comm_created(uint32_t op, MPI_Comm parent, MPI_Comm newcomm, int64_t salt) HIDDEN;
/* MPI_Comm_idup returned: newcomm gets its place among the parent's children now and is entered at its first use. */
void comm_promised(uint32_t op, MPI_Comm parent, MPI_Comm newcomm) HIDDEN COLD;
/* What it is known as; MPIC_NO_COMM: it is not, and MPI is not asked, as it may be no communicator. */
uint32_t comm_known(MPI_Comm comm) HIDDEN;
/* Before it is freed, as the library may give the handle to another thread at once: it stands for nothing from now on.
 * For comm_left(). */
uint32_t comm_leaves(MPI_Comm comm) HIDDEN;
/* It is freed, or stays what it was: MPI has refused. */
void comm_left(MPI_Comm comm, uint32_t place, bool stays) HIDDEN;
void comm_named(MPI_Comm comm, const char *name) HIDDEN COLD;
/* How many neighbours this rank has in comm's topology; who they are becomes a definition at the first use. */
struct comm_degree {
	uint32_t in, out;
};
struct comm_degree comm_neighbors(MPI_Comm comm) HIDDEN COLD;
/* A window or file is made on comm: a global id for it that all members agree on. */
uint64_t comm_next_object(MPI_Comm comm, uint32_t *ret_comm_id) HIDDEN COLD;
/* None of MPI_GROUP_NULL, which some libraries take: MPI would tell the program of an error of ours.
 * Members as words {first world rank:32 | stride:16 | count:16}, -1 for a process of another world; at most max
 * words. */
uint32_t group_words(MPI_Group group, uint64_t *ret_words, uint32_t max) HIDDEN COLD;

extern struct handle_cache comm_cache HIDDEN;

static inline uint64_t comm_bits(MPI_Comm comm)
{
	return (uint64_t)(uintptr_t)comm;
}

/* One that nobody saw being created is entered now. */
INLINE struct comm_view comm_find(MPI_Comm comm)
{
	struct handle_cached c;
	if (__builtin_expect(!handle_cache_get(&comm_cache, comm_bits(comm), HANDLE_ID | HANDLE_A | HANDLE_B, &c),
			     false))
		return comm_find_slow(comm);
	return (struct comm_view){c.id, (int32_t)(uint32_t)c.a, (uint32_t)(c.a >> 32), (uint32_t)c.b};
}

INLINE uint32_t comm_id(MPI_Comm comm)
{
	struct handle_cached c;
	if (__builtin_expect(!handle_cache_get(&comm_cache, comm_bits(comm), HANDLE_ID, &c), false))
		return comm_find_slow(comm).id;
	return c.id;
}
