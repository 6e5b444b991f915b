/* worlds.c CASE - processes that meet later than in MPI_Init. `spawn`, `spawn_multiple`: everybody spawns two
 * children together, talks to them over the inter-communicator and over a merged one; `accept`: ranks 0 and 1
 * connect by a port; `join`: by a socket; `sessions`: no MPI_Init at all; `spawn_dying`: a child is killed. */
#include "truth.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int rank, size;

static void with_children(MPI_Comm children, int spawned)
{
	MPI_Comm merged;
	int in = 0, n, all;
	CALL(MPI_Comm_remote_size, children, &n);
	CALL(MPI_Barrier, children);
	/* to the one of equal rank, if there is: outside of this world */
	if (rank < n) {
		CALL(MPI_Send, &rank, 1, MPI_INT, rank, 1, children);
		CALL(MPI_Recv, &in, 1, MPI_INT, rank, 2, children, MPI_STATUS_IGNORE);
	}
	CALL(MPI_Intercomm_merge, children, spawned, &merged);
	CALL(MPI_Allreduce, &rank, &all, 1, MPI_INT, MPI_SUM, merged);
	CALL(MPI_Comm_free, &merged);
	CALL(MPI_Comm_disconnect, &children);
}

static void as_child(MPI_Comm parents)
{
	MPI_Comm merged;
	int in = 0, all;
	CALL(MPI_Barrier, parents);
	CALL(MPI_Recv, &in, 1, MPI_INT, rank, 1, parents, MPI_STATUS_IGNORE);
	CALL(MPI_Send, &in, 1, MPI_INT, rank, 2, parents);
	CALL(MPI_Intercomm_merge, parents, 1, &merged);
	CALL(MPI_Allreduce, &rank, &all, 1, MPI_INT, MPI_SUM, merged);
	CALL(MPI_Comm_free, &merged);
	CALL(MPI_Comm_disconnect, &parents);
}

static void spawn(char *program, int multiple, int dying)
{
	MPI_Comm children;
	char *words[] = {dying ? "dying" : "spawn", NULL}, *programs[2] = {program, program},
	     **argvs[2] = {words, words};
	int one_each[2] = {1, 1};
	MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
	if (multiple)
		CALL(MPI_Comm_spawn_multiple, 2, programs, argvs, one_each, infos, 0, MPI_COMM_WORLD, &children,
		     MPI_ERRCODES_IGNORE);
	else
		CALL(MPI_Comm_spawn, program, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
		     MPI_ERRCODES_IGNORE);
	with_children(children, 0);
	MPI_Comm half;
	CALL(MPI_Comm_split, MPI_COMM_WORLD, rank % 2, rank, &half);
	int n;
	CALL(MPI_Comm_size, half, &n);
	CALL(MPI_Allreduce, &rank, &n, 1, MPI_INT, MPI_SUM, half);
	CALL(MPI_Comm_free, &half);
}

