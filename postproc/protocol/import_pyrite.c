/* import_pyrite.c - Pyrite's .mpic, version 2: native structs of little-endian machines.
 *
 *	header      1104 bytes: "MPICv002", u32 2, i32 ranks, char date[64], char program[1024]
 *	ranks       1040 bytes each: i32 rank, pid, core, chip, char host[1024]
 *	clocks      24 bytes each: i32 rank, 4 bytes, f64 zero, i64 time of zero, ns since 1970
 *	of a rank   i32 rank, char[24], i32 n, n small ones, char[24], i32 m, m large ones
 *	small       40 bytes: f64 seconds, i32 id, type, comm, tag, sender, receiver, count, bytes
 *	large       64 bytes: f64 seconds, i32 id, type, comm, {sender, receiver, count, bytes, tag} twice, 4 bytes
 *
 * A call has one time. */
#include "base/units.h"
#include "postproc/protocol/import.h"

#include "base/index.h"

#include <math.h>

#define SECONDS_MAX 9e6 /* 104 days */
#define FIRST_TYPE 13

static const struct type {
	struct import_op op;
	bool sends, receives;
} types[] = {
	{{"MPI_Send", MPIX_P2P, false}, true, false},	    {{"MPI_Recv", MPIX_P2P, false}, false, true},
	{{"MPI_Bsend", MPIX_P2P, false}, true, false},	    {{"MPI_Ssend", MPIX_P2P, false}, true, false},
	{{"MPI_Rsend", MPIX_P2P, false}, true, false},	    {{"MPI_Isend", MPIX_P2P, false}, true, false},
	{{"MPI_Ibsend", MPIX_P2P, false}, true, false},	    {{"MPI_Issend", MPIX_P2P, false}, true, false},
	{{"MPI_Irsend", MPIX_P2P, false}, true, false},	    {{"MPI_Irecv", MPIX_P2P, false}, false, true},
	{{"MPI_Sendrecv", MPIX_P2P, false}, true, true},    {{"MPI_Wait", MPIX_WAIT, false}, false, false},
	{{"MPI_Waitall", MPIX_WAIT, false}, false, false},  {{"MPI_Barrier", MPIX_SYNC, true}, false, false},
	{{"MPI_Bcast", MPIX_COLL, true}, false, false},	    {{"MPI_Reduce", MPIX_COLL, true}, false, false},
	{{"MPI_Allreduce", MPIX_COLL, true}, false, false}, {{"MPI_Gather", MPIX_COLL, true}, false, false},
	{{"MPI_Scatter", MPIX_COLL, true}, false, false},   {{"MPI_Allgather", MPIX_COLL, true}, false, false},
	{{"MPI_Waitany", MPIX_WAIT, false}, false, false},  {{"MPI_Waitsome", MPIX_WAIT, false}, false, false},
	{{"MPI_Test", MPIX_WAIT, false}, false, false},	    {{"MPI_Testany", MPIX_WAIT, false}, false, false},
	{{"MPI_Testall", MPIX_WAIT, false}, false, false},  {{"MPI_Testsome", MPIX_WAIT, false}, false, false},
	{{"MPI_Init", MPIX_OTHER, false}, false, false},    {{"MPI_Finalize", MPIX_OTHER, false}, false, false},
	{{"(unknown)", MPIX_OTHER, false}, false, false}, /* any other */
};

#define TYPES (sizeof(types) / sizeof(*types))
#define SENDRECV 23
#define COMMS_MAX 4096u

struct reading {
	struct import *x;
	struct cursor c;
	const uint8_t *begin;
	int64_t *zero_ns; /* by rank: what second 0 is, since 1970 */
	struct index hosts, comms;
	VEC(char) host; /* that is looked for */
	uint64_t unknown_types, bad_sizes;
	struct error *e;
};

static int damaged(const struct reading *r, const char *what)
{
	return fail(r->e, -EBADMSG, "%s: damaged at byte %zu: %s; copy it again", r->x->file,
		    (size_t)(r->c.pos - r->begin), what);
}

static int no_memory(const struct reading *r)
{
	return fail(r->e, -ENOMEM, "%s: out of memory", r->x->file);
}

static int rd_i32(struct cursor *c, int32_t *ret_value)
{
	uint32_t u;
	int code = rd_u32(c, &u);
	if (code == 0)
		*ret_value = (int32_t)u;
	return code;
}

static int rd_f64(struct cursor *c, double *ret_value)
{
	return rd_copy(c, ret_value, sizeof(*ret_value));
}

/* ---- header ---- */

static char *copy_text(struct span s)
{
	return strndup((const char *)s.data, s.len_bytes);
}

