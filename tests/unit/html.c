/* html.c - what the report promises: sound pages from any analysis, everything escaped, small at
 * any scale. */
#include "base/buf.h"
#include "reports/html/html.h"
#include "base/units.h"
#include "tests/unit/html_probe.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_sound(const char *name)
{
	size_t len_bytes;
	char *json = corpus(name), *page = page_of(json, &len_bytes);
	cr_assert_not_null(page);
	cr_expect(page_is_sound(page), "%s", name);
	cr_expect_lt(len_bytes, 320000);
	free(page);
	free(json);
}

static void expect_text(const char *name, const char *text)
{
	size_t len_bytes;
	char *json = corpus(name), *page = page_of(json, &len_bytes);
	cr_assert_not_null(page);
	cr_expect_not_null(strstr(page, text), "%s: no \"%s\"", name, text);
	free(page);
	free(json);
}

Test(html, sample_pages_are_sound)
{
	expect_sound("halo_issues.json");
	expect_sound("partial.json");
	expect_sound("nothing_to_fix.json");
}

Test(html, hostile_strings_are_only_text)
{
	expect_sound("hostile.json");
	expect_text("hostile.json", "\\x1b[31m\\u202egnp.exe");
}

Test(html, invalid_utf8_is_shown_as_bytes)
{
	size_t len_bytes;
	char *page = page_of("{\"job\":{\"program\":\"a\xff\xc0\x80z\xed\xa0\x80\"}}", &len_bytes);
	cr_assert_not_null(strstr(page, "a\\xff\\xc0\\x80z\\xed\\xa0\\x80"));
	free(page);
}

Test(html, the_verdict_says_where_tracing_cost_too_much)
{
	size_t len_bytes;
	char *page = page_of(
		"{\"overhead\":{\"ns_per_call\":30,\"share\":0.03,\"slow_calls\":9,\"slow_s\":0.5,"
		"\"worst_rank\":3,\"worst_share\":0.045},\"issues\":["
		"{\"issue\":\"late_sender\",\"severity\":\"high\",\"score\":0.7,\"what\":\"Late.\"},"
		"{\"issue\":\"tracing_cost\",\"severity\":\"low\",\"score\":0.2,\"what\":\"Tracing took 4.5 %.\"}]}",
		&len_bytes);
	cr_assert_not_null(page);
	const char *figures = strstr(page, "class=\"figures\""), *said = strstr(page, "Tracing took 4.5 %.");
	cr_expect(said != NULL && figures != NULL && said < figures, "in the masthead");
	cr_expect_not_null(strstr(page, "for 9 calls of a new kind"));
	cr_expect_not_null(strstr(page, "rank 3"));
	free(page);
}

/* ---- pages of what was really traced: what they must say stands in the file ---- */

static const cJSON *member(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	cr_assert_not_null(v, "no %s", key);
	return v;
}

static double number(const cJSON *o, const char *key)
{
	cr_assert(cJSON_IsNumber(member(o, key)), "%s", key);
	return member(o, key)->valuedouble;
}

static const char *text(const cJSON *o, const char *key)
{
	cr_assert(cJSON_IsString(member(o, key)), "%s", key);
	return member(o, key)->valuestring;
}

