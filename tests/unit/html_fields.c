/* html_fields.c - pages are sound whatever an analysis lacks, and small however many ranks it has. */
#include "base/buf.h"
#include "reports/html/html.h"
#include "tests/unit/html_probe.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

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
