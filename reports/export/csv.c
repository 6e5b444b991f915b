/* csv.c - a table a file, as RFC 4180 has it but for line ends, which are those of Unix. docs/EXPORT.md says what
 * columns mean; times are nanoseconds since the start of the record. */
#include "reports/export/format.h"

#include <stdlib.h>

struct csv {
	struct out events, messages, waits;
};

static void put_head(struct out *o, const char *columns)
{
	out_text(o, columns);
	out_char(o, '\n');
}

/* Members of the rows of a list in the analysis: text, numbers, and nothing for null. */
static void put_value(struct out *o, const cJSON *value)
{
	if (cJSON_IsString(value))
		out_field(o, value->valuestring);
	else if (cJSON_IsNumber(value) && value->valuedouble == (double)(int64_t)value->valuedouble)
		out_i64(o, (int64_t)value->valuedouble);
	else if (cJSON_IsNumber(value))
		out_printf(o, "%.9g", value->valuedouble);
	else if (cJSON_IsBool(value))
		out_char(o, cJSON_IsTrue(value) ? '1' : '0');
}

static void put_rows(struct out *o, const cJSON *rows, const char *const *keys)
{
	for (const cJSON *x = rows; x != NULL; x = x->next) {
		for (const char *const *key = keys; *key != NULL; key++) {
			if (key != keys)
				out_char(o, ',');
			put_value(o, json_item(x, *key));
		}
		out_char(o, '\n');
	}
}

static int put_list(struct exporting *x, const char *file, const char *list, const char *const *keys)
{
	struct out o;
	int rc = export_open(x, &o, file);
	if (rc < 0)
		return rc;
	for (const char *const *key = keys; *key != NULL; key++) {
		if (key != keys)
			out_char(&o, ',');
		out_text(&o, *key);
	}
	out_char(&o, '\n');
	put_rows(&o, json_first(x->defs.analysis, list), keys);
	return out_close(&o, true, x->e);
}

static void cell_u64(struct out *o, uint64_t value)
{
	out_u64(o, value);
	out_char(o, ',');
}

static void cell_i64(struct out *o, int64_t value)
{
	out_i64(o, value);
	out_char(o, ',');
}

static int put_members(struct exporting *x)
{
	struct out o;
	int rc = export_open(x, &o, "communicator_members.csv");
	if (rc < 0)
		return rc;
	put_head(&o, "communicator,rank_in_communicator,rank");
	for (uint32_t i = 0; i < x->defs.comms.n; i++)
		for (uint32_t k = 0; k < x->defs.members[i].n; k++) {
			cell_u64(&o, i);
			cell_u64(&o, k);
			if (x->defs.members[i].ranks[k] != DEFINITION_NONE)
				out_u64(&o, x->defs.members[i].ranks[k]);
			out_char(&o, '\n');
		}
	return out_close(&o, true, x->e);
}

/* A row adds a table: its file, the name of the list in the analysis, and its members. */
static const struct {
	const char *file, *list, *keys[16];
} lists[] = {
	{"ranks.csv",
	 "per_rank",
	 {"rank", "node", "useful_s", "mpi_s", "wait_s", "messages_out", "messages_in", "bytes_out", "bytes_in",
	  "calls", "exit_status", "state"}},
	{"operations.csv", "operations", {"op", "calls", "time_s", "bytes"}},
	{"callsites.csv",
	 "callsites",
	 {"id", "op", "file", "line", "function", "module", "address", "calls", "time_s", "bytes", "wait_s"}},
	{"communicators.csv", "communicators", {"id", "name", "size", "remote_size", "parent", "created_by", "calls"}},
	{"windows.csv",
	 "windows",
	 {"id", "name", "communicator", "created_by", "exposed_bytes", "puts", "gets", "accumulates", "fetches",
	  "bytes_to_target", "bytes_from_target", "time_s"}},
	{"files.csv",
	 "files",
	 {"id", "name", "communicator", "reads", "writes", "collective", "bytes_read", "bytes_written", "time_s"}},
	{"wait_states.csv", "wait_states", {"state", "rank", "callsite", "causer", "count", "seconds"}},
	{"issues.csv", "issues", {"issue", "severity", "score", "loss_s", "what", "why", "next"}},
};