static void expect_said(const char *page, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void expect_said(const char *page, const char *fmt, ...)
{
	char wanted[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(wanted, sizeof(wanted), fmt, ap);
	va_end(ap);
	cr_expect_not_null(strstr(page, wanted), "no \"%s\"", wanted);
}

static char *page_of_root(const cJSON *root)
{
	size_t len_bytes;
	char *json = cJSON_PrintUnformatted(root), *page = page_of(json, &len_bytes);
	cr_assert_not_null(page);
	free(json);
	return page;
}

static cJSON *root_of(const char *name)
{
	char *json = corpus(name);
	cJSON *root = cJSON_Parse(json);
	free(json);
	cr_assert_not_null(root, "%s", name);
	return root;
}

/* As the page calls a window or a file. */
static const char *shown_name(const cJSON *row)
{
	const cJSON *name = member(row, "name");
	if (!cJSON_IsString(name))
		return "unnamed";
	const char *slash = strrchr(name->valuestring, '/');
	return slash != NULL ? slash + 1 : name->valuestring;
}

/* The first two rows of a list stand in the page in order of their time. */
static void expect_order(const char *page, const cJSON *list, const char *fmt_before)
{
	const cJSON *a = cJSON_GetArrayItem(list, 0), *b = cJSON_GetArrayItem(list, 1);
	char first[256], second[256];
	cr_assert(a != NULL && b != NULL && number(a, "time_s") != number(b, "time_s"));
	bool swap = number(a, "time_s") < number(b, "time_s");
	snprintf(first, sizeof(first), "%s%s<br>", fmt_before, shown_name(swap ? b : a));
	snprintf(second, sizeof(second), "%s%s<br>", fmt_before, shown_name(swap ? a : b));
	const char *x = strstr(page, first), *y = strstr(page, second);
	cr_expect(x != NULL && y != NULL && x < y, "%s, then %s", first, second);
}

static const cJSON *window_named(const cJSON *root, const char *name)
{
	const cJSON *w;
	cJSON_ArrayForEach(w, member(root, "windows"))
	{
		if (strcmp(shown_name(w), name) == 0)
			return w;
	}
	cr_assert_fail("no window %s", name);
	return NULL;
}

Test(html, shows_windows_and_files_most_time_first)
{
	cJSON *root = root_of("halo_issues.json");
	cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(root, "windows_left_out"), 3);
	char *page = page_of_root(root);
	const cJSON *named = window_named(root, "halo"), *unnamed = window_named(root, "unnamed"), *f;
	expect_order(page, member(root, "windows"), " ");
	expect_said(page,
		    "%s\xc2\xa0puts<br>%s\xc2\xa0"
		    "accumulates",
		    fmt_count(number(named, "puts")).s, fmt_count(number(named, "accumulates")).s);
	expect_said(page, "%s\xc2\xa0gets", fmt_count(number(unnamed, "gets")).s);
	expect_said(page,
		    "%s\xc2\xa0locks<br>%s\xc2\xa0"
		    "flushes",
		    fmt_count(number(unnamed, "locks")).s, fmt_count(number(unnamed, "flushes")).s);
	expect_said(page, "Too many for the analysis: 3 windows");
	expect_order(page, member(root, "files"), "<th scope=\"row\">");
	cJSON_ArrayForEach(f, member(root, "files"))
	{
		double calls = number(f, "reads") + number(f, "writes");
		expect_said(page, "%s</td><td class=\"n\">%s</td>", fmt_count(calls).s,
			    fmt_share(number(f, "collective") / calls).s);
		expect_said(page, "<td class=\"n\">%s</td>", fmt_bytes(number(f, "bytes_written")).s);
		if (number(f, "reads") > 0)
			expect_said(page, "<td class=\"n\">%s</td>", fmt_bytes(number(f, "bytes_read")).s);
	}
	free(page);
	cJSON_Delete(root);
}

Test(html, shows_classes_of_calls_on_files_where_they_are_known)
{
	cJSON *root = root_of("halo_issues.json");
	cJSON_DeleteItemFromObject(root, "io");
	char *page = page_of_root(root);
	cr_expect_null(strstr(page, "Calls on files by class"), "an older analysis does not have them");
	free(page);
	cJSON_AddItemToObject(
		root, "io",
		cJSON_Parse("{\"time_s\":2,\"wait_s\":1,\"classes\":[{\"class\":\"collective_write\","
			    "\"calls\":4,\"bytes\":2048,\"time_s\":2,\"wait_s\":1,\"bytes_per_s\":1024}]}"));
	page = page_of_root(root);
	expect_said(page, "collective write</th><td class=\"n\">4</td><td class=\"n\">%s</td>", fmt_bytes(2048).s);
	expect_said(page, "%s/s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>", fmt_bytes(1024).s, fmt_time(2).s,
		    fmt_time(1).s);
	free(page);
	cJSON_Delete(root);
}

Test(html, what_is_wrong_has_a_section_where_something_is)
{
	size_t len_bytes;
	char *json = corpus("nothing_to_fix.json"), *page = page_of(json, &len_bytes);
	cr_expect_null(strstr(page, "id=\"correctness\""));
	free(page);
	free(json);
	cJSON *root = root_of("halo_issues.json");
	cJSON_DeleteItemFromObject(root, "correctness");
	cJSON_AddItemToObject(
		root, "correctness",
		cJSON_Parse("[{\"kind\":\"unsafe_send_cycle\",\"severity\":\"medium\",\"count\":3,\"what\":\"3 times\","
			    "\"ranks\":[0,1],\"more_ranks\":false,\"callsites\":[],\"examples\":[{\"what\":\"Ranks 0, "
			    "1: each "
			    "sends to the next\",\"time_s\":0.25,\"ranks\":[0,1],\"communicator\":0}]}]"));
	page = page_of_root(root);
	expect_said(page, "id=\"correctness\"");
	expect_said(page, "Ranks 0, 1: each sends to the next");
	free(page);
	cJSON_Delete(root);
}

Test(html, says_who_makes_others_wait)
{
	cJSON *root = root_of("halo_issues.json");
	const cJSON *first = cJSON_GetArrayItem(member(member(root, "delays"), "callsites"), 0);
	char *page = page_of_root(root);
	expect_said(page, "What others waited for, %s in all", fmt_time(number(member(root, "delays"), "waits_s")).s);
	expect_said(page, "<td class=\"n\">%s</td><td class=\"n\">",
		    fmt_time(number(first, "direct_s") + number(first, "indirect_s")).s);
	free(page);
	cJSON_DeleteItemFromObject(root, "delays");
	page = page_of_root(root);
	cr_expect_null(strstr(page, "Who makes others wait"), "nothing is said of what is not known");
	free(page);
	cJSON_Delete(root);
}

Test(html, says_the_biggest_cause_and_what_to_do)
{
	cJSON *root = root_of("halo_issues.json");
	const cJSON *worst = cJSON_GetArrayItem(member(root, "issues"), 0);
	cr_assert_str_eq(text(worst, "issue"), "load_imbalance");
	char *page = page_of_root(root);
	expect_said(page, "Main cause: uneven work between ranks.");
	expect_said(page, "<p class=\"cause\">%s", text(worst, "what"));
	expect_said(page, "<b>Do first</b>%.60s", text(worst, "next"));
	expect_said(page, "report.c:%.0f", number(cJSON_GetArrayItem(member(root, "callsites"), 0), "line"));
	free(page);
	cJSON_Delete(root);
}

Test(html, says_nothing_to_fix_when_there_is_nothing)
{
	expect_text("nothing_to_fix.json", "<h1>Nothing to fix:");
}

Test(html, says_partial_and_how_much_is_there)
{
	cJSON *root = root_of("partial.json");
	const cJSON *c = member(root, "coverage"), *missing = member(c, "nodes_missing"), *reason;
	char *page = page_of_root(root);
	expect_said(page, "This trace is partial, %.0f of %.0f ranks", number(c, "ranks_seen"),
		    number(c, "ranks_expected"));
	expect_said(page, "%s lost", fmt_count(number(c, "events_lost")).s);
	cr_expect_not_null(strstr(page, "waiting for others</dt><dd>not known"), "no event waited, calls without may");
	cr_assert_eq(cJSON_GetArraySize(missing), 1);
	expect_said(page, "1 node is missing: %s</li>", cJSON_GetStringValue(missing->child));
	cr_assert_gt(cJSON_GetArraySize(member(c, "reasons")), 2);
	cJSON_ArrayForEach(reason, member(c, "reasons")) expect_said(page, "<li>%.60s", reason->valuestring);
	free(page);
	cJSON_SetNumberValue(cJSON_GetObjectItem(member(root, "per_rank")->child, "wait_s"), 0.5);
	page = page_of_root(root);
	cr_expect_not_null(strstr(page, "waiting for others</dt><dd>at least "), "calls without events waited as well");
	free(page);
	cJSON_Delete(root);
}

/* Cells of a matrix, each with this many bytes more than the one before. */
static char *page_of_cells(double more)
{
	cJSON *root = root_of("halo_issues.json");
	double bytes = 2.61 * 1024 * 1024;
	cJSON *cell;
	cJSON_ArrayForEach(cell, member(member(root, "matrix"), "p2p"))
	{
		cJSON_SetNumberValue(cJSON_GetObjectItem(cell, "bytes"), bytes);
		bytes += more;
	}
	char *page = page_of_root(root);
	cJSON_Delete(root);
	return page;
}

Test(html, cells_that_look_alike_have_no_scale_of_colours)
{
	char *page = page_of_cells(16);
	expect_said(page, "all equal: %s", fmt_bytes(2.61 * 1024 * 1024).s);
	free(page);
	page = page_of_cells(1 << 20);
	cr_expect_null(strstr(page, "all equal: 2.61"));
	free(page);
}

Test(html, between_nodes_and_switches_each_kind_of_traffic_has_a_map)
{
	static const char *const kinds[] = {"Point-to-point", "Collectives, by what they move",
					    "One-sided, from where the data lay"};
	cJSON *root = root_of("halo_issues.json");
	char *page = page_of_root(root);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		expect_said(page, "<b>%s</b>bytes between sender (row) and receiver (column), nodes<", kinds[i]);
		expect_said(page, "<b>%s</b>bytes between sender (row) and receiver (column), switches<", kinds[i]);
	}
	free(page);
	cJSON_Delete(root);
}

