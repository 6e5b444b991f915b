/* fleet_record.c - of a step of which all is known, each field of its record; and what is left out of one that is too
 * large. */
#include "fleet/hours.h"
#include "fleet/record.h"
#include "fleet/record_nodes.h"

#include "base/buf.h"
#include "base/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stands at "share.useful" or "issues.1.what", as JSON; "" for nothing. The caller frees it. */
static char *at(const cJSON *o, const char *path)
{
	char key[64];
	while (o != NULL && *path != '\0') {
		size_t len = strcspn(path, ".");
		snprintf(key, sizeof(key), "%.*s", (int)len, path);
		o = cJSON_IsArray(o) ? cJSON_GetArrayItem(o, atoi(key)) : json_item(o, key);
		path += len + (path[len] == '.');
	}
	return o != NULL ? cJSON_PrintUnformatted(o) : strdup("");
}

struct field {
	const char *path, *json;
};

static void expect_fields(const cJSON *record, const struct field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *text = at(record, fields[i].path);
		cr_expect_str_eq(text, fields[i].json, "%s: %s instead of %s", fields[i].path, text, fields[i].json);
		free(text);
	}
}

static cJSON *built(const char *analysis, const struct record_source *source)
{
	struct error e = {""};
	char *text = NULL;
	cr_assert_eq(record_build(analysis, source, &text, &e), 0, "%s", e.text);
	cr_expect_lt(strlen(text), RECORD_BYTES_MADE);
	cJSON *record = cJSON_Parse(text);
	cr_assert_not_null(record, "%s", text);
	free(text);
	return record;
}

#define JOB \
	"\"job\":{\"cluster\":\"c\",\"job_id\":\"7\",\"step_id\":\"0\",\"restart\":\"1\",\"account\":\"phys\"," \
	"\"partition\":\"long\"," \
	"\"program\":\"/home/ann/bin/" \
	"x\",\"build_id\":\"b1\",\"nodes\":[\"n1\",\"n2\"],\"ranks\":4,\"start\":\"2026-03-02T10:00:00Z\"," \
	"\"elapsed_s\":100,\"hung_s\":20,\"mpi\":\"Open MPI v4.1.4, " \
	"package\",\"slurm\":\"23.02\",\"outcome\":{\"state\":\"TIMEOUT\"," \
	"\"signal\":9},\"modules\":[\"gcc/12\"]}"

static const char whole[] =
	"{" JOB ",\"per_rank\":["
	"{\"node\":\"n1\",\"useful_s\":60,\"mpi_s\":20,\"wait_s\":10,\"exit_status\":0,\"resident_max_bytes\":1000,"
	"\"cpus\":\"0-1\"},"
	"{\"node\":\"n1\",\"useful_s\":50,\"mpi_s\":30,\"wait_s\":20,\"exit_status\":3,\"resident_max_bytes\":5000,"
	"\"cpus\":\"2,3\"},"
	"{\"node\":\"n2\",\"useful_s\":40,\"mpi_s\":40,\"wait_s\":30,\"exit_status\":1,\"resident_max_bytes\":2000,"
	"\"cpus\":\"0-1\"},"
	"{\"node\":\"n2\",\"useful_s\":30,\"mpi_s\":50,\"wait_s\":null,\"exit_status\":0,\"cpus\":\"2-3\"}],"
	"\"wait_totals\":[{\"state\":\"late_sender\",\"seconds\":30},{\"state\":\"late_sender_wrong_order\","
	"\"seconds\":10},"
	"{\"state\":\"late_complete\",\"seconds\":5},{\"state\":\"barrier\",\"seconds\":10},{\"state\":\"barrier\","
	"\"seconds\":99}],"
	"\"coverage\":{\"complete\":true,\"ranks_seen\":4,\"nodes_missing\":[\"n3\"],\"events\":90,\"events_lost\":2},"
	"\"efficiency\":{\"parallel\":0.5,\"load_balance\":0.75,\"communication\":0.6666667,\"serialization\":null},"
	"\"issues\":[{\"issue\":\"late_sender\",\"severity\":\"high\",\"loss_s\":36,\"gain\":{\"share\":0.25,\"s\":9},"
	"\"what\":\"in /x it\"},"
	"{\"issue\":\"load_imbalance\",\"severity\":\"low\",\"loss_s\":18,\"what\":\"it\"}],"
	"\"operations\":[{\"op\":\"MPI_Send\",\"calls\":5,\"time_s\":1,\"bytes\":100},{\"op\":\"MPI_Recv\",\"calls\":6,"
	"\"time_s\":7.1234567,"
	"\"bytes\":200}],"
	"\"callsites\":[{\"op\":\"MPI_Send\",\"function\":\"f(int)\",\"function_short\":\"f\",\"file\":\"/home/ann/"
	"x.c\",\"line\":12,"
	"\"time_s\":2,\"wait_s\":1},{\"op\":\"MPI_Recv\",\"function\":\"g\",\"line\":13,\"time_s\":3}],"
	"\"io\":{\"classes\":[{\"class\":\"read_all\",\"bytes\":10},{\"class\":\"write_at\",\"bytes\":20},{\"class\":"
	"\"read\",\"bytes\":5},"
	"{\"class\":\"write\",\"bytes\":-3}],\"time_s\":1.5},"
	"\"summary\":{\"bytes_sent\":1000,\"collective_bytes\":2000},\"overhead\":{\"ns_per_call\":50,\"share\":0.001}"
	"}";

