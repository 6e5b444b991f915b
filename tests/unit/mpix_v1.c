/* mpix_v1.c - an .mpix of version 1 is still read as it was written (tests/corpus/version_1.*). */
#include "format/mpix.h"
#include "tests/unit/mpix_trace.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

TestSuite(mpix_v1, .init = make_directory, .fini = remove_directory);

static const char *corpus(const char *name)
{
	static char path[512];
	const char *dir = getenv("MPITRACE_CORPUS");
	cr_assert_not_null(dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static cJSON *truth(void)
{
	struct buf text = slurp(corpus("version_1.json"));
	cJSON *json = cJSON_ParseWithLength((const char *)text.data, text.len_bytes);
	cr_assert_not_null(json);
	buf_done(&text);
	return json;
}

/* The next row is these numbers. */
struct expected {
	const cJSON *row;
	uint32_t rank;
};

static void expect_row(struct expected *x, const double *values, int n)
{
	cr_assert_not_null(x->row, "one too many");
	cr_assert_eq(cJSON_GetArraySize(x->row), n);
	int i = 0;
	for (const cJSON *v = x->row->child; v != NULL; v = v->next, i++)
		cr_assert(v->valuedouble == values[i], "column %d: %.0f, not %.0f", i, values[i], v->valuedouble);
	x->row = x->row->next;
}

static double site(uint32_t callsite)
{
	return callsite == MPIX_NO_CALLSITE ? -1 : (double)callsite;
}

static int compare_event(void *context, const struct mpix_event *x)
{
	struct expected *want = context;
	const double values[] = {want->rank,
				 (double)x->start_ns,
				 (double)x->end_ns,
				 (double)x->bytes,
				 (double)x->calls,
				 x->peer,
				 x->tag,
				 x->op,
				 site(x->callsite),
				 x->comm,
				 x->thread,
				 (double)x->wait_ns,
				 x->class};
	expect_row(want, values, 13);
	cr_assert_eq(x->at.window, MPIX_NOWHERE);
	return 0;
}

static int compare_link(void *context, const struct mpix_link *link)
{
	const struct mpix_message *x = &link->message;
	const double values[] = {(double)x->send_start_ns,
				 (double)x->send_end_ns,
				 (double)x->recv_start_ns,
				 (double)x->completion_start_ns,
				 (double)x->recv_end_ns,
				 (double)x->bytes,
				 x->src,
				 x->dst,
				 x->tag,
				 x->comm,
				 site(x->send_callsite),
				 site(x->recv_callsite)};
	expect_row(context, values, 12);
	cr_assert_eq(link->send.window, MPIX_NOWHERE);
	return 0;
}

Test(mpix_v1, gives_back_every_event_and_message)
{
	struct error e = {{0}};
	struct mpix_file *f;
	cJSON *json = truth();
	struct expected x = {.row = cJSON_GetObjectItem(json, "events")->child};
	cr_assert_eq(mpix_open(corpus("version_1.mpix"), &f, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_info(f)->ranks, 18);
	cr_assert_eq(mpix_info(f)->runtime_ns, 1000000);
	for (x.rank = 0; x.rank < 18; x.rank++)
		cr_assert_eq(mpix_each_event(f, x.rank, INT64_MIN, INT64_MAX, compare_event, &x, &e), 0, "%s", e.text);
	cr_assert_null(x.row);
	x.row = cJSON_GetObjectItem(json, "messages")->child;
	cr_assert_eq(mpix_each_message(f, INT64_MIN, INT64_MAX, compare_link, &x, &e), 0, "%s", e.text);
	cr_assert_null(x.row);
	cr_assert_eq(mpix_each_wait(f, INT64_MIN, INT64_MAX, NULL, NULL, &e), 0);
	mpix_close(f);
	cJSON_Delete(json);
}

static int ignore_event(void *context, const struct mpix_event *x)
{
	(void)context, (void)x;
	return 0;
}

static int ignore_link(void *context, const struct mpix_link *x)
{
	(void)context, (void)x;
	return 0;
}

Test(mpix_v1, one_damaged_byte_is_found_or_harms_nothing)
{
	struct error e = {{0}};
	struct mpix_file *f;
	struct buf whole = slurp(corpus("version_1.mpix"));
	int refused = 0;
	for (size_t n = 0; n < whole.len_bytes; n += 3) {
		whole.data[n] ^= 0x41;
		spill(path_of("bad.mpix"), whole.data, whole.len_bytes);
		whole.data[n] ^= 0x41;
		int rc = mpix_open(path_of("bad.mpix"), &f, &e);
		if (rc == 0) {
			for (uint32_t r = 0; r < 18 && rc == 0; r += 4)
				rc = mpix_each_event(f, r, INT64_MIN, INT64_MAX, ignore_event, NULL, &e);
			if (rc == 0)
				rc = mpix_each_message(f, INT64_MIN, INT64_MAX, ignore_link, NULL, &e);
			mpix_close(f);
		}
		cr_assert(rc == 0 || rc == -EBADMSG);
		refused += rc < 0;
	}
	cr_assert_gt(refused, 0);
	buf_done(&whole);
}
