/* paraver.c - trace.prv, trace.pcf and trace.row: states, events and communications as Paraver reads them. Records must
 * be in order of time, and what a thread computes between two calls is known only at the second: so records are kept
 * until a bound, then sorted and written; a state that is open then goes on as another record.
 * Source: "Paraver trace file format", BSC; numbers of MPI functions as Extrae has them. */
#include "reports/export/format.h"

#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RECORDS_MAX (1u << 17) /* kept, and eight a thread */
#define AHEAD 8		       /* records that are fetched before their turn */

enum state { RUNNING = 1, WAITING = 3, SENDING = 4, SYNCHRONIZING = 5, TESTING = 6, WAITING_ALL = 8, SENDING_NOW = 10 };
enum { RECEIVING_NOW = 11, FILE_IO = 12, GROUP = 13, OTHERS = 15, SENDRECV = 16, REMOTE_MEMORY = 17 };
enum { TYPE_P2P = 50000001, TYPE_COLLECTIVE, TYPE_OTHER, TYPE_RMA, TYPE_IO };
#define TYPE_COMM 50100004
#define TYPE_CALLER 70000001
#define OBJECT_MAX 48u
#define OWN_VALUES 1000u /* functions without a number of Extrae's, from here on */

enum kind { STATE, EVENT, COMMUNICATION };

struct record {
	int64_t ns, until_ns; /* state: end; communication: begin and end of the receive are in the next two */
	int64_t recv_ns, recv_end_ns;
	uint64_t bytes;
	uint32_t lane, other_lane;
	int32_t value; /* state, MPI function (0: end) or tag */
	uint32_t callsite, comm;
	uint8_t kind, class;
};

/* A record's place in the order: records are large, so these are sorted. */
struct order {
	int64_t ns;
	uint32_t at;
};

/* ":processor:application:task:thread" of a lane, all from 1. */
struct object {
	char text[OBJECT_MAX];
	uint8_t len_bytes;
};

struct paraver {
	struct out prv;
	VEC(struct record) records;
	VEC(struct order) order, merged;
	struct object *objects;	 /* by lane */
	int64_t *computes_since; /* by lane */
	int *values;		 /* by operation */
	int *states;
	int64_t shift_ns;
	size_t bound;
};

/* ---- what there is ---- */

static const struct {
	const char *name;
	int value, state;
} functions[] = {
	{"MPI_Send", 1, SENDING},
	{"MPI_Recv", 2, WAITING},
	{"MPI_Isend", 3, SENDING_NOW},
	{"MPI_Irecv", 4, RECEIVING_NOW},
	{"MPI_Wait", 5, WAITING_ALL},
	{"MPI_Waitall", 6, WAITING_ALL},
	{"MPI_Bcast", 7, GROUP},
	{"MPI_Barrier", 8, SYNCHRONIZING},
	{"MPI_Reduce", 9, GROUP},
	{"MPI_Allreduce", 10, GROUP},
	{"MPI_Alltoall", 11, GROUP},
	{"MPI_Alltoallv", 12, GROUP},
	{"MPI_Gather", 13, GROUP},
	{"MPI_Gatherv", 14, GROUP},
	{"MPI_Scatter", 15, GROUP},
	{"MPI_Scatterv", 16, GROUP},
	{"MPI_Allgather", 17, GROUP},
	{"MPI_Allgatherv", 18, GROUP},
	{"MPI_Comm_rank", 19, OTHERS},
	{"MPI_Comm_size", 20, OTHERS},
	{"MPI_Comm_create", 21, OTHERS},
	{"MPI_Comm_dup", 22, OTHERS},
	{"MPI_Comm_split", 23, OTHERS},
	{"MPI_Comm_group", 24, OTHERS},
	{"MPI_Comm_free", 25, OTHERS},
	{"MPI_Scan", 30, GROUP},
	{"MPI_Init", 31, OTHERS},
	{"MPI_Finalize", 32, OTHERS},
	{"MPI_Bsend", 33, SENDING},
	{"MPI_Ssend", 34, SENDING},
	{"MPI_Rsend", 35, SENDING},
	{"MPI_Ibsend", 36, SENDING_NOW},
	{"MPI_Issend", 37, SENDING_NOW},
	{"MPI_Irsend", 38, SENDING_NOW},
	{"MPI_Test", 39, TESTING},
	{"MPI_Sendrecv", 41, SENDRECV},
	{"MPI_Sendrecv_replace", 42, SENDRECV},
};

