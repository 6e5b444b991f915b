/* export.c - what leaves a trace: one whose every event is known, in each format that is text, and what is chosen of
 * it. Two ranks: 0 sends to 1, which has waited for it; both meet at a barrier. */
#include "mpix_trace.h"
#include "base/cursor.h"
#include "reports/export/export.h"
#include "reports/export/format.h"
#include "reports/export/kinds.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ANALYSIS \
	"{\"job\":{\"program\":\"/bin/late;x\",\"start\":\"2025-03-04T10:20:30Z\"}," \
	"\"per_rank\":[{\"rank\":0,\"node\":\"n,1\",\"useful_s\":0.5,\"mpi_s\":null,\"calls\":2}]," \
	"\"communicators\":[{\"id\":0,\"name\":\"MPI_COMM_WORLD\",\"size\":2,\"ranks\":[0,1]}]," \
	"\"callsites\":[{\"id\":0,\"op\":\"MPI_Send\",\"file\":\"a.c\",\"line\":3,\"function\":\"main\"}," \
	"{\"id\":1,\"op\":\"MPI_Recv\",\"file\":\"a.c\",\"line\":5,\"function\":\"main\"}]}"

/* The first three are called; the others are those that Paraver knows, and one that it does not. */
static const char *const ops[] = {"MPI_Send",
				  "MPI_Recv",
				  "MPI_Barrier",
				  "MPI_Isend",
				  "MPI_Irecv",
				  "MPI_Wait",
				  "MPI_Waitall",
				  "MPI_Bcast",
				  "MPI_Reduce",
				  "MPI_Allreduce",
				  "MPI_Alltoall",
				  "MPI_Alltoallv",
				  "MPI_Gather",
				  "MPI_Gatherv",
				  "MPI_Scatter",
				  "MPI_Scatterv",
				  "MPI_Allgather",
				  "MPI_Allgatherv",
				  "MPI_Comm_rank",
				  "MPI_Comm_size",
				  "MPI_Comm_create",
				  "MPI_Comm_dup",
				  "MPI_Comm_split",
				  "MPI_Comm_group",
				  "MPI_Comm_free",
				  "MPI_Scan",
				  "MPI_Init",
				  "MPI_Finalize",
				  "MPI_Bsend",
				  "MPI_Ssend",
				  "MPI_Rsend",
				  "MPI_Ibsend",
				  "MPI_Issend",
				  "MPI_Irsend",
				  "MPI_Test",
				  "MPI_Sendrecv",
				  "MPI_Sendrecv_replace",
				  "MPI_Win_fence"};
#define OPS (sizeof(ops) / sizeof(ops[0]))
static const struct mpix_signature of_0[] = {
	{.bytes = 100, .message_bytes = 100, .peer = 1, .tag = 7, .op = 0, .callsite = 0, .class = MPIX_P2P},
	{.peer = -1, .op = 2, .callsite = MPIX_NO_CALLSITE, .class = MPIX_SYNC, .flags = MPIX_COLLECTIVE},
};
static const struct mpix_signature of_1[] = {
	{.bytes = 100, .peer = 0, .tag = 7, .op = 1, .callsite = 1, .class = MPIX_P2P},
	{.peer = -1, .op = 2, .callsite = MPIX_NO_CALLSITE, .class = MPIX_SYNC, .flags = MPIX_COLLECTIVE},
};

static void write_with(const char *analysis)
{
	static struct plain_event events[2][2] = {
		{{1000000, 1100000, 0, 0, PLAIN_SIG_BYTES}, {2000000, 2500000, 1, 0, PLAIN_SIG_BYTES}},
		{{500000, 1150000, 0, 0, PLAIN_SIG_BYTES}, {2100000, 2500000, 1, 0, PLAIN_SIG_BYTES}}};
	static const struct plain_lane lanes[] = {{events[0], 2}, {events[1], 2}};
	static const struct mpix_signature *const sigs[] = {of_0, of_1};
	static const uint32_t nsigs[] = {2, 2}, rank_of_lane[] = {0, 1}, threads[] = {1, 1}, clock_of_lane[] = {0, 0};
	static const struct mpix_clock_knot knot = {0, 0, 1};
	static const struct mpix_clock clock = {0, &knot, 1};
	static const struct plain_link link = {{1, 0}, {1, PLAIN_NONE}, {0, 0}, {0, PLAIN_NONE}, MPIX_OF_START};
	static const struct plain_wait wait = {{1, 0}, {0, 0}, 1, MPIX_WAIT_UNTIL_START, 0};
	struct plain_trace t = {.info = {.ranks = 2,
					 .runtime_ns = 3000000,
					 .ops = ops,
					 .nops = OPS,
					 .threads = threads,
					 .clocks = &clock,
					 .nclocks = 1,
					 .clock_of_lane = clock_of_lane},
				.lanes = lanes,
				.sigs = sigs,
				.nsigs = nsigs,
				.links = &link,
				.waits = &wait,
				.nlinks = 1,
				.nwaits = 1,
				.windows = 1,
				.threads = 1,
				.rank_of_lane = rank_of_lane};
	struct error e = {{0}};
	cr_assert_eq(plain_write(path_of("t.mpix"), &t, analysis, &e), 0, "%s", e.text);
}