Test(html, issues_stand_before_tables)
{
	static const char *const order[] = {"<h1>",	   "Coverage",	"id=\"issues\"", "id=\"efficiency\"",
					    "id=\"time\"", "id=\"job\""};
	size_t len_bytes;
	char *json = corpus("halo_issues.json"), *page = page_of(json, &len_bytes);
	const char *at = page;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const char *next = strstr(at, order[i]);
		cr_assert_not_null(next, "%s is not behind what goes before it", order[i]);
		at = next;
	}
	free(page);
	free(json);
}

static char *page_with_calls(double more)
{
	cJSON *root = root_of("halo_issues.json");
	cJSON *calls = cJSON_GetObjectItem(member(root, "per_rank")->child, "calls");
	cJSON_SetNumberValue(calls, calls->valuedouble + more);
	char *page = page_of_root(root);
	cJSON_Delete(root);
	return page;
}

Test(html, events_over_time_are_called_calls_only_if_they_are_all)
{
	char *page = page_with_calls(0);
	expect_said(page, "<div>MPI calls<small>");
	free(page);
	page = page_with_calls(1e6);
	expect_said(page, "<div>single events<small>");
	free(page);
}

/* ---- issues: their own waiting, three in the first lines, processors that are paid ---- */

#define TWO_ISSUES \
	"{\"efficiency\":{\"region_s\":7200},\"topology\":{\"nodes\":[{\"name\":\"n\",\"pus\":1,\"ranks\":[0,1]}]}," \
	"\"callsites\":[{\"id\":0,\"op\":\"MPI_Recv\",\"file\":\"solver.c\",\"line\":7,\"function\":\"f\"}]," \
	"\"per_rank\":[{\"rank\":0,\"useful_s\":5200,\"mpi_s\":2000,\"wait_s\":900}," \
	"{\"rank\":1,\"useful_s\":200,\"mpi_s\":7000,\"wait_s\":6000}]," \
	"\"wait_states\":[{\"state\":\"late_sender\",\"rank\":1,\"count\":1,\"seconds\":3600,\"callsite\":0," \
	"\"causer\":0}," \
	"{\"state\":\"wait_at_barrier\",\"rank\":0,\"count\":1,\"seconds\":900,\"callsite\":0,\"causer\":1}," \
	"{\"state\":\"wait_at_barrier\",\"rank\":1,\"count\":1,\"seconds\":2400,\"callsite\":0}]," \
	"\"wait_states_left_out\":%d,\"issues\":[" \
	"{\"issue\":\"late_sender\",\"severity\":\"high\",\"score\":0.9,\"what\":\"Late.\",\"loss_s\":3600,\"loss_of_" \
	"s\":14400," \
	"\"states\":[\"late_sender\"],\"worst\":{\"rank\":1,\"from_s\":1,\"to_s\":2,\"waited_s\":1}}," \
	"{\"issue\":\"barrier_imbalance\",\"severity\":\"high\",\"score\":0.8,\"what\":\"Uneven.\",\"loss_s\":3300," \
	"\"loss_of_s\":14400,\"callsites\":[0],\"states\":[\"wait_at_barrier\"]," \
	"\"worst\":{\"rank\":1,\"from_s\":1,\"to_s\":2,\"waited_s\":1}}]}"