static int state_of_class(uint8_t class)
{
	static const int states[MPIX_CLASSES] = {
		[MPIX_P2P] = SENDING,	     [MPIX_WAIT] = WAITING_ALL,	 [MPIX_COLL] = GROUP,
		[MPIX_SYNC] = SYNCHRONIZING, [MPIX_RMA] = REMOTE_MEMORY, [MPIX_IO] = FILE_IO,
		[MPIX_OTHER] = OTHERS};
	return states[class % MPIX_CLASSES];
}

static int type_of_class(uint8_t class)
{
	switch (class) {
	case MPIX_P2P:
	case MPIX_WAIT:
		return TYPE_P2P;
	case MPIX_COLL:
	case MPIX_SYNC:
		return TYPE_COLLECTIVE;
	case MPIX_RMA:
		return TYPE_RMA;
	case MPIX_IO:
		return TYPE_IO;
	default:
		return TYPE_OTHER;
	}
}

static void set_functions(const struct exporting *x, struct paraver *p)
{
	for (uint32_t i = 0; i < x->info->nops; i++) {
		p->values[i] = (int)(OWN_VALUES + i);
		for (size_t k = 0; k < sizeof(functions) / sizeof(*functions); k++)
			if (strcmp(functions[k].name, x->info->ops[i]) == 0) {
				p->values[i] = functions[k].value;
				p->states[i] = functions[k].state;
			}
	}
}

/* A processor a thread, counted node by node. */
static int set_cpus(const struct exporting *x, struct paraver *p, uint32_t *ret_of_node)
{
	uint32_t *next = calloc(x->defs.nplaces + 1u, sizeof(*next));
	if (next == NULL)
		return -ENOMEM;
	for (uint32_t lane = 0; lane < x->info->lanes; lane++)
		ret_of_node[definitions_place(x->info, mpix_rank_of_lane(x->f, lane))]++;
	for (uint32_t i = 0; i + 1 < x->defs.nplaces; i++)
		next[i + 1] = next[i] + ret_of_node[i];
	for (uint32_t lane = 0; lane < x->info->lanes; lane++) {
		uint32_t rank = mpix_rank_of_lane(x->f, lane);
		struct object *o = &p->objects[lane];
		o->len_bytes = (uint8_t)snprintf(o->text, sizeof(o->text), ":%u:1:%u:%u",
						 ++next[definitions_place(x->info, rank)], rank + 1u,
						 lane - mpix_first_lane(x->f, rank) + 1u);
	}
	free(next);
	return 0;
}

/* ---- the three files ---- */

static void put_date(struct out *o, const struct exporting *x)
{
	const char *start = json_text(json_item(x->defs.analysis, "job"), "start", "");
	struct tm tm = {.tm_mday = 1, .tm_year = 70};
	strptime(start, "%Y-%m-%dT%H:%M:%S", &tm);
	out_printf(o, "(%02d/%02d/%04d at %02d:%02d)", tm.tm_mday, tm.tm_mon + 1, tm.tm_year + 1900, tm.tm_hour,
		   tm.tm_min);
}

/* #Paraver (date):length:nodes(processors,...):applications:tasks(threads:node,...),communicators */
static void put_header(struct exporting *x, const uint32_t *of_node)
{
	struct paraver *p = x->state;
	struct out *o = &p->prv;
	out_text(o, "#Paraver ");
	put_date(o, x);
	out_printf(o, ":%" PRId64 "_ns:%u(", x->info->runtime_ns + p->shift_ns, x->defs.nplaces);
	for (uint32_t i = 0; i < x->defs.nplaces; i++)
		out_printf(o, i > 0 ? ",%u" : "%u", of_node[i]);
	out_printf(o, "):1:%u(", x->info->ranks);
	for (uint32_t r = 0; r < x->info->ranks; r++)
		out_printf(o, "%s%u:%u", r > 0 ? "," : "", mpix_first_lane(x->f, r + 1) - mpix_first_lane(x->f, r),
			   definitions_place(x->info, r) + 1);
	out_printf(o, "),%u\n", x->defs.comms.n);
	for (uint32_t i = 0; i < x->defs.comms.n; i++) {
		const struct comm_members *m = &x->defs.members[i];
		uint32_t n = 0;
		for (uint32_t k = 0; k < m->n; k++)
			n += m->ranks[k] != DEFINITION_NONE;
		out_printf(o, "c:1:%u:%u", i + 1, n);
		for (uint32_t k = 0; k < m->n; k++)
			if (m->ranks[k] != DEFINITION_NONE)
				out_printf(o, ":%u", m->ranks[k] + 1);
		out_char(o, '\n');
	}
}