static void begin(void)
{
	make_directory();
	write_with(ANALYSIS);
}

TestSuite(export, .init = begin, .fini = remove_directory);

static struct export_choice everything(const char *path)
{
	return (struct export_choice){.path = path, .from_ns = INT64_MIN, .to_ns = INT64_MAX};
}

static struct export_counts export_to(const char *format, const struct export_choice *choice)
{
	char source[256];
	struct export_counts counts = {0};
	struct error e = {{0}};
	snprintf(source, sizeof(source), "%s/t.mpix", test_directory());
	cr_assert_not_null(export_format_find(format));
	cr_assert_eq(export_file(source, export_format_find(format), choice, &counts, &e), 0, "%s", e.text);
	return counts;
}

/* What is in a file of the directory; the caller frees. */
static char *text_of(const char *name)
{
	struct buf b = slurp(path_of(name));
	buf_u8(&b, 0);
	return (char *)b.data;
}

static void assert_text(const char *name, const char *expected)
{
	char *text = text_of(name);
	cr_assert_str_eq(text, expected, "%s", text);
	free(text);
}

#define EVENTS_HEAD \
	"rank,thread,start_ns,end_ns,op,class,peer,tag,bytes,communicator,collective,callsite,calls,wait_ns,open\n"

Test(export, csv_has_a_row_for_each_event_message_and_wait)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/csv", test_directory());
	struct export_choice all = everything(path);
	struct export_counts c = export_to("csv", &all);
	cr_expect_eq(c.events, 4);
	cr_expect_eq(c.messages, 1);
	cr_expect_eq(c.waits, 1);
	cr_expect_eq(c.lanes, 2);
	cr_expect_eq(c.collectives, 2);
	cr_expect_eq(c.events_outside + c.messages_outside + c.left_out, 0);
	assert_text("csv/events.csv", EVENTS_HEAD "0,0,1000000,1100000,MPI_Send,p2p,1,7,100,0,,0,1,0,0\n"
						  "0,0,2000000,2500000,MPI_Barrier,sync,,0,0,0,0,,1,0,0\n"
						  "1,0,500000,1150000,MPI_Recv,p2p,0,7,100,0,,1,1,500000,0\n"
						  "1,0,2100000,2500000,MPI_Barrier,sync,,0,0,0,0,,1,0,0\n");
	assert_text("csv/messages.csv",
		    "message,src,src_thread,dst,dst_thread,tag,communicator,bytes,send_start_ns,send_end_ns,"
		    "recv_start_ns,completion_start_ns,recv_end_ns,send_callsite,recv_callsite\n"
		    "1,0,0,1,0,7,0,100,1000000,1100000,500000,500000,1150000,0,1\n");
	assert_text("csv/waits.csv", "rank,thread,start_ns,op,callsite,state,wait_ns,causer\n"
				     "1,0,500000,MPI_Recv,1,late_sender,500000,0\n");
	assert_text("csv/ranks.csv",
		    "rank,node,useful_s,mpi_s,wait_s,messages_out,messages_in,bytes_out,bytes_in,calls,"
		    "exit_status,state\n0,\"n,1\",0.5,,,,,,,2,,\n");
}