static const struct field whole_fields[] = {
	{"schema", "\"mpitrace/job/2\""},
	{"id", "\"c:7.0:1\""},
	{"cluster", "\"c\""},
	{"job_id", "\"7\""},
	{"step_id", "\"0\""},
	{"restart", "\"1\""},
	{"user", "\"ann\""},
	{"account", "\"phys\""},
	{"partition", "\"long\""},
	{"program", "\"/home/ann/bin/x\""},
	{"build_id", "\"b1\""},
	{"report", "\"/home/ann/r.html\""},
	{"nodes", "2"},
	{"ranks", "4"},
	{"start", "\"2026-03-02T10:00:00Z\""},
	{"end", "\"2026-03-02T10:01:40Z\""},
	{"elapsed_s", "100"},
	{"hung_s", "20"},
	{"state", "\"TIMEOUT\""},
	{"exit_code", "3"},
	{"signal", "9"},
	{"tasks", "4"},
	{"max_rss_bytes", "5000"},
	{"alloc_cpus", "8"},
	{"cpus_per_rank", "2"},
	{"name", "null"},
	{"qos", "null"},
	{"gpus", "null"},
	{"coverage", "{\"complete\":true,\"ranks_seen\":4,\"nodes_missing\":1,\"events\":90,\"events_lost\":2}"},
	{"efficiency.parallel", "0.5"},
	{"efficiency.load_balance", "0.75"},
	{"efficiency.communication", "0.666667"},
	{"efficiency.serialization", "null"},
	/* 180 s of 320 s; 60 s of waiting are known. */
	{"share", "{\"useful\":0.5625,\"mpi\":0.4375,\"wait\":0.1875}"},
	{"wait_s", "{\"late_sender\":30,\"late_sender_wrong_order\":10,\"late_complete\":5,\"barrier\":10}"},
	{"issues.0.issue", "\"late_sender\""},
	{"issues.0.severity", "\"high\""},
	{"issues.0.loss_s", "36"},
	{"issues.0.gain", "0.25"},
	{"issues.0.gain_s", "9"},
	{"issues.0.what", "\"in /x it\""},
	{"issues.0.loss_core_hours", "0.02"}, /* two processors a rank */
	{"issues.1.loss_core_hours", "0.01"},
	{"issues.1.gain", "null"},
	{"issues.2", ""},
	{"operations.0", "{\"op\":\"MPI_Recv\",\"calls\":6,\"time_s\":7.12346,\"bytes\":200}"},
	{"operations.1", "{\"op\":\"MPI_Send\",\"calls\":5,\"time_s\":1,\"bytes\":100}"},
	{"callsites.0",
	 "{\"op\":\"MPI_Recv\",\"function\":\"g\",\"file\":null,\"line\":13,\"time_s\":3,\"wait_s\":null}"},
	{"callsites.1", "{\"op\":\"MPI_Send\",\"function\":\"f\",\"file\":\"/home/ann/"
			"x.c\",\"line\":12,\"time_s\":2,\"wait_s\":1}"},
	{"io", "{\"read_bytes\":15,\"written_bytes\":20,\"time_s\":1.5}"},
	{"bytes", "{\"point_to_point\":1000,\"collective\":2000}"},
	{"overhead", "{\"ns_per_call\":50,\"share\":0.001}"},
	{"versions", "{\"mpi\":\"Open MPI v4.1.4, package\",\"slurm\":\"23.02\",\"mpitrace\":\"0.1.0\"}"},
	{"mpi", "{\"implementation\":\"Open MPI\",\"version\":\"4.1.4\"}"},
	{"modules", "[\"gcc/12\"]"},
	/* 8 processors for 100 s, 80 s of which until it hung. */
	{"core_hours", "0.222222"},
	{"hung_core_hours", "0.0444444"},
	{"hours.useful", "0.1"},
	{"hours.transfer", "0.0444444"},
	{"hours.hung", "0.0444444"},
	{"hours.idle", "0"},
	{"hours.wait", "{\"late_sender\":0.025,\"barrier\":0.00833333}"}, /* others are parts of these */
	{"nodelist", "\"n[1-2]\""},
	{"deviation", "[0.2222,-0.2222]"},
	{"nodes_left_out", "0"},
};

