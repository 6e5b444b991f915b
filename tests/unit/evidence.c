/* evidence.c - what an issue was seen in: a column a rank, or a group of ranks; who is marked; sizes of messages. */
#include "reports/text/evidence.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the first issue; fails the test where there is nothing to show. */
static struct evidence evidence_of(const char *json)
{
	struct evidence e;
	cJSON *analysis = cJSON_Parse(json);
	cr_assert_not_null(analysis, "%s", json);
	cr_assert(evidence_find(analysis, json_first(analysis, "issues"), &e), "%s", json);
	cJSON_Delete(analysis);
	return e;
}

#define TWO_RANKS "\"per_rank\":[{\"rank\":0,\"useful_s\":4,\"wait_s\":0},{\"rank\":1,\"useful_s\":8,\"wait_s\":4}]"
#define UNEVEN(ranks) "{" TWO_RANKS ",\"issues\":[{\"issue\":\"load_imbalance\",\"ranks\":[" ranks "]}]}"

Test(evidence, marks_tell_who_of_them_and_where_it_is_all_there_are_none)
{
	struct evidence e = evidence_of(UNEVEN("1"));
	cr_expect(e.n == 2 && e.group == 1 && e.value[0] == 4 && e.value[1] == 8);
	cr_expect(e.any_marked && !e.marked[0] && e.marked[1]);
	cr_expect(e.mean == 6 && e.most == 8 && e.most_rank == 1);
	e = evidence_of(UNEVEN("0,1"));
	cr_expect(!e.any_marked && !e.marked[0] && !e.marked[1]);
	e = evidence_of(UNEVEN(""));
	cr_expect(!e.any_marked);
}

#define LATE(more) \
	"{" TWO_RANKS ",\"wait_states\":[{\"state\":\"late_sender\",\"rank\":1,\"seconds\":3,\"causer\":0}," \
	"{\"state\":\"late_sender\",\"rank\":0,\"seconds\":0.2,\"causer\":1}," \
	"{\"state\":\"wait_at_barrier\",\"rank\":1,\"seconds\":1,\"causer\":1}]" more \
	",\"issues\":[{\"issue\":\"late_sender\",\"states\":[\"late_sender\"],\"ranks\":[1]}]}"

Test(evidence, of_a_wait_the_issues_own_waiting_and_who_was_waited_for)
{
	struct evidence e = evidence_of(LATE(""));
	cr_expect(e.n == 2 && e.waiting && e.value[0] == 0.2 && e.value[1] == 3);
	cr_expect(e.marked[0] && !e.marked[1] && e.any_marked, "rank 1 caused less than a tenth of it");
	cr_expect_float_eq(e.mean, 1.6, 1e-9);
	e = evidence_of(LATE(",\"wait_states_left_out\":1"));
	cr_expect(e.n == 2 && !e.waiting && e.value[1] == 4, "all waiting, where rows were left out");
}

/* 130 ranks are 44 columns of three, the last of one; each is the mean of its ranks. */
Test(evidence, of_many_ranks_a_column_is_the_mean_of_its_group)
{
	static char json[32768];
	int n = snprintf(json, sizeof(json), "{\"per_rank\":[");
	for (int i = 0; i < 130; i++)
		n += snprintf(json + n, sizeof(json) - (size_t)n, "%s{\"rank\":%d,\"useful_s\":%d}", i > 0 ? "," : "",
			      i, i);
	n += snprintf(json + n, sizeof(json) - (size_t)n, "],\"wait_states\":[");
	for (int i = 0; i < 130; i++)
		n += snprintf(json + n, sizeof(json) - (size_t)n,
			      "%s{\"state\":\"late_sender\",\"rank\":%d,\"seconds\":%d}", i > 0 ? "," : "", i, i);
	for (int of_wait = 0; of_wait < 2; of_wait++) {
		snprintf(json + n, sizeof(json) - (size_t)n,
			 "],\"issues\":[{\"issue\":\"%s\",\"ranks\":[7],\"states\":[\"late_sender\"]}]}",
			 of_wait ? "late_sender" : "load_imbalance");
		struct evidence e = evidence_of(json);
		cr_expect(e.n == 44 && e.group == 3, "%zu of %zu", e.n, e.group);
		cr_expect_float_eq(e.value[2], 7, 1e-9, "6, 7 and 8");
		cr_expect_float_eq(e.value[43], 129, 1e-9, "one alone");
		cr_expect(e.most == 129 && e.most_rank == 129);
	}
}

Test(evidence, sizes_go_from_the_smallest_to_the_largest_doubling)
{
	struct evidence e = evidence_of("{\"message_sizes\":[{\"from_bytes\":0,\"messages\":5},{\"from_bytes\":4,"
					"\"messages\":7}],\"issues\":[{\"issue\":\"small_message_overhead\"}]}");
	char text[EVIDENCE_TEXT];
	cr_expect(e.n == 4 && e.group == 0, "below 1, 1, 2, 4: %zu", e.n);
	cr_expect(e.value[0] == 5 && e.value[1] == 0 && e.value[2] == 0 && e.value[3] == 7);
	evidence_text(&e, true, text);
	cr_expect_str_eq(text, "messages by size: most of 12 have 4 B or more, 7 of them", "%s", text);
}