Test(export, ranks_that_are_not_chosen_are_counted)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/csv", test_directory());
	struct export_choice one = everything(path);
	cr_assert_eq(export_ranks_parse("1", &one.ranks), 0);
	struct export_counts c = export_to("csv", &one);
	cr_expect_eq(c.events, 2);
	cr_expect_eq(c.messages, 0, "its sender is not");
	cr_expect_eq(c.messages_outside, 1);
	assert_text("csv/events.csv", EVENTS_HEAD "1,0,500000,1150000,MPI_Recv,p2p,0,7,100,0,,1,1,500000,0\n"
						  "1,0,2100000,2500000,MPI_Barrier,sync,,0,0,0,0,,1,0,0\n");
}

#define OPENS \
	"{\"per_rank\":[{\"rank\":1,\"open\":[{\"thread\":0,\"op\":\"MPI_Ssend\",\"class\":1,\"callsite\":1," \
	"\"communicator\":0,\"from_s\":0.0026,\"to_s\":0.003,\"waits\":true,\"needs\":0}]}," \
	"{\"rank\":0,\"open\":[{\"thread\":0,\"op\":\"MPI_Recv\",\"class\":1,\"callsite\":null,\"communicator\":null," \
	"\"from_s\":0.0024,\"to_s\":0.003,\"waits\":false,\"needs\":null}," \
	"{\"thread\":1,\"op\":\"MPI_Recv\",\"class\":1,\"from_s\":0,\"to_s\":1}," \
	"{\"thread\":0,\"op\":null,\"class\":99,\"from_s\":null,\"to_s\":0.003}]},{\"rank\":7,\"open\":[{}]}]}"

/* Behind the others of their thread, not before these end. What nobody can place is counted. */
Test(export, calls_that_never_ended_are_events_to_the_end_of_their_rank)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/csv", test_directory());
	struct export_choice all = everything(path);
	write_with(OPENS);
	struct export_counts c = export_to("csv", &all);
	cr_expect_eq(c.events, 6);
	cr_expect_eq(c.open, 2);
	cr_expect_eq(c.open_ns, 900000);
	cr_expect_eq(c.open_unknown, 2, "a thread that is not there, and no time");
	assert_text("csv/events.csv", EVENTS_HEAD "0,0,1000000,1100000,MPI_Send,p2p,1,7,100,0,,0,1,0,0\n"
						  "0,0,2000000,2500000,MPI_Barrier,sync,,0,0,0,0,,1,0,0\n"
						  "0,0,2500000,3000000,MPI_Recv,p2p,,0,0,0,,,1,0,1\n"
						  "1,0,500000,1150000,MPI_Recv,p2p,0,7,100,0,,1,1,500000,0\n"
						  "1,0,2100000,2500000,MPI_Barrier,sync,,0,0,0,0,,1,0,0\n"
						  "1,0,2600000,3000000,MPI_Ssend,p2p,,0,0,0,,1,1,400000,1\n");
	snprintf(path, sizeof(path), "%s/prv", test_directory());
	cr_expect_eq(export_to("paraver", &all).open, 2, "in order of time, too");
	all.to_ns = 2600000;
	snprintf(path, sizeof(path), "%s/until", test_directory());
	cr_expect_eq(export_to("csv", &all).open, 1, "chosen as others are");
}

/* An event is chosen if it overlaps the span, a message if its three calls begin in it (docs/EXPORT.md). */
Test(export, a_span_chooses_what_overlaps_it)
{
	static const struct {
		int64_t from, to;
		uint64_t events, messages;
	} cases[] = {
		{500000, 1000001, 2, 1},  {500000, 1000000, 1, 0},  {500001, 1000001, 2, 0},  {1150000, 2000000, 0, 0},
		{1149999, 2000001, 2, 0}, {1150000, 2100001, 2, 0}, {2499999, 9000000, 2, 0}, {2500000, 9000000, 0, 0},
		{0, 500000, 0, 0},	  {0, 500001, 1, 0},
	};
	char path[256];
	snprintf(path, sizeof(path), "%s/j.json", test_directory());
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct export_choice span = everything(path);
		span.from_ns = cases[i].from;
		span.to_ns = cases[i].to;
		span.tables = true;
		struct export_counts c = export_to("json", &span);
		cr_expect_eq(c.events, cases[i].events, "case %zu: %lu events", i, c.events);
		cr_expect_eq(c.messages, cases[i].messages, "case %zu: %lu messages", i, c.messages);
		cr_expect_eq(c.messages + c.messages_outside, 1, "case %zu", i);
	}
}