Test(fleet_record, each_field_is_what_the_step_did)
{
	static const struct record_source source = {.user = "ann", .report = "/home/ann/r.html", .version = "0.1.0"};
	cJSON *record = built(whole, &source);
	expect_fields(record, whole_fields, sizeof(whole_fields) / sizeof(whole_fields[0]));
	cJSON_Delete(record);
}

Test(fleet_record, directories_are_not_told_where_users_are_not)
{
	static const struct record_source source = {
		.user = "h:12", .report = "/home/ann/r.html", .without_paths = true};
	static const struct field fields[] = {{"user", "\"h:12\""},	    {"program", "\"x\""},
					      {"report", "null"},	    {"callsites.1.file", "\"x.c\""},
					      {"issues.0.what", "null"},    {"issues.1.what", "\"it\""},
					      {"versions.mpitrace", "null"}};
	cJSON *record = built(whole, &source);
	expect_fields(record, fields, sizeof(fields) / sizeof(fields[0]));
	cJSON_Delete(record);
}

Test(fleet_record, what_is_not_known_is_null)
{
	static const struct record_source source = {.user = ""};
	static const struct field fields[] = {{"user", "null"},		 {"exit_code", "null"},
					      {"signal", "null"},	 {"end", "null"},
					      {"max_rss_bytes", "null"}, {"tasks", "null"},
					      {"state", "\"UNKNOWN\""},	 {"nodes", "0"},
					      {"share.useful", "null"},	 {"share.mpi", "null"},
					      {"share.wait", "null"},	 {"hung_s", "0"},
					      {"io.read_bytes", "null"}, {"io.written_bytes", "null"},
					      {"alloc_cpus", "null"},	 {"core_hours", "null"},
					      {"nodelist", ""}};
	cJSON *record = built("{\"job\":{\"job_id\":\"7\"}}", &source);
	expect_fields(record, fields, sizeof(fields) / sizeof(fields[0]));
	cJSON_Delete(record);
}

/* ---- how it ended ---- */

static void expect_field(const char *analysis, const char *path, const char *json)
{
	static const struct record_source source = {.user = "u"};
	cJSON *record = built(analysis, &source);
	expect_fields(record, (struct field[]){{path, json}}, 1);
	cJSON_Delete(record);
}