static char *page_of_two_issues(int left_out)
{
	char json[4096];
	size_t len_bytes;
	snprintf(json, sizeof(json), TWO_ISSUES, left_out);
	char *page = page_of(json, &len_bytes);
	cr_assert_not_null(page);
	return page;
}

Test(html, an_issue_shows_its_own_waiting_and_who_was_waited_for)
{
	char *page = page_of_two_issues(0);
	expect_said(page, "this waiting by rank: mean %s, most %s on rank 1<span>. \xe2\x96\xb2: who was waited for",
		    fmt_time(1800).s, fmt_time(3600).s);
	expect_said(page, "this waiting by rank: mean %s, most %s on rank 1", fmt_time(1650).s, fmt_time(2400).s);
	const char *first = strstr(page, "class=\"evidence\""), *mark = strstr(page, "class=\"who\"");
	cr_expect(first != NULL && mark != NULL && strncmp(mark, "class=\"who\" x=\"22.", 18) == 0, "below rank 0");
	free(page);
}

Test(html, where_waits_were_left_out_all_waiting_is_shown)
{
	char *page = page_of_two_issues(1);
	expect_said(page, "all waiting by rank: mean %s", fmt_time(3450).s);
	cr_expect_null(strstr(page, "class=\"who\""));
	free(page);
}

