/* record_library.c - what libraries say of themselves becomes name and version, whatever they say; and lists of a job
 * are cut with a number. */
#include "fleet/record_library.h"

#include "base/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static cJSON *put(const char *analysis, size_t most)
{
	cJSON *from = cJSON_Parse(analysis), *to = cJSON_CreateObject();
	cr_assert_not_null(from, "%s", analysis);
	record_put_library(to, from, most);
	cJSON_Delete(from);
	return to;
}

static void expect_mpi(const char *said, const char *name, const char *version)
{
	cJSON *from = cJSON_CreateObject(), *to = cJSON_CreateObject();
	json_put_text(json_object(from, "job"), "mpi", said);
	record_put_library(to, from, 8);
	const cJSON *mpi = json_item(to, "mpi");
	cr_expect_str_eq(json_text(mpi, "implementation", "null"), name, "%s: %s", said,
			 json_text(mpi, "implementation", "null"));
	cr_expect_str_eq(json_text(mpi, "version", "null"), version, "%s: %s", said, json_text(mpi, "version", "null"));
	cJSON_Delete(from);
	cJSON_Delete(to);
}

Test(record_library, the_name_stands_before_the_version)
{
	expect_mpi("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "Open MPI", "4.1.4");
	expect_mpi("Open MPI v6.0.0rc2", "Open MPI", "6.0.0rc2");
	expect_mpi("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022", "MPICH", "4.0.2");
	expect_mpi("Intel(R) MPI Library 2021.5 for Linux* OS", "Intel(R) MPI Library", "2021.5");
}

Test(record_library, without_both_neither_is_known)
{
	expect_mpi("", "null", "null");
	expect_mpi("a library without a number", "null", "null");
	expect_mpi("4.1", "null", "null");
}

Test(record_library, lists_that_are_too_long_are_cut_with_a_number)
{
	cJSON *to = put("{\"job\":{\"modules\":[\"gcc/12\",\"openmpi/4\",\"hdf5/1\"],\"modules_left_out\":2},"
			"\"topology\":{\"transports\":[{\"transport\":\"self\"},{\"transport\":\"tcp\"},{\"transport\":"
			"\"sm\"}]}}",
			2);
	cr_expect_eq(cJSON_GetArraySize(json_item(to, "modules")), 2);
	cr_expect_str_eq(cJSON_GetArrayItem(json_item(to, "modules"), 1)->valuestring, "openmpi/4");
	cr_expect_eq(json_number(to, "modules_left_out"), 3);
	cr_expect_eq(cJSON_GetArraySize(json_item(to, "transports")), 2);
	cr_expect_str_eq(cJSON_GetArrayItem(json_item(to, "transports"), 0)->valuestring, "self");
	cJSON_Delete(to);
	to = put("{\"job\":{\"modules\":[\"gcc/12\",7,\""
		 "01234567890123456789012345678901234567890123456789012345678901234\"]}}",
		 8);
	cr_expect_eq(cJSON_GetArraySize(json_item(to, "modules")), 1, "no number, no name of 65 bytes");
	cr_expect_eq(json_number(to, "modules_left_out"), 2);
	cJSON_Delete(to);
}

Test(record_library, what_was_not_recorded_is_null)
{
	cJSON *to = put("{\"job\":{},\"topology\":{\"transports\":[]}}", 8);
	cr_expect(cJSON_IsNull(json_item(to, "modules")));
	cr_expect(cJSON_IsNull(json_item(to, "modules_left_out")));
	cr_expect(cJSON_IsNull(json_item(to, "transports")));
	cJSON_Delete(to);
	to = put("{\"job\":{\"modules\":[]}}", 8);
	cr_expect_eq(cJSON_GetArraySize(json_item(to, "modules")), 0);
	cr_expect_eq(json_number(to, "modules_left_out"), 0);
	cJSON_Delete(to);
}
