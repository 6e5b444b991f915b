/* json.c - the analysis object; with tables {schema, analysis, messages, events}: a row is an array, "columns" names
 * its members. An event's wait states stand in its row. */
#include "reports/export/format.h"

#include <stdlib.h>

struct json {
	bool in_events, any;
};

static int json_begin(struct exporting *x)
{
	struct out *o = &x->out;
	x->state = calloc(1, sizeof(struct json));
	if (x->state == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	if (!x->choice->tables) {
		out_text(o, mpix_analysis(x->f));
		out_char(o, '\n');
		return 0;
	}
	out_text(o, "{\"schema\":\"mpitrace/tables/1\",\n\"analysis\":");
	out_text(o, mpix_analysis(x->f));
	out_text(o,
		 ",\n\"messages\":{\"columns\":[\"src\",\"src_thread\",\"dst\",\"dst_thread\",\"tag\",\"communicator\","
		 "\"bytes\",\"send_start_ns\",\"send_end_ns\",\"recv_start_ns\",\"completion_start_ns\","
		 "\"recv_end_ns\",\"send_callsite\",\"recv_callsite\"],\"rows\":[");
	return 0;
}

static void put_number(struct out *o, int64_t value)
{
	out_char(o, ',');
	out_i64(o, value);
}

static void put_or_null(struct out *o, uint64_t value, bool known)
{
	out_char(o, ',');
	if (known)
		out_u64(o, value);
	else
		out_text(o, "null");
}

static void row_begin(struct exporting *x)
{
	struct json *j = x->state;
	out_text(&x->out, j->any ? ",\n[" : "\n[");
	j->any = true;
}

static int json_message(struct exporting *x, const struct mpix_link *link, uint64_t number)
{
	struct out *o = &x->out;
	const struct mpix_message *m = &link->message;
	(void)number;
	row_begin(x);
	out_u64(o, m->src);
	put_number(o, link->send.lane - mpix_first_lane(x->f, m->src));
	put_number(o, m->dst);
	put_number(o, link->recv.lane - mpix_first_lane(x->f, m->dst));
	put_number(o, m->tag);
	put_number(o, m->comm);
	put_or_null(o, m->bytes, true);
	put_number(o, m->send_start_ns);
	put_number(o, m->send_end_ns);
	put_number(o, m->recv_start_ns);
	put_number(o, m->completion_start_ns);
	put_number(o, m->recv_end_ns);
	put_or_null(o, m->send_callsite, m->send_callsite != MPIX_NO_CALLSITE);
	put_or_null(o, m->recv_callsite, m->recv_callsite != MPIX_NO_CALLSITE);
	out_char(o, ']');
	return 0;
}

static void begin_events(struct exporting *x)
{
	struct json *j = x->state;
	if (j->in_events)
		return;
	j->in_events = true;
	j->any = false;
	out_text(&x->out, "]},\n\"events\":{\"columns\":[\"rank\",\"thread\",\"start_ns\",\"end_ns\",\"op\",\"class\","
			  "\"peer\",\"tag\",\"bytes\",\"communicator\",\"collective\",\"callsite\",\"calls\","
			  "\"wait_ns\",\"waits\",\"open\"],\"rows\":[");
}

static void put_waits(struct exporting *x, const struct export_event *ev)
{
	struct out *o = &x->out;
	bool any = false;
	out_text(o, ",[");
	for (uint32_t i = 0; i < ev->nnotes; i++) {
		const struct export_note *n = &ev->notes[i];
		if (n->role != EXPORT_WAITS)
			continue;
		out_text(o, any ? ",[" : "[");
		any = true;
		out_json(o, export_state_name(n->state));
		put_or_null(o, n->message, true);
		bool known = n->other_lane != EXPORT_NOBODY;
		put_or_null(o, known ? mpix_rank_of_lane(x->f, n->other_lane) : 0, known);
		out_char(o, ']');
	}
	out_char(o, ']');
}

static int json_event(struct exporting *x, const struct export_event *ev)
{
	struct out *o = &x->out;
	const struct mpix_event *call = ev->call;
	begin_events(x);
	row_begin(x);
	out_u64(o, ev->rank);
	put_number(o, call->thread);
	put_number(o, call->start_ns);
	put_number(o, call->end_ns);
	out_char(o, ',');
	out_json(o, x->info->ops[call->op]);
	out_char(o, ',');
	out_json(o, export_class_name(call->class));
	if (call->peer == -1)
		out_text(o, ",null");
	else
		put_number(o, call->peer);
	put_number(o, call->tag);
	put_or_null(o, call->bytes, true);
	put_number(o, call->comm);
	put_or_null(o, call->number, call->number != MPIX_NO_NUMBER);
	put_or_null(o, call->callsite, call->callsite != MPIX_NO_CALLSITE);
	put_or_null(o, call->calls, true);
	put_number(o, call->wait_ns);
	put_waits(x, ev);
	put_number(o, opens_has(call));
	out_char(o, ']');
	return 0;
}

static int json_end(struct exporting *x)
{
	if (!x->choice->tables)
		return 0;
	begin_events(x);
	out_text(&x->out, "]}}\n");
	return 0;
}

static void json_done(struct exporting *x)
{
	free(x->state);
}

const struct export_format export_json = {.name = "json",
					  .tables = true,
					  .roles = EXPORT_ROLE(EXPORT_WAITS),
					  .begin = json_begin,
					  .event = json_event,
					  .message = json_message,
					  .end = json_end,
					  .done = json_done};