static void put_values(struct exporting *x, struct out *o, int type, const char *name)
{
	const struct paraver *p = x->state;
	out_printf(o, "\nEVENT_TYPE\n9    %d    %s\nVALUES\n0    End\n", type, name);
	for (uint32_t i = 0; i < x->info->nops; i++)
		out_printf(o, "%d    %s\n", p->values[i], x->info->ops[i]);
}

/* Names stand to the end of their line. */
static void put_line(struct out *o, const char *text)
{
	for (; *text != 0; text++)
		out_char(o, (unsigned char)*text < ' ' ? '?' : *text);
	out_char(o, '\n');
}

static int put_pcf(struct exporting *x)
{
	static const char states[] =
		"0    Idle\n1    Running\n2    Not created\n3    Waiting a message\n4    Blocking Send\n"
		"5    Synchronization\n6    Test/Probe\n7    Scheduling and Fork/Join\n"
		"8    Wait/WaitAll\n9    Blocked\n10    Immediate Send\n11    Immediate Receive\n"
		"12    I/O\n13    Group Communication\n14    Tracing Disabled\n15    Others\n"
		"16    Send Receive\n17    Memory transfer\n";
	static const char *const names[] = {"MPI Point-to-point", "MPI Collective Comm", "MPI Other", "MPI One-sided",
					    "MPI I/O"};
	struct out o;
	int rc = export_open(x, &o, "trace.pcf");
	if (rc < 0)
		return rc;
	out_text(&o, "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n\nSTATES\n");
	out_text(&o, states);
	for (int i = 0; i < 5; i++)
		put_values(x, &o, TYPE_P2P + i, names[i]);
	out_printf(&o, "\nEVENT_TYPE\n9    %d    Communicator of collective\n", TYPE_COMM);
	out_printf(&o, "\nEVENT_TYPE\n0    %d    Caller at level 1\nVALUES\n0    End\n", TYPE_CALLER);
	for (uint32_t i = 0; i < x->defs.callsites.n; i++) {
		out_printf(&o, "%u    ", i + 1);
		put_line(&o, definitions_label(&x->defs, i));
	}
	return out_close(&o, true, x->e);
}

static int put_row(struct exporting *x)
{
	struct out o;
	int rc = export_open(x, &o, "trace.row");
	if (rc < 0)
		return rc;
	out_printf(&o, "LEVEL NODE SIZE %u\n", x->defs.nplaces);
	for (uint32_t i = 0; i < x->defs.nplaces; i++)
		put_line(&o, definitions_node(&x->defs, i));
	out_printf(&o, "\nLEVEL TASK SIZE %u\n", x->info->ranks);
	for (uint32_t r = 0; r < x->info->ranks; r++)
		out_printf(&o, "rank %u\n", r);
	out_printf(&o, "\nLEVEL THREAD SIZE %u\n", x->info->lanes);
	for (uint32_t lane = 0; lane < x->info->lanes; lane++) {
		uint32_t rank = mpix_rank_of_lane(x->f, lane);
		out_printf(&o, "THREAD 1.%u.%u\n", rank + 1, lane - mpix_first_lane(x->f, rank) + 1);
	}
	return out_close(&o, true, x->e);
}

static int paraver_begin(struct exporting *x)
{
	struct paraver *p = x->state = calloc(1, sizeof(*p));
	uint32_t *of_node = calloc(x->defs.nplaces + 1u, sizeof(*of_node));
	if (p == NULL || of_node == NULL) {
		free(of_node);
		return fail(x->e, -ENOMEM, "out of memory");
	}
	p->shift_ns = x->first_ns < 0 ? -x->first_ns : 0;
	p->bound = RECORDS_MAX + 8 * (size_t)x->info->lanes;
	p->computes_since = malloc((x->info->lanes + 1u) * sizeof(*p->computes_since));
	p->objects = calloc(x->info->lanes + 1u, sizeof(*p->objects));
	p->values = calloc(x->info->nops + 1u, sizeof(*p->values));
	p->states = calloc(x->info->nops + 1u, sizeof(*p->states));
	int rc = p->computes_since == NULL || p->objects == NULL || p->values == NULL || p->states == NULL ||
				 set_cpus(x, p, of_node) < 0
			 ? fail(x->e, -ENOMEM, "out of memory")
			 : export_open(x, &p->prv, "trace.prv");
	if (rc == 0) {
		for (uint32_t i = 0; i < x->info->lanes; i++)
			p->computes_since[i] = INT64_MAX; /* not begun */
		set_functions(x, p);
		put_header(x, of_node);
		rc = put_pcf(x);
	}
	free(of_node);
	return rc == 0 ? put_row(x) : rc;
}

