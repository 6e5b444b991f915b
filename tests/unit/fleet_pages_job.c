/* fleet_pages_job.c - the page of a job, as its record has it. */
#include "fleet_number.h"
#include "fleet_rows.h"

#include "fleet/ingest.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct fleet f;

static void begin(void)
{
	f = rows_fleet();
}

static void end(void)
{
	fleet_close(&f);
}

TestSuite(fleet_pages_job, .init = begin, .fini = end);

static void expect_page(const char *name, const char *const *texts, const char *const *raw)
{
	static const struct fleet_report report = {.days = 1, .jobs = 2};
	rows_expect(&f, &report, name, texts, raw);
}

Test(fleet_pages_job, a_job_whose_record_is_not_there)
{
	expect_page("job-1.html", HOLDS("The record of this job cannot be read. "), NULL);
}

static const char record[] =
	"{\"schema\":\"mpitrace/job/"
	"2\",\"id\":\"c:5.1:0\",\"cluster\":\"c\",\"job_id\":\"5\",\"step_id\":\"1\",\"user\":\"ann\",\"account\":"
	"\"phys\","
	"\"partition\":\"long\",\"program\":\"/opt/halo\",\"build_id\":\"b1\",\"report\":\"/r/a "
	"b%s\",\"nodes\":2,\"ranks\":8,\"start\":\"2025-03-05T10:00:00Z\","
	"\"elapsed_s\":7200,\"core_hours\":20,\"state\":\"TIMEOUT\",\"coverage\":{\"complete\":true},\"efficiency\":{"
	"\"parallel\":0.5,\"load_balance\":0.75,"
	"\"communication\":0.6},\"share\":{\"useful\":0.5,\"mpi\":0.5,\"wait\":0.25},\"hours\":{\"useful\":8,"
	"\"transfer\":4,\"idle\":4,\"wait\":{\"late_sender\":4}},"
	"\"issues\":[{\"issue\":\"late_sender\",\"severity\":\"high\",\"what\":\"one "
	"<waits>\",\"loss_core_hours\":4},{\"issue\":\"load_imbalance\",\"severity\":"
	"\"medium\",\"what\":\"two\",\"loss_core_hours\":1.5},{\"issue\":\"odd\",\"severity\":\"info\",\"what\":"
	"\"three\"}],\"callsites\":[{\"op\":\"MPI_Recv\","
	"\"function\":\"f\",\"file\":\"x.c\",\"line\":12,\"time_s\":3,\"wait_s\":2}],\"operations\":[{\"op\":\"MPI_"
	"Send\",\"calls\":1500,\"time_s\":4,\"bytes\":2048}],"
	"\"nodelist\":\"n[1-2]\",\"deviation\":[0.1,-0.2],\"overhead\":{\"share\":0.01},\"versions\":{\"mpi\":\"M "
	"1\",\"slurm\":\"23\"},\"transports\":[\"tcp\",\"self\"],"
	"\"modules\":[\"gcc/"
	"12\"],\"qos\":\"high\",\"exit_code\":3,\"max_rss_bytes\":2048,\"end\":\"2025-03-05T12:00:00Z\"}";

static sqlite3_int64 add_record(const char *text)
{
	struct error e = {""};
	struct ingest *g = ingest_begin(&f, NULL, NULL, &e);
	cr_assert_eq(ingest_record(g, text, strlen(text), "here", NULL, &e), 0, "%s", e.text);
	cr_assert_eq(ingest_commit(g, &e), 0);
	cr_assert_eq(ingest_counts(g).added, 1);
	ingest_end(g);
	return (sqlite3_int64)number_of(&f, "SELECT max(id) FROM jobs", 0);
}

Test(fleet_pages_job, job)
{
	char name[40];
	snprintf(name, sizeof(name), "job-%lld.html", (long long)add_record(record));
	expect_page(
		name,
		HOLDS("job 5 step 1 \xc2\xb7 halo MPI took 40 % of 20 core-hours; waiting was 20 %. The report /r/a "
		      "b%s ranks 8 nodes 2 run time 2 h 00 min ",
		      "parallel efficiency 0.50 All ranks, all of the run How the core-hours were spent. ", ROWS_LEGEND,
		      "For the rest, 4.0 core-hours, processors were allocated without a rank. The job ",
		      "user ann account phys partition long cluster c began 2025-03-05T10:00:00Z ", "qos high ",
		      "end 2025-03-05T12:00:00Z exit_code 3 "
		      "max_rss_bytes 2.00 KiB how it ended TIMEOUT program /opt/halo build id b1 MPI M 1 "
		      "messages travelled by tcp,self environment modules gcc/12 Slurm 23 load balance 0.75 "
		      "communication efficiency 0.60 tracing took 1.0 % record complete Issues ",
		      "receivers waiting for late senders high one <waits> 4.0 core-hours uneven work between "
		      "ranks medium two 1.5 core-hours odd info three "
		      "\xe2\x80\x93 core-hours Where ",
		      "/|call site |call |time |waiting /|", "|MPI_Recv |3", "|2", "MPI calls ",
		      "/|call |calls |time |data /|MPI_Send |1,500 |4", "|2.00 KiB Nodes ",
		      "n[1-2] One column a node: the furthest from the mean is 20 % off ", ROWS_FOOT),
		HOLDS("<span class=\"sev s2\">high</span>", "<span class=\"sev s1\">medium</span>",
		      "<span class=\"sev s0\">info</span>",
		      "<rect class=\"short\" x=\"0.00%\" width=\"7.50%\" y=\"38.0\" height=\"37.0\"/><rect "
		      "class=\"named\" x=\"8.33%\" width=\"7.50%\" "
		      "y=\"75.0\" height=\"74.0\"/>"));
}