static int read_header(struct reading *r)
{
	struct span magic, date, program;
	uint32_t version = 0;
	int32_t ranks;
	if (rd_bytes(&r->c, 8, &magic) < 0 || memcmp(magic.data, "MPICv002", 8) != 0)
		return fail(r->e, -EBADMSG,
			    "%s: not Pyrite's .mpic (it does not begin with MPICv002); mpitrace's own are read by "
			    "`mpitrace "
			    "analyze`",
			    r->x->file);
	if (rd_u32(&r->c, &version) < 0 || version != 2)
		return damaged(r, version == 0x02000000 ? "it is of a machine with the other byte order"
							: "its version is not 2");
	if (rd_i32(&r->c, &ranks) < 0 || ranks < 1 || (uint32_t)ranks > IMPORT_RANKS_MAX ||
	    (uint64_t)ranks * 1064 > cursor_left(&r->c))
		return damaged(r, "its number of ranks does not fit");
	if (rd_bytes(&r->c, 64, &date) < 0 || rd_bytes(&r->c, 1024, &program) < 0)
		return damaged(r, "the header is cut");
	r->x->program = copy_text(program);
	return r->x->program == NULL ? no_memory(r) : import_ranks(r->x, (uint32_t)ranks, r->e);
}

static bool is_host(const void *context, uint32_t at)
{
	const struct reading *r = context;
	return strcmp(r->x->nodes.at[at], r->host.at) == 0;
}

static int find_host(struct reading *r, struct span host, uint32_t *ret_node)
{
	size_t n = strnlen((const char *)host.data, host.len_bytes);
	if (vec_reach(&r->host, 1024) < 0)
		return -ENOMEM;
	memcpy(r->host.at, host.data, n);
	r->host.at[n] = 0;
	uint64_t hash = index_hash(INDEX_SEED, r->host.at, n);
	*ret_node = index_find(&r->hosts, hash, is_host, r);
	if (*ret_node != INDEX_NONE)
		return 0;
	char *copy = strdup(r->host.at);
	*ret_node = (uint32_t)r->x->nodes.n;
	if (copy == NULL || vec_push(&r->x->nodes, copy) < 0) {
		free(copy);
		return -ENOMEM;
	}
	return index_add(&r->hosts, hash, *ret_node);
}

static int read_rank(struct reading *r)
{
	int32_t rank, other;
	struct span host;
	if (rd_i32(&r->c, &rank) < 0 || rank < 0 || (uint32_t)rank >= r->x->nranks)
		return damaged(r, "a rank that is none");
	for (int i = 0; i < 3; i++)
		if (rd_i32(&r->c, &other) < 0)
			return damaged(r, "a rank is cut");
	if (rd_bytes(&r->c, 1024, &host) < 0)
		return damaged(r, "a rank is cut");
	return find_host(r, host, &r->x->ranks[rank].node) < 0 ? no_memory(r) : 0;
}

static int read_clock(struct reading *r)
{
	int32_t rank, padding;
	uint64_t unix_ns;
	double zero;
	if (rd_i32(&r->c, &rank) < 0 || rd_i32(&r->c, &padding) < 0 || rd_f64(&r->c, &zero) < 0 ||
	    rd_u64(&r->c, &unix_ns) < 0 || rank < 0 || (uint32_t)rank >= r->x->nranks)
		return damaged(r, "the clock of a rank that is none");
	if (!isfinite(zero) || fabs(zero) > 1e9 || unix_ns > 1ull << 62)
		return damaged(r, "a clock that cannot be");
	r->zero_ns[rank] = (int64_t)unix_ns - (int64_t)llround(zero * 1e9);
	return 0;
}

/* ---- calls ---- */

static uint32_t type_index(struct reading *r, int32_t type)
{
	bool known = type >= FIRST_TYPE && type - FIRST_TYPE < (int32_t)TYPES - 1;
	r->unknown_types += !known;
	return known ? (uint32_t)(type - FIRST_TYPE) : (uint32_t)TYPES - 1;
}

static uint64_t size_of(struct reading *r, int32_t bytes)
{
	r->bad_sizes += bytes < 0;
	return bytes < 0 ? 0 : (uint64_t)bytes;
}

struct wanted_comm {
	const struct import *x;
	int64_t value;
};

static bool is_comm(const void *context, uint32_t at)
{
	const struct wanted_comm *w = context;
	return w->x->comms.at[at].value == w->value;
}

