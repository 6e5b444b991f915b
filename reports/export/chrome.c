/* chrome.c - the JSON that chrome://tracing and many viewers read: complete events ("X"), messages as flows ("s", "f").
 * A process is a rank. Viewers keep all of it in memory as objects, so large traces are refused.
 * Source: "Trace Event Format", Google, 2016. */
#include "reports/export/format.h"

#include <errno.h>

#define EVENTS_MAX 1000000u /* about 200 MB of text */

static void put_process(struct exporting *x, uint32_t rank)
{
	struct out *o = &x->out;
	out_printf(o, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"rank %u\"}},\n", rank,
		   rank);
	out_printf(o, "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"args\":{\"sort_index\":%u}},\n", rank,
		   rank);
	out_printf(o, "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%u,\"args\":{\"labels\":", rank);
	out_json(o, definitions_node(&x->defs, definitions_place(x->info, rank)));
	out_text(o, "}},\n");
}

static int chrome_begin(struct exporting *x)
{
	if (x->expected > EVENTS_MAX && !x->choice->large)
		return fail(x->e, -E2BIG,
			    "%s: %llu events are too many for viewers of this format (%u): take --to perfetto, or "
			    "choose with --ranks, --since and --until, or --large to write it nevertheless",
			    x->source, (unsigned long long)x->expected, EVENTS_MAX);
	out_text(&x->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	for (uint32_t r = 0; r < x->info->ranks; r++)
		if (export_has_rank(x, r))
			put_process(x, r);
	return 0;
}

static void put_place(struct exporting *x, uint32_t rank, uint32_t thread, int64_t ns)
{
	struct out *o = &x->out;
	out_text(o, ",\"pid\":");
	out_u64(o, rank);
	out_text(o, ",\"tid\":");
	out_u64(o, thread);
	out_text(o, ",\"ts\":");
	out_us(o, ns);
}

static int chrome_event(struct exporting *x, const struct export_event *ev)
{
	struct out *o = &x->out;
	const struct mpix_event *call = ev->call;
	out_text(o, "{\"ph\":\"X\",\"name\":");
	out_json(o, x->info->ops[call->op]);
	out_text(o, ",\"cat\":\"");
	out_text(o, export_class_name(call->class));
	out_char(o, '"');
	put_place(x, ev->rank, call->thread, call->start_ns);
	out_text(o, ",\"dur\":");
	out_us(o, call->end_ns - call->start_ns);
	out_text(o, ",\"args\":{\"bytes\":");
	out_u64(o, call->bytes);
	if (call->peer != -1) {
		out_text(o, ",\"peer\":");
		out_i64(o, call->peer);
	}
	out_text(o, ",\"communicator\":");
	out_u64(o, call->comm);
	if (call->calls != 1) {
		out_text(o, ",\"calls\":");
		out_u64(o, call->calls);
	}
	if (call->wait_ns > 0) {
		out_text(o, ",\"wait_us\":");
		out_us(o, call->wait_ns);
	}
	if (opens_has(call))
		out_text(o, ",\"open\":1");
	if (call->callsite != MPIX_NO_CALLSITE) {
		out_text(o, ",\"callsite\":");
		out_json(o, definitions_label(&x->defs, call->callsite));
	}
	out_text(o, "}},\n");
	return o->code;
}

/* A flow ties itself to the slice that holds its time: the send's begin and, with bp:e, the receive's end. */
static void put_flow(struct exporting *x, const char *phase, uint32_t rank, uint32_t lane, int64_t ns, uint64_t number)
{
	struct out *o = &x->out;
	out_text(o, "{\"ph\":");
	out_text(o, phase);
	out_text(o, ",\"name\":\"message\",\"cat\":\"message\",\"id\":");
	out_u64(o, number);
	put_place(x, rank, lane - mpix_first_lane(x->f, rank), ns);
	out_text(o, "},\n");
}

static int chrome_message(struct exporting *x, const struct mpix_link *link, uint64_t number)
{
	const struct mpix_message *m = &link->message;
	uint32_t lane = link->completion.window == MPIX_NOWHERE ? link->recv.lane : link->completion.lane;
	put_flow(x, "\"s\"", m->src, link->send.lane, m->send_start_ns, number);
	put_flow(x, "\"f\",\"bp\":\"e\"", m->dst, lane, m->completion_start_ns, number);
	return x->out.code < 0 ? out_close(&x->out, false, x->e) : 0;
}

static int chrome_end(struct exporting *x)
{
	out_text(&x->out, "{\"ph\":\"M\",\"name\":\"trace\",\"pid\":0,\"args\":{\"source\":\"mpitrace\"}}\n]}\n");
	return 0;
}

const struct export_format export_chrome = {.name = "chrome",
					    .roles = EXPORT_ROLE(EXPORT_WAITS),
					    .begin = chrome_begin,
					    .event = chrome_event,
					    .message = chrome_message,
					    .end = chrome_end};
