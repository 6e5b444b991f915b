/* stub_mpi.h - what the calls of the stub give back. */
#pragma once

#include <mpi.h>

#define STUB_MEMBERS 64

struct stub_members {
	int n;
	int ranks[STUB_MEMBERS]; /* of the world */
};

extern struct stub {
	int size, rank; /* of the world; one rank has no groups */
	int error;	/* of the next call that can fail */
	int source, tag, bytes;
	int done[STUB_MEMBERS], ndone;	 /* indices of requests that are complete */
	MPI_Request persistent;		 /* stays when it is complete; of Send_init, the last one */
	struct stub_members next;	 /* of the communicator that is made next */
	struct stub_members next_remote; /* n > 0: it is an inter-communicator, and these are the others */
	int parents;			 /* processes that started this one */
	void (*reduction)(void);	 /* a function of the program that MPI_Allreduce calls */
} stub;
