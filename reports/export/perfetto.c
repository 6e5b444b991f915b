/* perfetto.c - a trace for ui.perfetto.dev and trace_processor: a process a rank, a track a thread, a slice a call, a
 * flow a message. Names are interned once, at the beginning. Written by hand: few messages, no code of a generator.
 * Field numbers: Perfetto's protos/perfetto/trace; tests/integration/perfetto.proto has those that are used here. */
#include "base/buf.h"
#include "reports/export/format.h"

#include <stdio.h>
#include <stdlib.h>

enum field {
	TRACE_PACKET = 1,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
	TRACK_UUID = 1,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	PROCESS_LABELS = 8,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	EVENT_CATEGORY = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_LOCATION = 34,
	EVENT_FLOWS = 47,
	EVENT_ENDING_FLOWS = 48,
	ANNOTATION_NAME = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_ANNOTATIONS = 3,
	INTERNED_LOCATIONS = 4,
	NAMED_ID = 1,
	NAMED_TEXT = 2,
	LOCATION_FILE = 2,
	LOCATION_FUNCTION = 3,
	LOCATION_LINE = 4,
};

enum { SLICE_BEGIN = 1, SLICE_END = 2 };
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };
#define SEQUENCE 1u

/* What annotations are called; ids are places + 1. */
enum { ARG_BYTES, ARG_PEER, ARG_TAG, ARG_COMM, ARG_CALLS, ARG_WAIT, ARG_COLLECTIVE, ARG_OPEN, ARGS };
static const char *const arg_names[ARGS] = {"bytes", "peer",	"tag",	      "communicator",
					    "calls", "wait_ns", "collective", "open"};

struct perfetto {
	struct buf event, packet, inner;
	int64_t shift_ns; /* times are not negative */
};

static void put_key(struct buf *b, unsigned field, unsigned type)
{
	buf_varint(b, field << 3 | type);
}

static void put_number(struct buf *b, unsigned field, uint64_t value)
{
	put_key(b, field, VARINT);
	buf_varint(b, value);
}

static void put_bytes(struct buf *b, unsigned field, const void *data, size_t len_bytes)
{
	put_key(b, field, BYTES);
	buf_varint(b, len_bytes);
	buf_bytes(b, data, len_bytes);
}

static void put_text(struct buf *b, unsigned field, const char *text)
{
	put_bytes(b, field, text, strlen(text));
}

/* One packet of the trace; its fields are in p->packet. */
static int put_packet(struct exporting *x)
{
	struct perfetto *p = x->state;
	char head[16];
	size_t n = 0;
	uint64_t left = p->packet.len_bytes;
	head[n++] = TRACE_PACKET << 3 | BYTES;
	for (; left >= 0x80; left >>= 7)
		head[n++] = (char)(left | 0x80);
	head[n++] = (char)left;
	if (buf_failed(&p->packet) || buf_failed(&p->event) || buf_failed(&p->inner))
		return fail(x->e, -ENOMEM, "out of memory");
	out_bytes(&x->out, head, n);
	out_bytes(&x->out, p->packet.data, p->packet.len_bytes);
	p->packet.len_bytes = 0;
	return x->out.code < 0 ? out_close(&x->out, false, x->e) : 0;
}

/* ---- tracks ---- */

/* Processes and threads are told apart by 1 and 2 in the low bits of their tracks. */
static uint64_t process_track(uint32_t rank)
{
	return (uint64_t)rank * 2 + 2;
}

static uint64_t thread_track(uint32_t lane)
{
	return (uint64_t)lane * 2 + 1;
}

static int put_process(struct exporting *x, uint32_t rank)
{
	struct perfetto *p = x->state;
	char name[32];
	snprintf(name, sizeof(name), "rank %u", rank);
	p->inner.len_bytes = p->event.len_bytes = 0;
	put_number(&p->inner, PROCESS_PID, rank + 1u);
	put_text(&p->inner, PROCESS_NAME, name);
	put_text(&p->inner, PROCESS_LABELS, definitions_node(&x->defs, definitions_place(x->info, rank)));
	put_number(&p->event, TRACK_UUID, process_track(rank));
	put_bytes(&p->event, TRACK_PROCESS, p->inner.data, p->inner.len_bytes);
	put_bytes(&p->packet, PACKET_TRACK, p->event.data, p->event.len_bytes);
	put_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	return put_packet(x);
}