/* Both in one world: what they send is between world ranks. */
static void accept_(void)
{
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm other = MPI_COMM_NULL;
	int in = 0;
	if (rank == 0)
		CALL(MPI_Open_port, MPI_INFO_NULL, port);
	CALL(MPI_Bcast, port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
	if (rank == 0)
		CALL(MPI_Comm_accept, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
	if (rank == 1)
		CALL(MPI_Comm_connect, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
	if (rank < 2) {
		CALL(MPI_Sendrecv, &rank, 1, MPI_INT, 0, 5, &in, 1, MPI_INT, 0, 5, other, MPI_STATUS_IGNORE);
		sent(1 - rank, 4);
		CALL(MPI_Comm_disconnect, &other);
	}
	if (rank == 0)
		CALL(MPI_Close_port, port);
	CALL(MPI_Barrier, MPI_COMM_WORLD);
}

static void join(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int ends = socket(AF_UNIX, SOCK_STREAM, 0), fd = ends, in = 0;
	MPI_Comm other;
	if (rank == 0 && (bind(ends, (struct sockaddr *)&name, sizeof(name)) != 0 || listen(ends, 1) != 0))
		abort();
	CALL(MPI_Barrier, MPI_COMM_WORLD);
	if (rank == 0)
		fd = accept(ends, NULL, NULL);
	if (rank == 1 && connect(fd, (struct sockaddr *)&name, sizeof(name)) != 0)
		abort();
	if (rank < 2) {
		CALL(MPI_Comm_join, fd, &other);
		CALL(MPI_Sendrecv, &rank, 1, MPI_INT, 0, 5, &in, 1, MPI_INT, 0, 5, other, MPI_STATUS_IGNORE);
		sent(1 - rank, 4);
		CALL(MPI_Comm_disconnect, &other);
	}
	CALL(MPI_Barrier, MPI_COMM_WORLD);
}

#if MPI_VERSION >= 4
/* Rank 0 on one side, all others on the other. */
static void bridge(MPI_Group all)
{
	MPI_Group here, there;
	MPI_Comm inter;
	int zero[] = {0}, others, in;
	if (rank == 0) {
		CALL(MPI_Group_incl, all, 1, zero, &here);
		CALL(MPI_Group_excl, all, 1, zero, &there);
	} else {
		CALL(MPI_Group_excl, all, 1, zero, &here);
		CALL(MPI_Group_incl, all, 1, zero, &there);
	}
	CALL(MPI_Intercomm_create_from_groups, here, 0, there, 0, "bridge", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter);
	CALL(MPI_Comm_remote_size, inter, &others);
	if (rank < 2) {
		CALL(MPI_Sendrecv, &rank, 1, MPI_INT, 0, 6, &in, 1, MPI_INT, 0, 6, inter, MPI_STATUS_IGNORE);
		sent(1 - rank, 4);
	}
	CALL(MPI_Barrier, inter);
	CALL(MPI_Comm_free, &inter);
	CALL(MPI_Group_free, &here);
	CALL(MPI_Group_free, &there);
}

static void sessions(void)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	int in;
	CALL(MPI_Session_init, MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	CALL(MPI_Group_from_session_pset, session, "mpi://WORLD", &group);
	CALL(MPI_Comm_create_from_group, group, "mine", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
	CALL(MPI_Comm_rank, comm, &rank);
	CALL(MPI_Comm_size, comm, &size);
	CALL(MPI_Sendrecv, &rank, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0, comm,
	     MPI_STATUS_IGNORE);
	sent((rank + 1) % size, 4);
	CALL(MPI_Barrier, comm);
	CALL(MPI_Comm_free, &comm);
	bridge(group);
	CALL(MPI_Group_free, &group);
	CALL(MPI_Session_finalize, &session);
	truth_write(rank, size);
}
#endif

int main(int argc, char **argv)
{
	MPI_Comm parents;
	const char *which = argc > 1 ? argv[1] : "";
#if MPI_VERSION >= 4
	if (strcmp(which, "sessions") == 0) {
		sessions();
		return 0;
	}
#endif
	CALL(MPI_Init, &argc, &argv);
	CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
	CALL(MPI_Comm_size, MPI_COMM_WORLD, &size);
	CALL(MPI_Comm_get_parent, &parents);
	if (parents != MPI_COMM_NULL)
		as_child(parents);
	else if (strncmp(which, "spawn", 5) == 0)
		spawn(argv[0], strcmp(which, "spawn_multiple") == 0, strcmp(which, "spawn_dying") == 0);
	else if (strcmp(which, "join") == 0)
		join();
	else
		accept_();
	if (parents != MPI_COMM_NULL && strcmp(which, "dying") == 0 && rank == 1)
		raise(SIGSEGV);
	if (strcmp(which, "dying") == 0 || strcmp(which, "spawn_dying") == 0)
		sleep(60); /* until the launcher ends it */
	CALL(MPI_Finalize);
	if (parents == MPI_COMM_NULL)
		truth_write(rank, size);
	return 0;
}
