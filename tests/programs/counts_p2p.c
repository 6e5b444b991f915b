/* counts_p2p.c - every kind of point-to-point with known counts: modes, wildcards, PROC_NULL, persistent,
 * Sendrecv, probes, all completions, cancelled and freed requests. 4 ranks or more, an even number. */
#include "truth.h"

#define N 7
#define TAG 5

static int rank, size, peer;
static double out[64], in[64];

static void modes(void)
{
	static char space[1 << 16];
	CALL(MPI_Buffer_attach, space, (int)sizeof(space));
	for (int i = 0; i < N; i++) {
		MPI_Request r;
		CALL(MPI_Irecv, in, 64, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &r);
		CALL(MPI_Barrier, MPI_COMM_WORLD); /* the receive is posted: Rsend may be used */
		switch (i % 4) {
		case 0:
			CALL(MPI_Send, out, i, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD);
			break;
		case 1:
			CALL(MPI_Bsend, out, i, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD);
			break;
		case 2:
			CALL(MPI_Rsend, out, i, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD);
			break;
		default:
			CALL(MPI_Ssend, out, i, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD);
			break;
		}
		sent(peer, i * 8);
		CALL(MPI_Wait, &r, MPI_STATUS_IGNORE);
	}
	void *back;
	int len;
	CALL(MPI_Buffer_detach, &back, &len);
}

static void nonblocking(void)
{
	MPI_Request r[2 * N];
	MPI_Status st[2 * N];
	int index[2 * N], done, n = 0;
	for (int i = 0; i < N; i++) {
		CALL(MPI_Irecv, in + i, 1, MPI_DOUBLE, peer, i, MPI_COMM_WORLD, &r[n++]);
		CALL(MPI_Isend, out + i, 1, MPI_DOUBLE, peer, i, MPI_COMM_WORLD, &r[n++]);
		sent(peer, 8);
	}
	CALL(MPI_Waitall, n, r, MPI_STATUSES_IGNORE);
	n = 0;
	for (int i = 0; i < N; i++) {
		CALL(MPI_Irecv, in + i, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[n++]);
		CALL(MPI_Issend, out + i, 1, MPI_DOUBLE, peer, 100 + i, MPI_COMM_WORLD, &r[n++]);
		sent(peer, 8);
	}
	for (int left = n; left > 0; left -= done)
		CALL(MPI_Waitsome, n, r, &done, index, st);
	n = 0;
	for (int i = 0; i < N; i++) {
		CALL(MPI_Irecv, in + i, 1, MPI_DOUBLE, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &r[n++]);
		CALL(MPI_Isend, out + i, 1, MPI_DOUBLE, peer, 200 + i, MPI_COMM_WORLD, &r[n++]);
		sent(peer, 8);
	}
	for (int i = 0; i < n; i++)
		CALL(MPI_Waitany, n, r, index, MPI_STATUS_IGNORE);
	CALL(MPI_Irecv, in, 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &r[0]);
	CALL(MPI_Isend, out, 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &r[1]);
	sent(peer, 8);
	for (done = 0; !done;)
		CALL(MPI_Testall, 2, r, &done, MPI_STATUSES_IGNORE);
	CALL(MPI_Irecv, in, 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &r[0]);
	CALL(MPI_Isend, out, 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &r[1]);
	sent(peer, 8);
	CALL(MPI_Request_free, &r[1]);
	for (done = 0; !done;)
		CALL(MPI_Test, &r[0], &done, MPI_STATUS_IGNORE);
}

static void persistent(void)
{
	MPI_Request r[2];
	CALL(MPI_Recv_init, in, 3, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &r[0]);
	CALL(MPI_Send_init, out, 3, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &r[1]);
	for (int i = 0; i < N; i++) {
		CALL(MPI_Startall, 2, r);
		sent(peer, 24);
		CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
		CALL(MPI_Start, &r[0]);
		CALL(MPI_Start, &r[1]);
		sent(peer, 24);
		CALL(MPI_Wait, &r[1], MPI_STATUS_IGNORE);
		CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
	}
	CALL(MPI_Request_free, &r[0]);
	CALL(MPI_Request_free, &r[1]);
}

