/* early.c - threads use MPI while the main thread has not come back from bringing it up yet.
 * early initialized: as soon as MPI_Initialized says yes. early sessions: each begins a session of its own, at once.
 * early again: nobody is early, but a session begins when MPI_Finalize is over. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 12
#define TIMES 200

static pthread_barrier_t together;

static void talk_to_self(MPI_Comm comm, int tag)
{
	for (int i = 0; i < TIMES; i++) {
		MPI_Request r[2];
		int sent = i, got;
		MPI_Irecv(&got, 1, MPI_INT, 0, tag + i, comm, &r[0]);
		MPI_Isend(&sent, 1, MPI_INT, 0, tag + i, comm, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	}
}

static void *when_initialized(void *number)
{
	int up = 0;
	while (!up)
		MPI_Initialized(&up);
	talk_to_self(MPI_COMM_SELF, (int)(long)number * TIMES);
	return NULL;
}

#if MPI_VERSION >= 4
static void again(void)
{
	MPI_Session s;
	MPI_Group group;
	int n;
	MPI_Init(NULL, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);
	MPI_Group_from_session_pset(s, "mpi://SELF", &group);
	for (int i = 0; i < TIMES; i++)
		MPI_Group_size(group, &n);
	MPI_Group_free(&group);
	MPI_Session_finalize(&s);
	puts("done");
}

static void *session(void *number)
{
	char name[] = "thread a";
	MPI_Session s;
	MPI_Group group;
	MPI_Comm comm;
	name[sizeof(name) - 2] += (char)(long)number;
	pthread_barrier_wait(&together);
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);
	pthread_barrier_wait(&together);
	MPI_Group_from_session_pset(s, "mpi://SELF", &group);
	MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Group_free(&group);
	talk_to_self(comm, 0);
	MPI_Comm_free(&comm);
	pthread_barrier_wait(&together);
	MPI_Session_finalize(&s);
	return NULL;
}
#else
static void again(void)
{
	exit(77);
}

static void *session(void *number)
{
	(void)number;
	exit(77);
}
#endif

int main(int argc, char **argv)
{
	int provided, sessions = argc > 1 && strcmp(argv[1], "sessions") == 0;
	pthread_t threads[THREADS];
	if (argc > 1 && strcmp(argv[1], "again") == 0) {
		again();
		return 0;
	}
	pthread_barrier_init(&together, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, sessions ? session : when_initialized, (void *)i);
	if (!sessions)
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (!sessions)
		MPI_Finalize();
	puts("done");
	return 0;
}