/* Issues at a send, of which the collective is the second place, and at the collective itself. */
Test(html, how_far_apart_ranks_enter_is_said_of_a_collective_that_the_issue_names)
{
	size_t len_bytes;
	char *page = page_of("{\"per_rank\":[{\"rank\":0,\"wait_s\":1},{\"rank\":1,\"wait_s\":2}],\"callsites\":["
			     "{\"id\":0,\"op\":\"MPI_Send\"},{\"id\":1,\"op\":\"MPI_Allreduce\"}],"
			     "\"collective_arrivals\":{\"callsites\":[{\"callsite\":1,\"operations\":3,\"mean_s\":1,"
			     "\"max_s\":2,\"last_rank\":1}]},\"issues\":["
			     "{\"issue\":\"serialization\",\"what\":\"Chain.\",\"callsites\":[0,1]},"
			     "{\"issue\":\"late_sender\",\"what\":\"Late.\",\"callsites\":[1]}]}",
			     &len_bytes);
	const char *said = strstr(page, "Ranks enter the collective there"), *second = strstr(page, "id=\"issue-2\"");
	cr_expect(said != NULL && second != NULL && said > second);
	cr_expect(said != NULL && strstr(said + 1, "Ranks enter the collective there") == NULL);
	free(page);
}

Test(html, the_first_lines_name_what_else_costs_much_and_where)
{
	char *page = page_of_two_issues(0);
	const char *line =
		strstr(page, "<li><a href=\"#issue-2\">ranks reaching barriers at different times</a>, <b>23");
	const char *figures = strstr(page, "class=\"figures\"");
	cr_expect(line != NULL && figures != NULL && line < figures);
	cr_expect(line != NULL && strstr(line, "solver.c:7") != NULL && strstr(line, "solver.c:7") < figures);
	cr_expect_null(strstr(page, "<li><a href=\"#issue-1\">"), "the first is the headline");
	expect_said(page, "id=\"issue-2\"");
	free(page);
}

Test(html, ranks_that_share_a_processor_pay_for_it_once)
{
	char *page = page_of_two_issues(0);
	expect_said(page, ", 0.50 core-hours"); /* an hour of one rank, two on a processor */
	free(page);
}

Test(html, one_longest_wait_is_shown_once)
{
	char *page = page_of_two_issues(0);
	const char *command = strstr(page, "--rank 1 --from 1.000000");
	cr_expect(command != NULL && strstr(command + 1, "--rank 1 --from 1.000000") == NULL);
	expect_said(page, "that of <a href=\"#issue-1\">issue 1</a>");
	free(page);
}

Test(html, text_that_is_no_object_is_refused)
{
	struct error e = {.text = ""};
	char *page;
	size_t len_bytes;
	FILE *out = open_memstream(&page, &len_bytes);
	cr_expect_lt(html_report("[1,2", out, &e), 0);
	cr_expect_lt(html_report("[1,2]", out, &e), 0);
	cr_expect_not_null(strstr(e.text, "mpitrace analyze"));
	fclose(out);
	free(page);
}

Test(html, an_empty_analysis_gives_a_page)
{
	size_t len_bytes;
	char *page = page_of("{}", &len_bytes);
	cr_assert(page_is_sound(page));
	cr_expect_not_null(strstr(page, "No MPI time was recorded."));
	free(page);
}

/* ---- every field absent, and of every other type ---- */

static const char *const odd_values[] = {"null",
					 "true",
					 "-1",
					 "1e300",
					 "-1e17",
					 "0.5",
					 "\"\"",
					 "\"<b>\"",
					 "[]",
					 "{}",
					 "[null,1,\"x\",[2],{\"id\":3}]",
					 "{\"id\":1}"};

static void expect_root_sound(const cJSON *root, const char *key, const char *how)
{
	size_t len_bytes;
	char *json = cJSON_PrintUnformatted(root), *page = page_of(json, &len_bytes);
	cr_assert_not_null(page, "%s %s", key, how);
	cr_assert(page_is_sound(page), "%s %s", key, how);
	free(page);
	free(json);
}