/* ---- records ---- */

static void put_object(struct paraver *p, uint32_t lane)
{
	memcpy(out_room(&p->prv, OBJECT_MAX), p->objects[lane].text, OBJECT_MAX); /* of a fixed length: no call */
	p->prv.n += p->objects[lane].len_bytes;
}

static void put_ns(struct paraver *p, int64_t ns)
{
	out_char(&p->prv, ':');
	out_i64(&p->prv, ns + p->shift_ns);
}

static void put_pair(struct out *o, int type, uint64_t value)
{
	out_char(o, ':');
	out_u64(o, (uint64_t)type);
	out_char(o, ':');
	out_u64(o, value);
}

static void put_event(struct exporting *x, const struct record *r)
{
	struct out *o = &((struct paraver *)x->state)->prv;
	bool ends = r->value == 0;
	out_char(o, '2');
	put_object(x->state, r->lane);
	put_ns(x->state, r->ns);
	put_pair(o, type_of_class(r->class), (uint64_t)r->value);
	if (r->callsite != MPIX_NO_CALLSITE)
		put_pair(o, TYPE_CALLER, ends ? 0 : r->callsite + 1ull);
	if (r->class == MPIX_COLL || r->class == MPIX_SYNC)
		put_pair(o, TYPE_COMM, ends ? 0 : r->comm + 1ull);
}

static void put_communication(struct exporting *x, const struct record *r)
{
	struct paraver *p = x->state;
	out_char(&p->prv, '3');
	put_object(x->state, r->lane);
	put_ns(p, r->ns);
	put_ns(p, r->ns);
	put_object(x->state, r->other_lane);
	put_ns(p, r->recv_ns);
	put_ns(p, r->recv_end_ns);
	out_char(&p->prv, ':');
	out_u64(&p->prv, r->bytes);
	out_char(&p->prv, ':');
	out_i64(&p->prv, r->value);
}

static void put_record(struct exporting *x, const struct record *r)
{
	struct paraver *p = x->state;
	if (r->kind == STATE) {
		out_char(&p->prv, '1');
		put_object(x->state, r->lane);
		put_ns(p, r->ns);
		put_ns(p, r->until_ns);
		out_char(&p->prv, ':');
		out_u64(&p->prv, (uint64_t)r->value);
	} else if (r->kind == EVENT) {
		put_event(x, r);
	} else {
		put_communication(x, r);
	}
	out_char(&p->prv, '\n');
}

static int push_record(struct exporting *x, struct record r)
{
	struct paraver *p = x->state;
	return vec_push(&p->records, r) < 0 ? fail(x->e, -ENOMEM, "out of memory") : 0;
}

/* Stable, or the end of a call could come behind the begin of the next. */
static int sort_records(struct paraver *p)
{
	size_t n = p->records.n;
	if (vec_grow(&p->order.at, &p->order.cap, n, sizeof(*p->order.at)) < 0 ||
	    vec_grow(&p->merged.at, &p->merged.cap, n, sizeof(*p->merged.at)) < 0)
		return -ENOMEM;
	struct order *from = p->order.at, *to = p->merged.at;
	for (size_t i = 0; i < n; i++)
		from[i] = (struct order){p->records.at[i].ns, (uint32_t)i};
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t first = 0; first < n; first += 2 * width) {
			size_t middle = first + width < n ? first + width : n;
			size_t end = first + 2 * width < n ? first + 2 * width : n;
			if (middle == end || from[middle].ns >= from[middle - 1].ns) {
				memcpy(to + first, from + first, (end - first) * sizeof(*to));
				continue;
			}
			size_t a = first, b = middle;
			for (size_t k = first; k < end; k++)
				to[k] = a < middle && (b == end || from[a].ns <= from[b].ns) ? from[a++] : from[b++];
		}
		struct order *swap = from;
		from = to;
		to = swap;
	}
	if (n > 0 && from != p->order.at)
		memcpy(p->order.at, from, n * sizeof(*from));
	return 0;
}