Test(export, json_without_tables_is_the_analysis)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/j.json", test_directory());
	struct export_choice all = everything(path);
	export_to("json", &all);
	assert_text("j.json", ANALYSIS "\n");
}

static double number_at(const cJSON *rows, int row, int column)
{
	const cJSON *x = cJSON_GetArrayItem(cJSON_GetArrayItem(rows, row), column);
	return cJSON_IsNumber(x) ? x->valuedouble : -999;
}

Test(export, json_with_tables_names_its_columns)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/j.json", test_directory());
	struct export_choice all = everything(path);
	all.tables = true;
	export_to("json", &all);
	char *text = text_of("j.json");
	cJSON *root = cJSON_Parse(text);
	cr_assert_not_null(root, "%s", text);
	for (const char *const *table = (const char *const[]){"events", "messages", NULL}; *table != NULL; table++) {
		const cJSON *t = cJSON_GetObjectItem(root, *table), *rows = cJSON_GetObjectItem(t, "rows");
		int columns = cJSON_GetArraySize(cJSON_GetObjectItem(t, "columns"));
		cr_assert_eq(cJSON_GetArraySize(rows), **table == 'e' ? 4 : 1);
		for (int i = 0; i < cJSON_GetArraySize(rows); i++)
			cr_expect_eq(cJSON_GetArraySize(cJSON_GetArrayItem(rows, i)), columns);
	}
	const cJSON *events = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "events"), "rows");
	const cJSON *waits = cJSON_GetArrayItem(cJSON_GetArrayItem(events, 2), 14);
	cr_expect_eq(number_at(events, 2, 13), 500000);
	cr_expect_str_eq(cJSON_GetArrayItem(cJSON_GetArrayItem(waits, 0), 0)->valuestring, "late_sender");
	cr_expect_eq(number_at(waits, 0, 1), 500000);
	cr_expect_eq(number_at(waits, 0, 2), 0);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetArrayItem(cJSON_GetArrayItem(events, 0), 14)), 0);
	cr_expect(cJSON_IsNull(cJSON_GetArrayItem(cJSON_GetArrayItem(events, 1), 6)), "a barrier has no peer");
	cr_expect(cJSON_IsNull(cJSON_GetArrayItem(cJSON_GetArrayItem(events, 1), 11)), "nor a call site");
	cJSON_Delete(root);
	free(text);
}

static const cJSON *slice(const cJSON *events, const char *phase, int n)
{
	const cJSON *x;
	cJSON_ArrayForEach(x, events)
	{
		if (strcmp(cJSON_GetObjectItem(x, "ph")->valuestring, phase) == 0 && n-- == 0)
			return x;
	}
	return NULL;
}

Test(export, chrome_is_json_of_slices_in_microseconds_and_a_flow_a_message)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/c.json", test_directory());
	struct export_choice all = everything(path);
	export_to("chrome", &all);
	char *text = text_of("c.json");
	cJSON *root = cJSON_Parse(text);
	cr_assert_not_null(root, "%s", text);
	const cJSON *events = cJSON_GetObjectItem(root, "traceEvents");
	const cJSON *recv = slice(events, "X", 2), *out = slice(events, "s", 0), *in = slice(events, "f", 0);
	cr_assert_not_null(recv);
	cr_expect_str_eq(cJSON_GetObjectItem(recv, "name")->valuestring, "MPI_Recv");
	cr_expect_eq(cJSON_GetObjectItem(recv, "pid")->valuedouble, 1);
	cr_expect_eq(cJSON_GetObjectItem(recv, "ts")->valuedouble, 500);
	cr_expect_eq(cJSON_GetObjectItem(recv, "dur")->valuedouble, 650);
	cr_expect_eq(cJSON_GetObjectItem(cJSON_GetObjectItem(recv, "args"), "bytes")->valuedouble, 100);
	cr_expect_null(slice(events, "X", 4));
	cr_assert(out != NULL && in != NULL);
	cr_expect_eq(cJSON_GetObjectItem(out, "pid")->valuedouble, 0);
	cr_expect_eq(cJSON_GetObjectItem(in, "pid")->valuedouble, 1);
	cr_expect_eq(cJSON_GetObjectItem(out, "id")->valuedouble, cJSON_GetObjectItem(in, "id")->valuedouble);
	cJSON_Delete(root);
	free(text);
}