static int csv_begin(struct exporting *x)
{
	struct csv *c = x->state = calloc(1, sizeof(*c));
	if (c == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	int rc = put_members(x);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists) && rc == 0; i++)
		rc = put_list(x, lists[i].file, lists[i].list, lists[i].keys);
	if (rc == 0)
		rc = export_open(x, &c->events, "events.csv");
	if (rc == 0)
		rc = export_open(x, &c->messages, "messages.csv");
	if (rc == 0)
		rc = export_open(x, &c->waits, "waits.csv");
	if (rc < 0)
		return rc;
	put_head(&c->events,
		 "rank,thread,start_ns,end_ns,op,class,peer,tag,bytes,communicator,collective,callsite,calls,"
		 "wait_ns,open");
	put_head(&c->messages, "message,src,src_thread,dst,dst_thread,tag,communicator,bytes,send_start_ns,send_end_ns,"
			       "recv_start_ns,completion_start_ns,recv_end_ns,send_callsite,recv_callsite");
	put_head(&c->waits, "rank,thread,start_ns,op,callsite,state,wait_ns,causer");
	return 0;
}

static void put_site(struct out *o, uint32_t callsite)
{
	if (callsite != MPIX_NO_CALLSITE)
		out_u64(o, callsite);
}

static void put_wait(struct exporting *x, const struct export_event *ev, const struct export_note *n)
{
	struct out *o = &((struct csv *)x->state)->waits;
	cell_u64(o, ev->rank);
	cell_u64(o, ev->call->thread);
	cell_i64(o, ev->call->start_ns);
	out_text(o, x->info->ops[ev->call->op]);
	out_char(o, ',');
	put_site(o, ev->call->callsite);
	out_char(o, ',');
	out_text(o, export_state_name(n->state));
	out_char(o, ',');
	cell_u64(o, n->message);
	if (n->other_lane != EXPORT_NOBODY)
		out_u64(o, mpix_rank_of_lane(x->f, n->other_lane));
	out_char(o, '\n');
}

static int csv_event(struct exporting *x, const struct export_event *ev)
{
	struct out *o = &((struct csv *)x->state)->events;
	const struct mpix_event *call = ev->call;
	cell_u64(o, ev->rank);
	cell_u64(o, call->thread);
	cell_i64(o, call->start_ns);
	cell_i64(o, call->end_ns);
	out_field(o, x->info->ops[call->op]);
	out_char(o, ',');
	out_text(o, export_class_name(call->class));
	out_char(o, ',');
	if (call->peer != -1)
		out_i64(o, call->peer);
	out_char(o, ',');
	cell_i64(o, call->tag);
	cell_u64(o, call->bytes);
	cell_u64(o, call->comm);
	if (call->number != MPIX_NO_NUMBER)
		out_u64(o, call->number);
	out_char(o, ',');
	put_site(o, call->callsite);
	out_char(o, ',');
	cell_u64(o, call->calls);
	cell_i64(o, call->wait_ns);
	out_text(o, opens_has(call) ? "1\n" : "0\n");
	for (uint32_t i = 0; i < ev->nnotes; i++)
		if (ev->notes[i].role == EXPORT_WAITS)
			put_wait(x, ev, &ev->notes[i]);
	return o->code < 0 ? out_close(o, true, x->e) : 0;
}

static void put_end(struct exporting *x, struct out *o, uint32_t rank, uint32_t lane)
{
	cell_u64(o, rank);
	cell_u64(o, lane - mpix_first_lane(x->f, rank));
}

static int csv_message(struct exporting *x, const struct mpix_link *link, uint64_t number)
{
	struct out *o = &((struct csv *)x->state)->messages;
	const struct mpix_message *m = &link->message;
	const int64_t times[] = {m->send_start_ns, m->send_end_ns, m->recv_start_ns, m->completion_start_ns,
				 m->recv_end_ns};
	cell_u64(o, number);
	put_end(x, o, m->src, link->send.lane);
	put_end(x, o, m->dst, link->recv.lane);
	cell_i64(o, m->tag);
	cell_u64(o, m->comm);
	out_u64(o, m->bytes);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		out_char(o, ',');
		out_i64(o, times[i]);
	}
	out_char(o, ',');
	put_site(o, m->send_callsite);
	out_char(o, ',');
	put_site(o, m->recv_callsite);
	out_char(o, '\n');
	return o->code < 0 ? out_close(o, true, x->e) : 0;
}

static int csv_end(struct exporting *x)
{
	struct csv *c = x->state;
	int rc = out_close(&c->events, true, x->e);
	if (rc == 0)
		rc = out_close(&c->messages, true, x->e);
	return rc == 0 ? out_close(&c->waits, true, x->e) : rc;
}

static void csv_done(struct exporting *x)
{
	struct csv *c = x->state;
	if (c == NULL)
		return;
	out_abandon(&c->events, true);
	out_abandon(&c->messages, true);
	out_abandon(&c->waits, true);
	free(c);
}

const struct export_format export_csv = {.name = "csv",
					 .directory = true,
					 .roles = EXPORT_ROLE(EXPORT_WAITS),
					 .begin = csv_begin,
					 .event = csv_event,
					 .message = csv_message,
					 .end = csv_end,
					 .done = csv_done};