static void vary_fields(cJSON *root, cJSON *object);

/* Replace the child by each odd value, then by nothing, then put it back and go on inside. */
static void vary_field(cJSON *root, cJSON *object, const char *key)
{
	cJSON *kept = cJSON_DetachItemFromObjectCaseSensitive(object, key);
	expect_root_sound(root, key, "absent");
	for (size_t i = 0; i < sizeof(odd_values) / sizeof(odd_values[0]); i++) {
		cJSON_AddItemToObject(object, key, cJSON_Parse(odd_values[i]));
		expect_root_sound(root, key, odd_values[i]);
		cJSON_DeleteItemFromObjectCaseSensitive(object, key);
	}
	cJSON_AddItemToObject(object, key, kept);
	vary_fields(root, cJSON_IsArray(kept) ? kept->child : kept);
}

static void vary_fields(cJSON *root, cJSON *object)
{
	char *keys[64];
	size_t n = 0;
	if (!cJSON_IsObject(object))
		return;
	for (const cJSON *v = object->child; v != NULL && n < 64; v = v->next)
		keys[n++] = strdup(v->string);
	for (size_t i = 0; i < n; i++) {
		vary_field(root, object, keys[i]);
		free(keys[i]);
	}
}

/* An odd row beside one that is as it should be is as good as all, and some thousand pages are written quickly. */
static void shorten_lists(cJSON *value)
{
	enum { ROWS = 2 };
	while (cJSON_IsArray(value) && cJSON_GetArraySize(value) > ROWS)
		cJSON_DeleteItemFromArray(value, ROWS);
	for (cJSON *v = value->child; v != NULL; v = v->next)
		shorten_lists(v);
}

Test(html, any_field_may_be_absent_or_of_another_type)
{
	char *json = corpus("halo_issues.json");
	cJSON *root = cJSON_Parse(json);
	shorten_lists(root);
	vary_fields(root, root);
	cJSON_Delete(root);
	free(json);
}

/* ---- scale ---- */

static void add_ranks(struct buf *b, unsigned n)
{
	buf_str(b, "\"per_rank\":[");
	for (unsigned r = 0; r < n; r++)
		buf_printf(b,
			   "%s{\"rank\":%u,\"node\":\"node%04u\",\"useful_s\":%u.5,\"mpi_s\":3,"
			   "\"wait_s\":1}",
			   r > 0 ? "," : "", r, r / 64, 5 + r % 7);
}

static void add_pairs(struct buf *b, unsigned n)
{
	buf_str(b, "],\"matrix\":{\"p2p\":[");
	for (unsigned r = 0; r < n; r++)
		for (unsigned k = 1; k <= 6; k++)
			buf_printf(b, "%s{\"src\":%u,\"dst\":%u,\"messages\":%u,\"bytes\":%u}", r + k > 1 ? "," : "", r,
				   (r + k * k * 97) % n, k, k * r);
	buf_str(b, "],\"collective\":[]},");
}

static void add_lists(struct buf *b, unsigned n)
{
	static const char *const list[] = {"issues",	  "callsites",	  "communicators",
					   "wait_states", "time_windows", "operations"};
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		buf_printf(b, "%s\"%s\":[", i > 0 ? "," : "", list[i]);
		for (unsigned k = 0; k < n; k++)
			buf_printf(b,
				   "%s{\"id\":%u,\"issue\":\"x%u\",\"state\":\"s%u\",\"rank\":%u,"
				   "\"seconds\":1,\"time_s\":%u,"
				   "\"what\":\"something "
				   "happened\",\"name\":\"c\",\"ranks\":[%u,%u],\"events\":%u}",
				   k > 0 ? "," : "", k, k, k, k, k, k, k + 2, k);
		buf_str(b, "]");
	}
}

Test(html, sixteen_thousand_ranks_fit_the_size_limit)
{
	struct buf b = {0};
	size_t len_bytes;
	buf_str(&b, "{\"job\":{\"ranks\":16384},");
	add_ranks(&b, 16384);
	add_pairs(&b, 16384);
	add_lists(&b, 5000);
	buf_str(&b, "}");
	buf_u8(&b, 0);
	char *page = page_of((const char *)b.data, &len_bytes);
	cr_assert_not_null(page);
	cr_expect(page_is_sound(page));
	cr_expect_lt(len_bytes, HTML_BYTES_MAX);
	cr_expect_not_null(strstr(page, "All 16,384 ranks are in the columns above"));
	free(page);
	buf_done(&b);
}