/* The first thread of a process has its number, as under Linux. */
static int put_thread(struct exporting *x, uint32_t rank, uint32_t lane)
{
	struct perfetto *p = x->state;
	uint32_t thread = lane - mpix_first_lane(x->f, rank);
	char name[32];
	snprintf(name, sizeof(name), thread == 0 ? "main thread" : "thread %u", thread);
	p->inner.len_bytes = p->event.len_bytes = 0;
	put_number(&p->inner, THREAD_PID, rank + 1u);
	put_number(&p->inner, THREAD_TID, thread == 0 ? rank + 1ull : (uint64_t)x->info->ranks + 1 + lane);
	put_text(&p->inner, THREAD_NAME, name);
	put_number(&p->event, TRACK_UUID, thread_track(lane));
	put_number(&p->event, TRACK_PARENT, process_track(rank));
	put_bytes(&p->event, TRACK_THREAD, p->inner.data, p->inner.len_bytes);
	put_bytes(&p->packet, PACKET_TRACK, p->event.data, p->event.len_bytes);
	put_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	return put_packet(x);
}

static int put_tracks(struct exporting *x)
{
	int rc = 0;
	for (uint32_t r = 0; r < x->info->ranks && rc == 0; r++) {
		if (!export_has_rank(x, r))
			continue;
		rc = put_process(x, r);
		for (uint32_t l = mpix_first_lane(x->f, r); l < mpix_first_lane(x->f, r + 1) && rc == 0; l++)
			rc = put_thread(x, r, l);
	}
	return rc;
}

/* ---- names ---- */

static void intern(struct perfetto *p, unsigned field, uint64_t id, const char *text)
{
	p->inner.len_bytes = 0;
	put_number(&p->inner, NAMED_ID, id);
	put_text(&p->inner, NAMED_TEXT, text);
	put_bytes(&p->event, field, p->inner.data, p->inner.len_bytes);
}

static void intern_location(struct exporting *x, uint32_t id)
{
	struct perfetto *p = x->state;
	const cJSON *site = x->defs.callsites.at[id];
	double line = json_number_or(site, "line", 0);
	p->inner.len_bytes = 0;
	put_number(&p->inner, NAMED_ID, id + 1ull);
	put_text(&p->inner, LOCATION_FILE, json_text(site, "file", json_text(site, "module", "?")));
	put_text(&p->inner, LOCATION_FUNCTION, json_text(site, "function", json_text(site, "address", "?")));
	if (line > 0)
		put_number(&p->inner, LOCATION_LINE, (uint64_t)line);
	put_bytes(&p->event, INTERNED_LOCATIONS, p->inner.data, p->inner.len_bytes);
}

static int put_names(struct exporting *x)
{
	struct perfetto *p = x->state;
	p->event.len_bytes = 0;
	for (uint32_t i = 0; i < MPIX_CLASSES; i++)
		intern(p, INTERNED_CATEGORIES, i + 1ull, export_class_name((uint8_t)i));
	for (uint32_t i = 0; i < x->info->nops; i++)
		intern(p, INTERNED_NAMES, i + 1ull, x->info->ops[i]);
	for (uint32_t i = 0; i < ARGS; i++)
		intern(p, INTERNED_ANNOTATIONS, i + 1ull, arg_names[i]);
	for (uint32_t i = 0; i < x->defs.callsites.n; i++)
		intern_location(x, i);
	put_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	put_number(&p->packet, PACKET_FLAGS, STATE_CLEARED | NEEDS_STATE);
	put_bytes(&p->packet, PACKET_INTERNED, p->event.data, p->event.len_bytes);
	return put_packet(x);
}