/* What separates frames stands in none; the largest comes first. */
Test(export, folded_is_a_line_a_stack_the_largest_first)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/f.txt", test_directory());
	struct export_choice all = everything(path);
	export_to("folded", &all);
	char *text = text_of("f.txt");
	const char *barrier = strstr(text, "late:x;MPI_Barrier 900\n"), *recv = strstr(text, ";MPI_Recv 650\n");
	const char *send = strstr(text, ";MPI_Send 100\n");
	cr_assert(barrier == text && recv != NULL && send != NULL && recv < send, "%s", text);
	free(text);
	all.waits = true;
	struct export_counts c = export_to("folded", &all);
	cr_expect_eq(c.left_out, 2, "stacks without a wait");
	text = text_of("f.txt");
	cr_expect_not_null(strstr(text, ";MPI_Recv 500\n"), "%s", text);
	cr_expect_null(strstr(text, "MPI_Send"));
	free(text);
}

Test(export, paraver_has_states_events_and_communications_in_order_of_time)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/prv", test_directory());
	struct export_choice all = everything(path);
	export_to("paraver", &all);
	char *text = text_of("prv/trace.prv"), *line = strtok(text, "\n");
	cr_expect_str_eq(line, "#Paraver (04/03/2025 at 10:20):3000000_ns:1(2):1:2(1:1,1:1),1");
	line = strtok(NULL, "\n");
	cr_expect_str_eq(line, "c:1:1:2:1:2", "of two ranks");
	long long last = -1, messages = 0, events = 0, waiting = 0;
	while ((line = strtok(NULL, "\n")) != NULL) {
		long long ns;
		if (sscanf(line, "3:%*d:%*d:%*d:%*d:%lld", &ns) == 1) {
			messages++;
			cr_expect_str_eq(line, "3:1:1:1:1:1000000:1000000:2:1:2:1:500000:1150000:100:7");
		} else if (sscanf(line, "2:%*d:%*d:%*d:%*d:%lld", &ns) == 1) {
			events++;
			cr_expect_eq(strstr(line, ":50100004:") != NULL, strstr(line, ":50000002:") != NULL,
				     "a communicator is a collective's: %s", line);
		} else if (sscanf(line, "1:%*d:%*d:%*d:%*d:%lld", &ns) == 1) {
			waiting += strstr(line, "1:2:1:2:1:500000:1150000:3") == line;
		} else {
			cr_expect_fail("of no kind: %s", line);
			continue;
		}
		cr_expect_geq(ns, last, "%s", line);
		last = ns;
	}
	cr_expect_eq(messages, 1);
	cr_expect_eq(events, 8, "a begin and an end of each: %lld", events);
	cr_expect_eq(waiting, 1, "a receive waits for a message");
	free(text);
}

/* By kind of event, as the .prv uses them; what is drawn of a call begins and ends. */
Test(export, paraver_gives_each_function_a_value_of_its_own)
{
	char path[256], name[64];
	size_t types = 0;
	snprintf(path, sizeof(path), "%s/prv", test_directory());
	struct export_choice all = everything(path);
	export_to("paraver", &all);
	char *text = text_of("prv/trace.pcf");
	for (const char *at = text; types < 5 && (at = strstr(at, "VALUES\n0    End\n")) != NULL; types++) {
		bool used[2000] = {true};
		int value, len;
		size_t n = 0;
		at = strchr(strchr(at, '\n') + 1, '\n') + 1;
		for (; sscanf(at, "%d%*1[ ] %63s%n", &value, name, &len) == 2 && at[0] != '\n'; at += len + 1, n++) {
			cr_assert(value > 0 && value < 2000);
			cr_expect_not(used[value], "%d is another's, too: %s", value, name);
			used[value] = true;
			cr_expect_str_eq(name, ops[n]);
		}
		cr_expect_eq(n, OPS, "%zu", n);
	}
	cr_expect_eq(types, 5);
	cr_expect_not_null(strstr(text, "\n1    main (a.c:3)\n2    main (a.c:5)\n"), "%s", text);
	free(text);
	assert_text("prv/trace.row", "LEVEL NODE SIZE 1\nn,1\n\nLEVEL TASK SIZE 2\nrank 0\nrank 1\n\n"
				     "LEVEL THREAD SIZE 2\nTHREAD 1.1.1\nTHREAD 1.2.1\n");
}