Test(fleet_record, state_is_who_knew_it_or_what_the_ranks_ends_tell)
{
	static const struct {
		const char *said, *issue, *complete, *state;
	} rows[] = {
		{"CANCELLED", "deadlock", "true", "\"CANCELLED\""},
		{"UNKNOWN", "death", "true", "\"FAILED\""},
		{"UNKNOWN", "out_of_memory", "false", "\"FAILED\""},
		{"UNKNOWN", "deadlock", "true", "\"STOPPED\""},
		{"UNKNOWN", "unfinished", "true", "\"STOPPED\""},
		{"UNKNOWN", "late_sender", "true", "\"COMPLETED\""},
		{"UNKNOWN", "late_sender", "false", "\"UNKNOWN\""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[300];
		snprintf(text, sizeof(text),
			 "{\"job\":{\"outcome\":{\"state\":\"%s\"}},\"issues\":[{\"issue\":\"%s\"}],\"coverage\":{"
			 "\"complete\":%s}}",
			 rows[i].said, rows[i].issue, rows[i].complete);
		expect_field(text, "state", rows[i].state);
	}
}

Test(fleet_record, an_exit_status_is_a_code_or_a_signal_as_a_shell_tells_it)
{
	static const struct {
		const char *ranks, *asked, *code, *signal;
	} rows[] = {
		{"137", "null", "0", "9"},  {"128", "null", "128", "0"},  {"129", "null", "0", "1"},
		{"192", "null", "0", "64"}, {"193", "null", "193", "0"},  {"0", "null", "0", "0"},
		{"0", "15", "0", "15"},	    {"null", "15", "null", "15"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[300];
		snprintf(text, sizeof(text),
			 "{\"job\":{\"outcome\":{\"signal\":%s}},\"per_rank\":[{\"exit_status\":null},{\"exit_status\":"
			 "%s}]}",
			 rows[i].asked, rows[i].ranks);
		expect_field(text, "exit_code", rows[i].code);
		expect_field(text, "signal", rows[i].signal);
	}
}

Test(fleet_record, nobody_waits_longer_than_in_MPI)
{
	expect_field("{\"job\":{},\"per_rank\":[{\"useful_s\":6,\"mpi_s\":2,\"wait_s\":3}]}", "share.wait", "0.25");
	expect_field("{\"job\":{},\"per_rank\":[{\"useful_s\":6,\"mpi_s\":2,\"wait_s\":-3}]}", "share.wait", "0");
	expect_field("{\"job\":{},\"per_rank\":[{\"useful_s\":-6,\"mpi_s\":2,\"wait_s\":1}]}", "share.useful", "0");
}

/* ---- who it is ---- */

static char *id_of(const char *program, const char *start, const char *node, int ranks, int elapsed_s, int events,
		   const char *job)
{
	static const struct record_source source = {.user = "u"};
	char text[400];
	snprintf(text, sizeof(text),
		 "{\"job\":{\"job_id\":\"%s\",\"program\":\"%s\",\"start\":\"%s\",\"nodes\":[\"%s\"],\"ranks\":%d,"
		 "\"elapsed_s\":%d},"
		 "\"coverage\":{\"events\":%d}}",
		 job, program, start, node, ranks, elapsed_s, events);
	cJSON *record = built(text, &source);
	char *id = strdup(json_text(record, "id", ""));
	cJSON_Delete(record);
	return id;
}

/* Outside of Slurm, where a job is number 0 or none. */
Test(fleet_record, a_step_without_number_is_told_by_all_that_is_known_of_it)
{
	char *ids[] = {id_of("p", "s", "n", 4, 5, 6, ""), id_of("q", "s", "n", 4, 5, 6, ""),
		       id_of("p", "t", "n", 4, 5, 6, ""), id_of("p", "s", "m", 4, 5, 6, ""),
		       id_of("p", "s", "n", 3, 5, 6, ""), id_of("p", "s", "n", 4, 4, 6, ""),
		       id_of("p", "s", "n", 4, 5, 5, "")};
	char *again = id_of("p", "s", "n", 4, 5, 6, "0"), *other = id_of("p", "s", "n", 4, 5, 6, "8");
	cr_expect_eq(strncmp(ids[0], "run:", 4), 0, "%s", ids[0]);
	cr_expect_eq(strlen(ids[0]), 20, "%s", ids[0]);
	cr_expect_str_eq(again, ids[0]);
	cr_expect_str_eq(other, ":8.:0");
	for (size_t i = 0; i < 7; i++)
		for (size_t k = 0; k < i; k++)
			cr_expect_str_neq(ids[i], ids[k], "%zu, %zu", i, k);
	for (size_t i = 0; i < 7; i++)
		free(ids[i]);
	free(again);
	free(other);
}

Test(fleet_record, a_file_is_of_whom_it_says_unless_that_is_hidden)
{
	cr_expect(record_is_owners("ann", "ann"));
	cr_expect(!record_is_owners("ann", "bob"));
	cr_expect(record_is_owners("ann", NULL));
	cr_expect(record_is_owners("", "bob"));
	cr_expect(record_is_owners("h:12", "bob"));
	cr_expect(!record_is_owners("h", "bob"));
}

/* ---- lists that are long ---- */

static void put_rows(struct buf *b, const char *name, int n, const char *form)
{
	buf_printf(b, ",\"%s\":[", name);
	for (int i = 0; i < n; i++) {
		buf_str(b, i > 0 ? "," : "");
		buf_printf(b, form, i, i);
	}
	buf_str(b, "]");
}

/* So many ranks, each on a node of its own, and texts of so many bytes. */
static cJSON *large(int nodes, int text_bytes)
{
	static const struct record_source source = {.user = "u"};
	struct buf b = {0};
	char text[1000], form[1200];
	snprintf(text, sizeof(text), "%0*d", text_bytes, 0);
	buf_printf(&b,
		   "{\"job\":{\"ranks\":4,\"elapsed_s\":9,\"program\":\"%s\xc3\xbc\"},\"coverage\":{\"complete\":true}",
		   text);
	snprintf(form, sizeof(form), "{\"issue\":\"i%%d\",\"what\":\"%s\"}", text);
	put_rows(&b, "issues", 7, form);
	put_rows(&b, "operations", 12, "{\"op\":\"o%d\",\"time_s\":%d}");
	put_rows(&b, "callsites", 7, "{\"op\":\"o%d\",\"time_s\":%d}");
	put_rows(&b, "wait_totals", 34, "{\"state\":\"w%d\",\"seconds\":%d}");
	put_rows(&b, "per_rank", nodes, "{\"node\":\"n%d\",\"useful_s\":1%d}");
	buf_str(&b, "}");
	buf_u8(&b, 0);
	cJSON *record = built((const char *)b.data, &source);
	buf_done(&b);
	return record;
}

Test(fleet_record, lists_are_cut_with_the_largest_first)
{
	cJSON *record = large(10, 299);
	static const struct field fields[] = {{"operations.0.op", "\"o11\""}, {"callsites.0.op", "\"o6\""},
					      {"issues.0.issue", "\"i0\""},   {"nodes_left_out", "0"},
					      {"wait_s.w31", "31"},	      {"wait_s.w32", ""}};
	expect_fields(record, fields, sizeof(fields) / sizeof(fields[0]));
	cr_expect_eq(json_count(record, "issues"), 5);
	cr_expect_eq(json_count(record, "operations"), 10);
	cr_expect_eq(json_count(record, "callsites"), 5);
	cr_expect_eq(json_count(record, "deviation"), 10);
	cr_expect_eq(strlen(json_text(record, "program", "")), 299, "no half of a character");
	cJSON_Delete(record);
	record = large(10, 298);
	cr_expect_eq(strlen(json_text(record, "program", "")), 300);
	cJSON_Delete(record);
}

/* Each has its bytes: nodes go first, then texts, then all else. */
Test(fleet_record, one_that_is_large_has_less_of_each)
{
	static const struct {
		int nodes, text_bytes;
		size_t kept, issues, program;
	} rows[] = {{512, 10, 512, 5, 12},
		    {513, 10, 512, 5, 12},
		    {600, 10, 256, 5, 12},
		    {600, 900, 128, 3, 120},
		    {10, 900, 10, 5, 300}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cJSON *record = large(rows[i].nodes, rows[i].text_bytes);
		cr_expect_eq(json_count(record, "deviation"), rows[i].kept, "row %zu: %zu", i,
			     json_count(record, "deviation"));
		cr_expect_eq(json_number(record, "nodes_left_out"), rows[i].nodes - (double)rows[i].kept);
		cr_expect_eq(json_count(record, "issues"), rows[i].issues, "row %zu: %zu", i,
			     json_count(record, "issues"));
		cr_expect_eq(strlen(json_text(record, "program", "")), rows[i].program, "row %zu: %zu", i,
			     strlen(json_text(record, "program", "")));
		cJSON_Delete(record);
	}
}

Test(fleet_record, the_name_of_a_state_is_short)
{
	expect_field("{\"job\":{},\"wait_totals\":[{\"state\":\"\",\"seconds\":1},{\"state\":"
		     "\"012345678901234567890123456789012345678\","
		     "\"seconds\":2},{\"state\":\"0123456789012345678901234567890123456789\",\"seconds\":3}]}",
		     "wait_s", "{\"012345678901234567890123456789012345678\":2}");
}

/* ---- nodes ---- */

static cJSON *nodes_of(const char *ranks, size_t most)
{
	char text[2000];
	snprintf(text, sizeof(text), "{\"coverage\":{\"complete\":true},\"per_rank\":[%s]}", ranks);
	cJSON *analysis = cJSON_Parse(text), *record = cJSON_CreateObject();
	cr_assert_not_null(analysis, "%s", text);
	record_put_nodes(record, analysis, most);
	record_put_processors(record, analysis);
	cJSON_Delete(analysis);
	return record;
}

static void expect_nodes(const char *ranks, size_t most, const char *list, const char *deviation)
{
	cJSON *record = nodes_of(ranks, most);
	expect_fields(record, (struct field[]){{"nodelist", list}, {"deviation", deviation}}, 2);
	cJSON_Delete(record);
}

#define ON(node, seconds) "{\"node\":\"" node "\",\"useful_s\":" #seconds "}"

Test(fleet_record, a_node_that_computes_longer_than_the_mean_has_more)
{
	expect_nodes(ON("b", 3) "," ON("a", 1) "," ON("b", 3) "," ON("a", 1), 9, "\"b,a\"", "[0.5,-0.5]");
	expect_nodes(ON("a", 2) "," ON("b", 2) "," ON("b", 2), 9, "\"a,b\"", "[0,0]");
	expect_nodes(ON("a", 2) "," ON("b", 0), 9, "\"a,b\"", "[1,-1]");
	expect_nodes(ON("a", 10001) "," ON("b", 9999), 9, "\"a,b\"", "[0.0001,-0.0001]");
}

Test(fleet_record, of_one_node_or_without_all_ranks_nothing_is_told)
{
	expect_nodes(ON("a", 3) "," ON("a", 1), 9, "", "");
	expect_nodes(ON("a", 0) "," ON("b", 0), 9, "", "");
	expect_nodes(ON("a", 3) "," ON("b", 1), 0, "", "");
	expect_nodes(ON("a", 3) "," ON("b", -1), 9, "", "");
	expect_nodes(ON("a", 3) "," ON("b", null), 9, "", "");
	expect_nodes(ON("a", 3) "," ON("", 1), 9, "", "");
	expect_nodes(ON("a", 3) "," ON("b[1-2]", 1), 9, "", "");
	expect_nodes(ON("a", 3) "," ON("b,c", 1), 9, "", "");
}

Test(fleet_record, of_many_nodes_some_are_taken_at_even_distances)
{
	cJSON *record = nodes_of(ON("a", 1) "," ON("b", 2) "," ON("c", 3) "," ON("d", 4) "," ON("e", 5) "," ON(
					 "f", 6) "," ON("g", 7) "," ON("h", 8) "," ON("i", 9) "," ON("j", 5),
				 4);
	expect_fields(record,
		      (struct field[]){{"nodelist", "\"a,c,f,h\""},
				       {"deviation", "[-0.8,-0.4,0.2,0.6]"},
				       {"nodes_left_out", "6"}},
		      3);
	cJSON_Delete(record);
}

Test(fleet_record, names_that_count_up_are_folded)
{
	static const struct {
		const char *names[4], *list;
	} rows[] = {
		{{"n1", "n2", "n4", NULL}, "n[1-2,4]"},
		{{"n09", "n10", "n11", NULL}, "n[09-11]"},
		{{"n9", "n10", NULL}, "n[9,10]"},
		{{"n2", "n1", NULL}, "n[2,1]"},
		{{"n1", "m2", "m3", NULL}, "n1,m[2-3]"},
		{{"n", "n1", NULL}, "n,n1"},
		{{"1", "2", NULL}, "[1-2]"},
		{{"n0123456789", "n0123456790", NULL}, "n0[123456789-123456790]"}, /* nine digits are read */
		{{"ab1", "ac2", NULL}, "ab1,ac2"},
		{{"a1", NULL}, "a1"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = 0;
		while (rows[i].names[n] != NULL)
			n++;
		char *list = record_nodelist(rows[i].names, n);
		cr_expect_str_eq(list, rows[i].list, "%s instead of %s", list, rows[i].list);
		free(list);
	}
}

/* ---- processors ---- */

#define BOUND(node, cpus) "{\"node\":\"" node "\",\"cpus\":\"" cpus "\"}"

Test(fleet_record, processors_are_those_that_ranks_are_bound_to_and_share_with_nobody)
{
	static const struct {
		const char *ranks, *all, *per_rank;
	} rows[] = {
		{BOUND("a", "0") "," BOUND("a", "1-2"), "3", "1.5"},
		{BOUND("a", "0") "," BOUND("a", "0"), "null", "null"},
		{BOUND("a", "0-3") "," BOUND("a", "3"), "null", "null"},
		{BOUND("a", "70") "," BOUND("a", "64-69,71"), "8", "4"},
		{BOUND("a", "70") "," BOUND("a", "64-70"), "null", "null"},
		{BOUND("a", "0") "," BOUND("b", "0"), "2", "1"},
		{BOUND("a", "0,8,16-19"), "6", "6"},
		{BOUND("a", "4095"), "1", "1"},
		{BOUND("a", "4096"), "null", "null"},
		{BOUND("a", "3-1"), "null", "null"},
		{BOUND("a", "2-2"), "1", "1"},
		{BOUND("a", ""), "null", "null"},
		{BOUND("a", "1;2"), "null", "null"},
		{BOUND("a", "1,"), "null", "null"},
		{BOUND("a", "x"), "null", "null"},
		{BOUND("", "1"), "null", "null"},
		{"", "null", "null"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cJSON *record = nodes_of(rows[i].ranks, 9);
		expect_fields(record,
			      (struct field[]){{"alloc_cpus", rows[i].all}, {"cpus_per_rank", rows[i].per_rank}}, 2);
		cJSON_Delete(record);
	}
}

/* ---- hours ---- */

static const struct {
	const char *about;
	struct field fields[5];
} hours_of[] = {
	/* More processors than ranks have: idle. */
	{"\"ranks\":4,\"alloc_cpus\":16,\"cpus_per_rank\":2,\"elapsed_s\":3600",
	 {{"core_hours", "16"},
	  {"hours.idle", "8"},
	  {"hours.useful", "4"},
	  {"hours.transfer", "2"},
	  {"hours.wait", "{\"other\":2}"}}},
	{"\"ranks\":4,\"elapsed_s\":3600,\"wait_s\":{\"a\":0.75,\"b\":0.25,\"c\":0,\"late_complete\":9}",
	 {{"core_hours", "4"},
	  {"hours.idle", "0"},
	  {"hours.useful", "2"},
	  {"hours.transfer", "1"},
	  {"hours.wait", "{\"a\":0.75,\"b\":0.25}"}}},
	/* More ranks than processors share them. */
	{"\"ranks\":4,\"alloc_cpus\":2,\"cpus_per_rank\":1,\"elapsed_s\":3600",
	 {{"core_hours", "2"},
	  {"hours.idle", "0"},
	  {"hours.useful", "1"},
	  {"hours.transfer", "0.5"},
	  {"hours.hung", "0"}}},
	/* Not known how many a rank has: all have all. */
	{"\"ranks\":4,\"alloc_cpus\":8,\"elapsed_s\":3600,\"hung_s\":1800",
	 {{"core_hours", "8"},
	  {"hours.idle", "0"},
	  {"hours.useful", "2"},
	  {"hours.hung", "4"},
	  {"hung_core_hours", "4"}}},
	/* Not known at all: one each. It cannot have hung for longer than it took. */
	{"\"ranks\":4,\"elapsed_s\":1800,\"hung_s\":9999",
	 {{"core_hours", "2"}, {"hours.idle", "0"}, {"hours.useful", "0"}, {"hours.hung", "2"}, {"hours.wait", "{}"}}},
	{"\"ranks\":4,\"elapsed_s\":3600,\"cpus_per_rank\":3,\"hung_s\":-5",
	 {{"core_hours", "12"},
	  {"hours.hung", "0"},
	  {"hours.useful", "6"},
	  {"hung_core_hours", "0"},
	  {"hours.idle", "0"}}},
	{"\"ranks\":0,\"elapsed_s\":3600",
	 {{"core_hours", "null"},
	  {"hours.useful", "null"},
	  {"hours.idle", "0"},
	  {"hours.wait", "{}"},
	  {"hung_core_hours", "null"}}},
};

Test(fleet_record, parts_of_hours_are_of_processors_that_ranks_have)
{
	for (size_t i = 0; i < sizeof(hours_of) / sizeof(hours_of[0]); i++) {
		char text[300];
		snprintf(text, sizeof(text),
			 "{%s,\"share\":{\"useful\":0.5,\"wait\":0.25},\"core_hours\":99,\"hours\":7}",
			 hours_of[i].about);
		cJSON *record = cJSON_Parse(text);
		record_put_hours(record);
		expect_fields(record, hours_of[i].fields, 5);
		cJSON_Delete(record);
	}
}