/* Write what is before ns; all that begins later stays. */
static int write_until(struct exporting *x, int64_t ns)
{
	struct paraver *p = x->state;
	size_t kept = 0;
	for (uint32_t lane = 0; lane < x->info->lanes; lane++) {
		if (p->computes_since[lane] >= ns)
			continue;
		int rc = push_record(x, (struct record){.kind = STATE,
							.lane = lane,
							.ns = p->computes_since[lane],
							.until_ns = ns,
							.value = RUNNING});
		if (rc < 0)
			return rc;
		p->computes_since[lane] = ns;
	}
	if (sort_records(p) < 0)
		return fail(x->e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->records.n && p->order.at[i].ns < ns; i++) {
		if (i + AHEAD < p->records.n) /* in order of time they lie anywhere */
			__builtin_prefetch(&p->records.at[p->order.at[i + AHEAD].at]);
		put_record(x, &p->records.at[p->order.at[i].at]);
	}
	for (size_t i = 0; i < p->records.n; i++) /* those that stay are in their order of coming, as the sort wants */
		if (p->records.at[i].ns >= ns)
			p->records.at[kept++] = p->records.at[i];
	p->records.n = kept;
	return p->prv.code < 0 ? out_close(&p->prv, true, x->e) : 0;
}

static int keep_messages(struct exporting *x, const struct export_event *ev)
{
	int rc = 0;
	for (uint32_t i = 0; i < ev->nnotes && rc == 0; i++) {
		const struct export_note *n = &ev->notes[i];
		if ((EXPORT_ROLE(n->role) & EXPORT_SENDERS) != 0)
			rc = push_record(x, (struct record){.kind = COMMUNICATION,
							    .lane = ev->lane,
							    .other_lane = n->other_lane,
							    .ns = ev->call->start_ns,
							    .recv_ns = n->other_start_ns,
							    .recv_end_ns = n->other_end_ns,
							    .bytes = n->bytes,
							    .value = n->tag});
	}
	return rc;
}

static int paraver_event(struct exporting *x, const struct export_event *ev)
{
	struct paraver *p = x->state;
	const struct mpix_event *call = ev->call;
	int64_t since = p->computes_since[ev->lane];
	struct record state = {
		.kind = STATE, .lane = ev->lane, .ns = since, .until_ns = call->start_ns, .value = RUNNING};
	struct record event = {.kind = EVENT,
			       .lane = ev->lane,
			       .ns = call->start_ns,
			       .value = p->values[call->op],
			       .callsite = call->callsite < x->defs.callsites.n ? call->callsite : MPIX_NO_CALLSITE,
			       .comm = call->comm,
			       .class = call->class};
	int rc = since < call->start_ns ? push_record(x, state) : 0;
	state.ns = call->start_ns;
	state.until_ns = call->end_ns;
	state.value = p->states[call->op] != 0 ? p->states[call->op] : state_of_class(call->class);
	if (rc == 0)
		rc = push_record(x, state);
	if (rc == 0)
		rc = push_record(x, event);
	if (rc == 0)
		rc = keep_messages(x, ev);
	event.ns = call->end_ns;
	event.value = 0;
	if (rc == 0)
		rc = push_record(x, event);
	p->computes_since[ev->lane] = call->end_ns;
	return rc == 0 && p->records.n >= p->bound ? write_until(x, call->start_ns) : rc;
}

static int paraver_end(struct exporting *x)
{
	struct paraver *p = x->state;
	for (uint32_t lane = 0; lane < x->info->lanes; lane++)
		p->computes_since[lane] = INT64_MAX; /* behind MPI_Finalize there is nothing */
	int rc = write_until(x, INT64_MAX);
	return rc == 0 ? out_close(&p->prv, true, x->e) : rc;
}

static void paraver_done(struct exporting *x)
{
	struct paraver *p = x->state;
	if (p == NULL)
		return;
	out_abandon(&p->prv, true);
	vec_done(&p->records);
	vec_done(&p->order);
	vec_done(&p->merged);
	free(p->computes_since);
	free(p->objects);
	free(p->values);
	free(p->states);
	free(p);
}

const struct export_format export_paraver = {.name = "paraver",
					     .directory = true,
					     .in_time_order = true,
					     .roles = EXPORT_SENDERS,
					     .begin = paraver_begin,
					     .event = paraver_event,
					     .end = paraver_end,
					     .done = paraver_done};