/* Communicators by their value, and who calls on them. */
static int find_comm(struct reading *r, uint32_t rank, int32_t value, uint32_t *ret_comm)
{
	struct import *x = r->x;
	struct wanted_comm wanted = {x, value};
	uint64_t hash = index_mix((uint32_t)value, 0);
	uint32_t c = index_find(&r->comms, hash, is_comm, &wanted);
	if (c == INDEX_NONE && x->comms.n == COMMS_MAX)
		return fail(r->e, -E2BIG, "%s: more than %u communicators", x->file, COMMS_MAX);
	if (c == INDEX_NONE) {
		c = (uint32_t)x->comms.n;
		if (vec_push(&x->comms, (struct import_comm){.value = value}) < 0 || index_add(&r->comms, hash, c) < 0)
			return no_memory(r);
	}
	struct import_comm *comm = &x->comms.at[c];
	*ret_comm = c;
	if (comm->ranks.n > 0 && comm->ranks.at[comm->ranks.n - 1] == rank)
		return 0;
	return vec_push(&comm->ranks, rank) < 0 ? no_memory(r) : 0;
}

static int add_call(struct reading *r, uint32_t rank, double seconds, int32_t id, int32_t comm, struct import_event ev)
{
	if (!isfinite(seconds) || fabs(seconds) > SECONDS_MAX)
		return damaged(r, "a time that cannot be");
	if (r->x->events == IMPORT_EVENTS_MAX)
		return fail(r->e, -E2BIG, "%s: more than %u calls", r->x->file, IMPORT_EVENTS_MAX);
	ev.ns = r->zero_ns[rank] + (int64_t)llround(seconds * 1e9);
	ev.order = (uint64_t)(int64_t)id + (1ull << 32);
	ev.number = MPIX_NO_NUMBER;
	int code = 0;
	if (types[ev.op].op.collective || ev.sends || ev.receives)
		code = find_comm(r, rank, comm, &ev.comm);
	if (code < 0)
		return code;
	r->x->events++;
	return vec_push(&r->x->ranks[rank].events, ev) < 0 ? no_memory(r) : 0;
}

static int read_small(struct reading *r, uint32_t rank)
{
	double seconds;
	int32_t v[8]; /* id, type, comm, tag, sender, receiver, count, bytes */
	int code = rd_f64(&r->c, &seconds);
	for (int i = 0; i < 8 && code == 0; i++)
		code = rd_i32(&r->c, &v[i]);
	if (code < 0)
		return damaged(r, "calls are cut");
	struct import_event ev = {.op = type_index(r, v[1])};
	const struct type *type = &types[ev.op];
	ev.sends = type->sends;
	ev.receives = type->receives;
	ev.send_peer = v[5];
	ev.recv_peer = v[4];
	ev.send_tag = ev.recv_tag = v[3];
	if (ev.sends || (type->op.collective && type->op.class == MPIX_COLL))
		ev.send_bytes = size_of(r, v[7]);
	else if (ev.receives)
		ev.recv_bytes = size_of(r, v[7]);
	return add_call(r, rank, seconds, v[0], v[2], ev);
}

static int read_large(struct reading *r, uint32_t rank)
{
	double seconds;
	int32_t v[13], padding; /* id, type, comm, {sender, receiver, count, bytes, tag} twice */
	int code = rd_f64(&r->c, &seconds);
	for (int i = 0; i < 13 && code == 0; i++)
		code = rd_i32(&r->c, &v[i]);
	if (code < 0 || rd_i32(&r->c, &padding) < 0)
		return damaged(r, "calls are cut");
	struct import_event ev = {.op = type_index(r, v[1]),
				  .send_peer = v[4],
				  .recv_peer = v[8],
				  .send_tag = v[7],
				  .recv_tag = v[12],
				  .send_bytes = size_of(r, v[6]),
				  .recv_bytes = size_of(r, v[11])};
	ev.sends = ev.receives = v[1] == SENDRECV;
	return add_call(r, rank, seconds, v[0], v[2], ev);
}

static int read_list(struct reading *r, uint32_t rank, const char *name, size_t size,
		     int (*read)(struct reading *r, uint32_t rank))
{
	struct span label;
	int32_t n;
	if (rd_bytes(&r->c, 24, &label) < 0 || strncmp((const char *)label.data, name, 24) != 0)
		return damaged(r, "a list of calls does not begin with its name");
	if (rd_i32(&r->c, &n) < 0 || n < 0 || (uint64_t)n * size > cursor_left(&r->c))
		return damaged(r, "more calls than the file has room for");
	for (int32_t i = 0; i < n; i++) {
		int code = read(r, rank);
		if (code < 0)
			return code;
	}
	return 0;
}

static int read_calls(struct reading *r)
{
	int32_t rank;
	if (rd_i32(&r->c, &rank) < 0 || rank < 0 || (uint32_t)rank >= r->x->nranks)
		return damaged(r, "calls of a rank that is none");
	if (r->x->ranks[rank].seen)
		return damaged(r, "calls of a rank that is there twice");
	r->x->ranks[rank].seen = true;
	int code = read_list(r, (uint32_t)rank, "P2P Small Type Messages", 40, read_small);
	return code < 0 ? code : read_list(r, (uint32_t)rank, "P2P Large Type Messages", 64, read_large);
}

