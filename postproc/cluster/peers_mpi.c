/* peers_mpi.c - peers.h over MPI: one library for each MPI that is installed, loaded by `mpitrace analyze --mpi`.
 *
 * Who gets nothing is sent nothing, and nobody has a list of who sends how much to whom: all send, receive whatever
 * comes, and have all when everybody's sends were received (Hoefler, Siebert, Lumsdaine: Scalable communication
 * protocols for dynamic sparse data exchange, PPoPP 2010). The barrier of that protocol is the reduction of the
 * numbers. Whoever waits sleeps in between: more processes than processors must not take those from each other. */
#include "base/peers.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PIECE_BYTES (1 << 30) /* of one message: a count of MPI is an int */
#define SLEEP_MIN_NS 20000
#define SLEEP_MAX_NS 1000000

struct world {
	struct peers comm;
	MPI_Comm mpi;
	MPI_Request *sends;
	size_t nsends, cap_sends;
	int tag; /* of this exchange; of the next the other one: nobody is further than one ahead */
};

static int send_one(struct world *w, uint32_t to, const struct buf *b)
{
	for (size_t at = 0; at < b->len_bytes; at += PIECE_BYTES) {
		size_t left = b->len_bytes - at;
		if (w->nsends == w->cap_sends) {
			size_t cap = 2 * w->cap_sends + 16;
			MPI_Request *more = realloc(w->sends, cap * sizeof(MPI_Request));
			if (more == NULL)
				return -ENOMEM;
			w->sends = more;
			w->cap_sends = cap;
		}
		MPI_Issend(b->data + at, (int)(left < PIECE_BYTES ? left : PIECE_BYTES), MPI_BYTE, (int)to, w->tag,
			   w->mpi, &w->sends[w->nsends++]);
	}
	return 0;
}

/* Of one sender the pieces come in order. Whether any came. */
static int receive_one(struct world *w, struct buf *in, int *ret_code)
{
	MPI_Message message;
	MPI_Status status;
	int there, n;
	MPI_Improbe(MPI_ANY_SOURCE, w->tag, w->mpi, &there, &message, &status);
	if (!there)
		return 0;
	MPI_Get_count(&status, MPI_BYTE, &n);
	struct buf *to = &in[status.MPI_SOURCE];
	uint8_t *room = buf_reserve(to, (size_t)n);
	if (room == NULL) { /* without room for it nothing can go on, here or there */
		*ret_code = -ENOMEM;
		MPI_Abort(w->mpi, EXIT_FAILURE);
		return 0;
	}
	MPI_Mrecv(room, n, MPI_BYTE, &message, &status);
	to->len_bytes += (size_t)n;
	return 1;
}

static void wait_a_little(long *ns)
{
	nanosleep(&(struct timespec){.tv_nsec = *ns}, NULL);
	*ns = *ns < SLEEP_MAX_NS / 2 ? 2 * *ns : SLEEP_MAX_NS;
}

static int receive_all(struct world *w, struct buf *in, int64_t numbers[PEER_NUMBERS])
{
	MPI_Request all = MPI_REQUEST_NULL;
	int64_t mine[PEER_NUMBERS];
	int code = 0, begun = 0, done = 0;
	long ns = SLEEP_MIN_NS;
	memcpy(mine, numbers, sizeof(mine));
	while (!done) {
		if (receive_one(w, in, &code)) {
			ns = SLEEP_MIN_NS;
			continue;
		}
		int sent = 1;
		if (!begun)
			MPI_Testall((int)w->nsends, w->sends, &sent, MPI_STATUSES_IGNORE);
		if (!begun && sent) {
			begun = 1;
			MPI_Iallreduce(mine, numbers, PEER_NUMBERS, MPI_INT64_T, MPI_MIN, w->mpi, &all);
		}
		if (begun)
			MPI_Test(&all, &done, MPI_STATUS_IGNORE);
		if (!done)
			wait_a_little(&ns);
	}
	return code;
}

static int exchange(struct peers *c, struct buf *out, struct buf *in, int64_t numbers[PEER_NUMBERS])
{
	struct world *w = (struct world *)c;
	int code = 0;
	w->nsends = 0;
	w->tag = !w->tag;
	for (uint32_t i = 0; i < c->size; i++) {
		in[i].len_bytes = 0;
		code = buf_failed(&out[i]) ? -ENOMEM : code;
	}
	/* Whose memory does not suffice sends nothing, and says so in what follows. */
	for (uint32_t k = 1; k < c->size && code == 0; k++)
		code = send_one(w, (c->rank + k) % c->size, &out[(c->rank + k) % c->size]);
	struct buf mine = out[c->rank];
	out[c->rank] = in[c->rank];
	in[c->rank] = mine;
	int received = receive_all(w, in, numbers);
	for (uint32_t i = 0; i < c->size; i++)
		out[i].len_bytes = 0;
	return code < 0 ? code : received;
}

static void destroy(struct peers *c)
{
	struct world *w = (struct world *)c;
	free(w->sends);
	MPI_Comm_free(&w->mpi);
	MPI_Finalize();
	free(w);
}

__attribute__((visibility("default"))) struct peers *mpitrace_peers_open(struct error *e);

struct peers *mpitrace_peers_open(struct error *e)
{
	int level, rank, size;
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS || level < MPI_THREAD_FUNNELED) {
		fail(e, -ENOTSUP, "MPI_Init_thread gives no level for a program with threads of its own");
		return NULL;
	}
	struct world *w = calloc(1, sizeof(*w));
	if (w == NULL || MPI_Comm_dup(MPI_COMM_WORLD, &w->mpi) != MPI_SUCCESS) {
		fail(e, -ENOMEM, "out of memory for the communicator");
		free(w);
		return NULL;
	}
	MPI_Comm_rank(w->mpi, &rank);
	MPI_Comm_size(w->mpi, &size);
	w->comm = (struct peers){
		.rank = (uint32_t)rank, .size = (uint32_t)size, .exchange = exchange, .destroy = destroy};
	return &w->comm;
}