static int perfetto_begin(struct exporting *x)
{
	struct perfetto *p = x->state = calloc(1, sizeof(*p));
	if (p == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	p->shift_ns = x->first_ns < 0 ? -x->first_ns : 0;
	int rc = put_names(x);
	return rc == 0 ? put_tracks(x) : rc;
}

/* ---- slices: many, so their fields go straight to memory that is long enough for all of them ---- */

#define EVENT_BYTES_MAX 256u /* without flows */
#define FLOW_BYTES 10u
#define HEAD_BYTES_MAX 40u

static inline uint8_t *add_varint(uint8_t *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

static inline uint8_t *add_number(uint8_t *to, unsigned field, uint64_t value)
{
	return add_varint(add_varint(to, field << 3 | VARINT), value);
}

/* Its length is below 128: one byte. */
static inline uint8_t *add_arg(uint8_t *to, unsigned name, unsigned field, uint64_t value)
{
	uint8_t *len_bytes = add_varint(to, EVENT_ANNOTATION << 3 | BYTES);
	to = add_number(len_bytes + 1, ANNOTATION_NAME, name + 1u);
	to = add_number(to, field, value);
	*len_bytes = (uint8_t)(to - len_bytes - 1);
	return to;
}

static uint8_t *add_args(uint8_t *to, const struct mpix_event *call)
{
	if (call->bytes > 0)
		to = add_arg(to, ARG_BYTES, ANNOTATION_UINT, call->bytes);
	if (call->peer != -1) {
		to = add_arg(to, ARG_PEER, ANNOTATION_INT, (uint64_t)(int64_t)call->peer);
		to = add_arg(to, ARG_TAG, ANNOTATION_INT, (uint64_t)(int64_t)call->tag);
	}
	if (call->comm != 0)
		to = add_arg(to, ARG_COMM, ANNOTATION_UINT, call->comm);
	if (call->calls != 1)
		to = add_arg(to, ARG_CALLS, ANNOTATION_UINT, call->calls);
	if (call->wait_ns > 0)
		to = add_arg(to, ARG_WAIT, ANNOTATION_UINT, (uint64_t)call->wait_ns);
	if (call->number != MPIX_NO_NUMBER)
		to = add_arg(to, ARG_COLLECTIVE, ANNOTATION_UINT, call->number);
	return to;
}

static uint8_t *add_flows(uint8_t *to, const struct export_event *ev, unsigned roles, unsigned field)
{
	for (uint32_t i = 0; i < ev->nnotes; i++) {
		if ((EXPORT_ROLE(ev->notes[i].role) & roles) == 0)
			continue;
		to = add_varint(to, field << 3 | FIXED64);
		for (int byte = 0; byte < 8; byte++)
			*to++ = (uint8_t)(ev->notes[i].message >> 8 * byte);
	}
	return to;
}

/* The packet of an event, of which the fields are there. */
static void put_event(struct exporting *x, int64_t ns, const uint8_t *event, const uint8_t *end)
{
	const struct perfetto *p = x->state;
	size_t len_bytes = (size_t)(end - event);
	uint8_t head[HEAD_BYTES_MAX], start[16], *to = head;
	to = add_number(to, PACKET_TIMESTAMP, (uint64_t)(ns + p->shift_ns));
	to = add_number(to, PACKET_SEQUENCE, SEQUENCE);
	to = add_number(to, PACKET_FLAGS, NEEDS_STATE);
	to = add_varint(add_varint(to, PACKET_TRACK_EVENT << 3 | BYTES), len_bytes);
	uint8_t *of_start = add_varint(add_varint(start, TRACE_PACKET << 3 | BYTES), (size_t)(to - head) + len_bytes);
	out_bytes(&x->out, start, (size_t)(of_start - start));
	out_bytes(&x->out, head, (size_t)(to - head));
	out_bytes(&x->out, event, len_bytes);
}

/* A flow begins with its send and must end later: a receive may begin before its send, so it is the slice's end that
 * carries it. */
static int perfetto_event(struct exporting *x, const struct export_event *ev)
{
	struct perfetto *p = x->state;
	const struct mpix_event *call = ev->call;
	p->event.len_bytes = 0;
	uint8_t *event = buf_reserve(&p->event, EVENT_BYTES_MAX + (size_t)FLOW_BYTES * ev->nnotes), *to = event;
	if (event == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	to = add_number(to, EVENT_TYPE, SLICE_BEGIN);
	to = add_number(to, EVENT_TRACK, thread_track(ev->lane));
	to = add_number(to, EVENT_NAME, call->op + 1ull);
	to = add_number(to, EVENT_CATEGORY, call->class + 1ull);
	if (call->callsite < x->defs.callsites.n)
		to = add_number(to, EVENT_LOCATION, call->callsite + 1ull);
	to = add_args(to, call);
	if (opens_has(call))
		to = add_arg(to, ARG_OPEN, ANNOTATION_UINT, 1);
	to = add_flows(to, ev, EXPORT_SENDERS, EVENT_FLOWS);
	put_event(x, call->start_ns, event, to);
	to = add_number(event, EVENT_TYPE, SLICE_END);
	to = add_number(to, EVENT_TRACK, thread_track(ev->lane));
	to = add_flows(to, ev, EXPORT_RECEIVERS, EVENT_ENDING_FLOWS);
	put_event(x, call->end_ns, event, to);
	return x->out.code < 0 ? out_close(&x->out, false, x->e) : 0;
}

static int perfetto_end(struct exporting *x)
{
	(void)x;
	return 0;
}

static void perfetto_done(struct exporting *x)
{
	struct perfetto *p = x->state;
	if (p == NULL)
		return;
	buf_done(&p->event);
	buf_done(&p->packet);
	buf_done(&p->inner);
	free(p);
}

const struct export_format export_perfetto = {.name = "perfetto",
					      .roles = EXPORT_SENDERS | EXPORT_RECEIVERS | EXPORT_ROLE(EXPORT_WAITS),
					      .begin = perfetto_begin,
					      .event = perfetto_event,
					      .end = perfetto_end,
					      .done = perfetto_done};