static void both_ways(void)
{
	for (int i = 0; i < N; i++) {
		int next = (rank + 1) % size, previous = (rank + size - 1) % size;
		CALL(MPI_Sendrecv, out, 2, MPI_DOUBLE, next, i, in, 2, MPI_DOUBLE, previous, i, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
		sent(next, 16);
		CALL(MPI_Sendrecv_replace, out, 1, MPI_DOUBLE, next, i, previous, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sent(next, 8);
		/* open ends */
		CALL(MPI_Sendrecv, out, 1, MPI_DOUBLE, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, i, in, 1, MPI_DOUBLE,
		     rank > 0 ? rank - 1 : MPI_PROC_NULL, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank + 1 < size)
			sent(rank + 1, 8);
	}
	MPI_Request r;
	CALL(MPI_Isend, out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
	CALL(MPI_Wait, &r, MPI_STATUS_IGNORE);
	CALL(MPI_Recv, in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void probes(void)
{
	MPI_Status st;
	MPI_Message m;
	MPI_Request r;
	int flag = 0;
	for (int i = 0; i < 4; i++) {
		CALL(MPI_Isend, out, i, MPI_INT, peer, 300 + i, MPI_COMM_WORLD, &r);
		sent(peer, i * 4);
		switch (i) {
		case 0:
			CALL(MPI_Probe, MPI_ANY_SOURCE, 300, MPI_COMM_WORLD, &st);
			CALL(MPI_Recv, in, i, MPI_INT, st.MPI_SOURCE, st.MPI_TAG, MPI_COMM_WORLD, &st);
			break;
		case 1:
			for (flag = 0; !flag;)
				CALL(MPI_Iprobe, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
			CALL(MPI_Recv, in, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			break;
		case 2:
			CALL(MPI_Mprobe, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
			CALL(MPI_Mrecv, in, i, MPI_INT, &m, MPI_STATUS_IGNORE);
			break;
		default:
			for (flag = 0; !flag;)
				CALL(MPI_Improbe, peer, 303, MPI_COMM_WORLD, &flag, &m, &st);
			MPI_Request mr;
			CALL(MPI_Imrecv, in, i, MPI_INT, &m, &mr);
			CALL(MPI_Wait, &mr, MPI_STATUS_IGNORE);
			break;
		}
		CALL(MPI_Wait, &r, MPI_STATUS_IGNORE);
	}
}

static void cancelled(void)
{
	MPI_Request r;
	MPI_Status st;
	int flag;
	CALL(MPI_Irecv, in, 1, MPI_INT, peer, 999, MPI_COMM_WORLD, &r);
	CALL(MPI_Cancel, &r);
	CALL(MPI_Wait, &r, &st);
	CALL(MPI_Test_cancelled, &st, &flag);
	if (!flag)
		abort();
	/* nobody waits for it: what comes later on the same envelope is not its message */
	CALL(MPI_Irecv, in, 1, MPI_INT, peer, 998, MPI_COMM_WORLD, &r);
	CALL(MPI_Cancel, &r);
	CALL(MPI_Request_free, &r);
	CALL(MPI_Irecv, in, 1, MPI_INT, peer, 998, MPI_COMM_WORLD, &r);
	CALL(MPI_Barrier, MPI_COMM_WORLD);
	CALL(MPI_Send, out, 1, MPI_INT, peer, 998, MPI_COMM_WORLD);
	sent(peer, 4);
	for (flag = 0; !flag;)
		CALL(MPI_Request_get_status, r, &flag, MPI_STATUS_IGNORE);
	CALL(MPI_Wait, &r, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	CALL(MPI_Init, &argc, &argv);
	CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
	CALL(MPI_Comm_size, MPI_COMM_WORLD, &size);
	peer = rank ^ 1;
	modes();
	nonblocking();
	CALL(MPI_Barrier, MPI_COMM_WORLD); /* nobody else's messages may meet the wildcards above */
	persistent();
	both_ways();
	probes();
	cancelled();
	CALL(MPI_Wtime);
	CALL(MPI_Wtime);
	CALL(MPI_Finalize);
	truth_write(rank, size);
	return 0;
}
