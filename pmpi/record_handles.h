/* record_handles.h - calls that make communicators and datatypes. */
#pragma once

#include "pmpi/record.h"

/* For the agent, should the call never return: it makes a communicator of that one. */
void span_waits_comm(const struct call_span *s, uint32_t op, MPI_Comm comm) HIDDEN;

/* ---- communicators ---- */

void record_comm_any(struct call_span *s, uint32_t op, MPI_Comm parent, MPI_Comm newcomm, int64_t salt) HIDDEN;

#define record_comm(s, op, flags, request, parent, newcomm) \
	record_comm_any(s, op, parent, (s)->failed ? MPI_COMM_NULL : *(newcomm), -1)
#define record_comm_group(s, op, flags, request, parent, tag, newcomm) \
	record_comm_any(s, op, parent, (s)->failed ? MPI_COMM_NULL : *(newcomm), (int64_t)(tag))
#define record_intercomm(s, op, flags, request, parent, tag, newcomm) \
	record_comm_any(s, op, parent, (s)->failed ? MPI_COMM_NULL : *(newcomm), (int64_t)(tag) | 1ll << 40)

/* Two groups meet by a port or a socket: each knows only its own side's communicator, so members identify them. */
#define record_meeting(s, op, flags, request, parent, newcomm) \
	record_comm_any(s, op, parent, (s)->failed ? MPI_COMM_NULL : *(newcomm), 1ll << 42)

/* No parent: members and the string distinguish communicators. */
#define record_comm_tagged(s, op, flags, request, stringtag, newcomm) \
	record_comm_any(s, op, MPI_COMM_NULL, (s)->failed ? MPI_COMM_NULL : *(newcomm), tag_salt(stringtag))
int64_t tag_salt(const char *stringtag) HIDDEN COLD;

/* ---- datatypes ---- */

/* newtype is made of so many oldtype as fit into its size. */
void record_type_made(struct call_span *s, uint32_t op, MPI_Datatype oldtype, const MPI_Datatype *newtype) HIDDEN;
void record_type_struct_made(struct call_span *s, uint32_t op, MPI_Count count, const void *blocklengths, bool wide,
			     const MPI_Datatype *types, const MPI_Datatype *newtype) HIDDEN;

#define record_type(s, op, flags, request, oldtype, newtype) record_type_made(s, op, oldtype, newtype)
#define record_type_struct(s, op, flags, request, count, blocklengths, types, newtype) \
	record_type_struct_made(s, op, count, blocklengths, sizeof(*(blocklengths)) == 8, types, newtype)