#define FIELDS 64

/* A message of protocol buffers, each field by its number: a value, or bytes. */
struct message {
	uint64_t value[FIELDS];
	struct span bytes[FIELDS];
};

static struct message message_of(struct span bytes)
{
	struct message m = {{0}, {{NULL, 0}}};
	struct cursor c = cursor_over(bytes.data, bytes.len_bytes);
	uint64_t key = 0, value = 0;
	while (cursor_left(&c) > 0) {
		cr_assert_eq(rd_varint(&c, &key), 0);
		cr_assert_lt(key >> 3, FIELDS);
		cr_assert_eq((key & 7) == 1 ? rd_u64(&c, &value) : rd_varint(&c, &value), 0);
		m.value[key >> 3] = value;
		if ((key & 7) == 2)
			cr_assert_eq(rd_bytes(&c, value, &m.bytes[key >> 3]), 0);
	}
	return m;
}

/* Numbers of fields: tests/integration/perfetto.proto. */
Test(export, perfetto_has_a_begin_and_an_end_of_each_slice)
{
	static const struct {
		uint64_t ns, type, track, name;
	} want[] = {{1000000, 1, 1, 1}, {1100000, 2, 1, 0}, {2000000, 1, 1, 3}, {2500000, 2, 1, 0},
		    {500000, 1, 3, 2},	{1150000, 2, 3, 0}, {2100000, 1, 3, 3}, {2500000, 2, 3, 0}};
	char path[256];
	size_t n = 0;
	snprintf(path, sizeof(path), "%s/p.pftrace", test_directory());
	struct export_choice all = everything(path);
	export_to("perfetto", &all);
	struct buf b = slurp(path_of("p.pftrace"));
	struct cursor file = cursor_over(b.data, b.len_bytes);
	while (cursor_left(&file) > 0) {
		uint64_t key = 0, len_bytes = 0;
		struct span bytes = {NULL, 0};
		cr_assert(rd_varint(&file, &key) == 0 && key == (1 << 3 | 2));
		cr_assert(rd_varint(&file, &len_bytes) == 0 && rd_bytes(&file, len_bytes, &bytes) == 0);
		struct message packet = message_of(bytes), event = message_of(packet.bytes[11]);
		cr_expect_eq(packet.value[10], 1, "all of one sequence");
		if (packet.bytes[11].data == NULL)
			continue;
		cr_assert_lt(n, sizeof(want) / sizeof(want[0]));
		cr_expect_eq(packet.value[8], want[n].ns, "slice %zu: %lu", n, packet.value[8]);
		cr_expect_eq(event.value[9], want[n].type, "slice %zu: %lu", n, event.value[9]);
		cr_expect_eq(event.value[11], want[n].track, "slice %zu: %lu", n, event.value[11]);
		cr_expect_eq(event.value[10], want[n].name, "slice %zu: %lu", n, event.value[10]);
		n++;
	}
	cr_expect_eq(n, sizeof(want) / sizeof(want[0]), "%zu", n);
	buf_done(&b);
}

Test(export, a_directory_that_is_there_is_left_as_it_is)
{
	char path[256], source[256];
	struct export_counts counts;
	struct error e = {{0}};
	snprintf(path, sizeof(path), "%s/csv", test_directory());
	snprintf(source, sizeof(source), "%s/t.mpix", test_directory());
	cr_assert_eq(mkdir(path, 0755), 0);
	spill(path_of("csv/mine"), "x", 1);
	struct export_choice all = everything(path);
	cr_expect_lt(export_file(source, export_format_find("csv"), &all, &counts, &e), 0);
	cr_expect_not_null(strstr(e.text, path), "%s", e.text);
	assert_text("csv/mine", "x");
}

Test(export, what_is_stopped_leaves_nothing_behind)
{
	static volatile sig_atomic_t stop = 1;
	char path[256], source[256];
	struct export_counts counts;
	struct error e = {{0}};
	struct stat st;
	snprintf(path, sizeof(path), "%s/out.json", test_directory());
	snprintf(source, sizeof(source), "%s/t.mpix", test_directory());
	struct export_choice all = everything(path);
	all.stop = &stop;
	all.tables = true;
	cr_expect_eq(export_file(source, export_format_find("json"), &all, &counts, &e), -EINTR);
	cr_expect_lt(stat(path, &st), 0);
}

