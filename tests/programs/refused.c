/* refused.c - 2 ranks: calls that MPI refuses with an error, since an argument is not there or no handle; it leaves
 * alone what it would return. Prints the class of each. Then a communicator that stays, since a callback refuses to let
 * it go, and messages on it as before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES 10
#define GARBAGE 0x40404040

static int rank;

static void say(const char *what, int rc)
{
	int class = 0;
	MPI_Error_class(rc, &class);
	printf("%d %s: class %d\n", rank, what, class);
}

static void not_there(void)
{
	MPI_Message none = MPI_MESSAGE_NULL;
	MPI_Request request = MPI_REQUEST_NULL;
	int n = 0;
	char c;
	say("Wait", MPI_Wait(NULL, MPI_STATUS_IGNORE));
	say("Waitall", MPI_Waitall(3, NULL, MPI_STATUSES_IGNORE));
	say("Waitall, many", MPI_Waitall(30, NULL, MPI_STATUSES_IGNORE));
	say("Waitany", MPI_Waitany(1, NULL, &n, MPI_STATUS_IGNORE));
	say("Waitany, index", MPI_Waitany(1, &request, NULL, MPI_STATUS_IGNORE));
	say("Waitsome", MPI_Waitsome(1, NULL, &n, &n, MPI_STATUSES_IGNORE));
	say("Waitsome, outcount", MPI_Waitsome(1, &request, NULL, &n, MPI_STATUSES_IGNORE));
	say("Test", MPI_Test(NULL, &n, MPI_STATUS_IGNORE));
	say("Testall", MPI_Testall(1, NULL, &n, MPI_STATUSES_IGNORE));
	say("Testany, index", MPI_Testany(1, &request, NULL, &n, MPI_STATUS_IGNORE));
	say("Testsome, outcount", MPI_Testsome(1, &request, NULL, &n, MPI_STATUSES_IGNORE));
	say("Request_free", MPI_Request_free(NULL));
	say("Cancel", MPI_Cancel(NULL));
	say("Start", MPI_Start(NULL));
	say("Startall", MPI_Startall(1, NULL));
#ifndef OPEN_MPI
	say("Comm_free", MPI_Comm_free(NULL));
	say("Comm_disconnect", MPI_Comm_disconnect(NULL));
	say("Win_free", MPI_Win_free(NULL));
	say("Mrecv", MPI_Mrecv(&c, 1, MPI_CHAR, NULL, MPI_STATUS_IGNORE));
	say("Imrecv", MPI_Imrecv(&c, 1, MPI_CHAR, NULL, &request));
#else
	say("Type_free", MPI_Type_free(NULL));
	say("File_close", MPI_File_close(NULL));
#endif
	(void)none, (void)c;
}

/* Handles that are none, and garbage where the results go. */
static void no_handles(void)
{
	MPI_Request zero[4];
	int index = GARBAGE, count = GARBAGE, flag = 0, indices[4] = {GARBAGE, -GARBAGE, GARBAGE, -1};
	memset(zero, 0, sizeof(zero));
	say("Waitany, no handles", MPI_Waitany(4, zero, &index, MPI_STATUS_IGNORE));
	say("Testany, no handles", MPI_Testany(4, zero, &index, &flag, MPI_STATUS_IGNORE));
	say("Waitsome, no handles", MPI_Waitsome(4, zero, &count, indices, MPI_STATUSES_IGNORE));
	count = 4;
	say("Testsome, no handles", MPI_Testsome(4, zero, &count, indices, MPI_STATUSES_IGNORE));
	printf("%d what they would return: %s\n", rank, index == GARBAGE ? "untouched" : "written");
}

static int refuse(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm, (void)key, (void)extra;
	return *(int *)value ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void stays(void)
{
	int key, refuses = rank == 0, data = 0;
	MPI_Comm comm, child;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL);
	MPI_Comm_set_attr(comm, key, &refuses);
	MPI_Comm before = comm;
	if (rank == 0)
		printf("0 Comm_free is refused: %d\n", MPI_Comm_free(&comm) != MPI_SUCCESS);
	comm = before;
	for (int i = 0; i < MESSAGES; i++)
		if (rank == 0)
			MPI_Send(&data, 1, MPI_INT, 1, i, comm);
		else
			MPI_Recv(&data, 1, MPI_INT, 0, i, comm, MPI_STATUS_IGNORE);
	MPI_Comm_dup(comm, &child);
	MPI_Barrier(child);
	MPI_Comm_free(&child);
	refuses = 0;
	MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	not_there();
	no_handles();
	stays();
	return MPI_Finalize();
}