/* ---- what follows ---- */

static int by_time(const void *a, const void *b)
{
	const struct import_event *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Times since the first call. */
static int set_times(struct reading *r)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	for (uint32_t k = 0; k < r->x->nranks; k++) {
		struct import_rank *rank = &r->x->ranks[k];
		vec_sort(&rank->events, by_time);
		if (rank->events.n == 0)
			continue;
		first = rank->events.at[0].ns < first ? rank->events.at[0].ns : first;
		last = rank->events.at[rank->events.n - 1].ns > last ? rank->events.at[rank->events.n - 1].ns : last;
	}
	if (r->x->events == 0)
		return damaged(r, "it has no calls");
	if ((uint64_t)last - (uint64_t)first >= (uint64_t)MPIX_RUNTIME_MAX_NS)
		return fail(r->e, -EBADMSG, "%s: its calls are more than 104 days apart: a clock is wrong", r->x->file);
	for (uint32_t k = 0; k < r->x->nranks; k++)
		for (size_t i = 0; i < r->x->ranks[k].events.n; i++) {
			struct import_event *ev = &r->x->ranks[k].events.at[i];
			ev->ns -= first;
			ev->end_ns = ev->ns;
		}
	return 0;
}

static int put_reasons(struct reading *r)
{
	struct import *x = r->x;
	uint32_t missing = 0;
	for (uint32_t k = 0; k < x->nranks; k++)
		missing += !x->ranks[k].seen;
	struct import_handles h;
	int code = import_join_handles(x, &h, r->e);
	if (code < 0)
		return code;
	code = import_reason(
		x, "Pyrite records one time a call: of blocking calls and waits when they begin, of nonblocking "
		   "sends and receives when they are completed. How long calls took is not known.");
	if (code == 0)
		code = import_reason(x, "Pyrite records no call sites and 28 kinds of calls: others are missing.");
	if (code == 0)
		code = import_reason(
			x, "Ranks of messages are taken for ranks of MPI_COMM_WORLD, and communicators are told apart "
			   "by their handles: Pyrite does not say who is a member of which.");
	if (code == 0 && h.joined + h.apart > 0)
		code = import_reason(
			x,
			"The same handle is another communicator on another rank: %s matched by messages with the same "
			"tags, %s left apart.",
			fmt_many((double)h.joined, "handle").s, fmt_many((double)h.apart, "handle").s);
	if (code == 0 && r->unknown_types > 0)
		code = import_reason(x, "Of a kind that is not known: %s.",
				     fmt_many((double)r->unknown_types, "call").s);
	if (code == 0 && r->bad_sizes > 0)
		code = import_reason(x, "Negative, and counted as 0 bytes: %s.",
				     fmt_many((double)r->bad_sizes, "size").s);
	if (code == 0 && missing > 0)
		code = import_reason(x, "Without calls in the file: %s.", fmt_many(missing, "rank").s);
	return code < 0 ? no_memory(r) : 0;
}

static int read_all(struct reading *r)
{
	int code = read_header(r);
	r->zero_ns = code == 0 ? calloc(r->x->nranks, sizeof(*r->zero_ns)) : NULL;
	if (code == 0 && r->zero_ns == NULL)
		return no_memory(r);
	for (uint32_t i = 0; code == 0 && i < r->x->nranks; i++)
		code = read_rank(r);
	for (uint32_t i = 0; code == 0 && i < r->x->nranks; i++)
		code = read_clock(r);
	while (code == 0 && cursor_left(&r->c) > 0)
		code = read_calls(r);
	if (code == 0)
		code = set_times(r);
	if (code == 0)
		code = put_reasons(r);
	if (code == 0)
		code = import_find_links(r->x, r->e);
	return code == 0 ? import_find_comms(r->x, r->e) : code;
}

int import_pyrite(const char *path, struct span bytes, struct import *ret_import, struct error *e)
{
	struct import *x = ret_import;
	*x = (struct import){.format = "pyrite", .file = strdup(path), .has_times = true, .has_bytes = true};
	int code = x->file == NULL ? fail(e, -ENOMEM, "%s: out of memory", path) : 0;
	for (size_t i = 0; i < TYPES && code == 0; i++)
		if (vec_push(&x->ops, types[i].op) < 0)
			code = fail(e, -ENOMEM, "%s: out of memory", path);
	if (code < 0)
		return code;
	struct reading r = {.x = x, .c = cursor_over(bytes.data, bytes.len_bytes), .begin = bytes.data, .e = e};
	code = read_all(&r);
	free(r.zero_ns);
	vec_done(&r.host);
	index_done(&r.hosts);
	index_done(&r.comms);
	return code;
}