Test(export, ranks_are_read_as_ranges)
{
	static const char *const wrong[] = {"",	  "x",	 "-1", "1-",	"3-2",	      "1,",
					    ",1", "1;2", " 1", "1-2-3", "99999999999"};
	struct export_ranks r;
	cr_assert_eq(export_ranks_parse("0-3,8", &r), 0);
	cr_expect_eq(r.n, 2);
	cr_expect(r.at[0].first == 0 && r.at[0].last == 3 && r.at[1].first == 8 && r.at[1].last == 8);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect_eq(export_ranks_parse(wrong[i], &r), -EINVAL, "\"%s\"", wrong[i]);
	cr_expect_eq(r.n, 2, "what it was stays");
}

Test(export, as_many_ranges_as_there_is_room_for)
{
	char text[EXPORT_RANGES_MAX * 2 + 8] = "";
	struct export_ranks r;
	for (size_t i = 0; i < 2 * EXPORT_RANGES_MAX - 1; i++)
		text[i] = i % 2 == 0 ? '1' : ',';
	cr_expect_eq(export_ranks_parse(text, &r), 0);
	cr_expect_eq(r.n, EXPORT_RANGES_MAX);
	memcpy(text + strlen(text), ",1", sizeof(",1"));
	cr_expect_eq(export_ranks_parse(text, &r), -EINVAL);
}

Test(export, knows_what_a_function_does_by_its_name)
{
	static const struct {
		const char *name;
		enum op_does does;
		bool blocking, collective, split;
	} cases[] = {
		{"MPI_Bcast", OP_BCAST, true, true, false},
		{"MPI_Ibcast", OP_BCAST, false, true, false},
		{"MPI_Bcast_c", OP_BCAST, true, true, false},
		{"MPI_Iallreduce_c", OP_ALLREDUCE, false, true, false},
		{"MPI_Ibsend", OP_OTHER, true, false, false},
		{"MPI_Iput", OP_OTHER, false, false, false},
		{"MPI_Exscan", OP_EXSCAN, true, true, false},
		{"MPI_Rput", OP_PUT, true, false, false},
		{"MPI_Win_lock_all", OP_LOCK_ALL, true, false, false},
		{"MPI_File_read_at_all", OP_FILE_READ, true, true, false},
		{"MPI_File_iwrite_at", OP_FILE_WRITE, false, false, false},
		{"MPI_File_write_ordered_begin", OP_FILE_WRITE, false, true, true},
		{"MPI_File_write_ordered_end", OP_FILE_END, true, false, false},
		{"MPI_File_open", OP_FILE_OPEN, true, false, false},
		{"MPI_Barrie", OP_OTHER, true, false, false},
		{"Barrier", OP_OTHER, true, false, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct op_kind k = op_kind_of(cases[i].name);
		cr_expect_eq(k.does, cases[i].does, "%s", cases[i].name);
		cr_expect_eq(k.collective, cases[i].collective, "%s", cases[i].name);
		cr_expect_eq(k.split, cases[i].split, "%s", cases[i].name);
		if (cases[i].does != OP_OTHER)
			cr_expect_eq(k.blocking, cases[i].blocking, "%s", cases[i].name);
	}
}

Test(export, of_a_collectives_bytes_some_were_sent)
{
	static const struct {
		const char *name;
		uint64_t bytes;
		uint32_t rank, root, size;
		uint64_t sent;
	} cases[] = {
		{"MPI_Bcast", 60, 2, 2, 4, 60},	 {"MPI_Bcast", 60, 1, 2, 4, 0},	    {"MPI_Gather", 60, 2, 2, 4, 0},
		{"MPI_Gather", 60, 1, 2, 4, 60}, {"MPI_Alltoall", 60, 1, 0, 4, 30}, {"MPI_Barrier", 60, 1, 0, 4, 0},
		{"MPI_Scan", 60, 0, 0, 4, 60},	 {"MPI_Scan", 60, 3, 0, 4, 0},	    {"MPI_Scan", 60, 1, 0, 4, 40},
		{"MPI_Scan", 60, 0, 0, 1, 0},	 {"MPI_Scan", 60, 4, 0, 4, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(op_bytes_sent(op_kind_of(cases[i].name), cases[i].bytes, cases[i].rank, cases[i].root,
					   cases[i].size),
			     cases[i].sent, "case %zu", i);
}
