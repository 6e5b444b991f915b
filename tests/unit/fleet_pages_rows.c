/* fleet_pages_rows.c - what stands on each page of a fleet of which all is known, as people read it; and where pictures
 * have it. */
#include "fleet_rows.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fleet f;
static struct fleet_report report = {.days = 1, .jobs = 2};

static void begin(void)
{
	f = rows_fleet();
}

static void end(void)
{
	fleet_close(&f);
}

TestSuite(fleet_pages_rows, .init = begin, .fini = end);

#define HOLDS(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}

static void expect_page(const char *name, const char *const *texts, const char *const *raw)
{
	rows_expect(&f, &report, name, texts, raw);
}

static void lacks(const char *name, const char *const *texts)
{
	char *page = rows_page(&f, &report, name), *text = rows_text(page);
	rows_sound(page);
	for (; *texts != NULL; texts++)
		cr_expect_null(strstr(text, *texts), "%s: \"%s\" is there", name, *texts);
	free(page);
	free(text);
}

#define CHANGE_HALO \
	"/|2025-03-04 most likely from 2025-03-03 to 2025-03-05 |", \
		"\xe2\x96\xbc 25 % less efficient between 20.0 and 30.0 % (95 %); by chance in fewer than one in a " \
		"million reports " \
		"|0.80 \xe2\x86\x92 0.60 |123 |20 |build b in place of a, M 2 in place of M 1 "
#define CHANGE_ANN \
	"/|2025-03-03 |", "\xe2\x96\xb2 20 % more efficient between 15.0 and 25.0 % (95 %); by chance in at most one " \
			  "in a hundred reports |0.50 " \
			  "\xe2\x86\x92 0.60 |-44 |6 |nothing recorded "
#define JUDGED "Judged by 3 of 3 jobs: those of the last 400 days. "
#define LEGEND ROWS_LEGEND
#define FOOT ROWS_FOOT
#define TABS "Overview Monday Programs Users and accounts Nodes Jobs mpitrace fleet "
#define JOBS_HEAD \
	"/|job |began |user |program |nodes |ranks |core-hours |how they were spent |efficiency |core-hours lost " \
	"|lost to "
#define JOB_A "/|7 |2025-03-03 10:20 |ann |halo |2 |8 |800 ||0.50 |200 |uneven work between ranks "
#define JOB_B "/|8 |2025-03-04 00:00 |ann |halo |2 |16 |400 ||0.80 |0 |nothing to fix "
#define JOB_C \
	"/|c:9.0:0 |2025-03-04 00:01 |b<b> |fft partial |1 |4 |100 ||\xe2\x80\x93 |50 |receivers waiting for late " \
	"senders "

/* ---- all of it ---- */

Test(fleet_pages_rows, overview)
{
	expect_page("index.html",
		    HOLDS(TABS,
			  "2025-03-03 to 2025-03-04 MPI took 40 % of 1,250 core-hours; 20 % were spent waiting for "
			  "others, 4.0 % of them hung; 4.0 % "
			  "were allocated without a rank. How 50 of 1,300 core-hours were spent is not known; shares "
			  "are of the other 1,250. "
			  "Main cause: uneven work between ranks. It cost 200 core-hours in 1 job, 15 % of all there "
			  "were. 1 node is suspected "
			  "of being slow. 1 program became less efficient; since then that cost 123 core-hours. Of 50 "
			  "core-hours that were spent "
			  "by ranks of b<b> 0 % were useful; of everybody else's, 61 %. 1 record is set aside: its "
			  "times cannot be (CSV, JSON). "
			  "steps of jobs 3 core-hours 1,300 core-hours whose use is not known 50 of the others useful: "
			  "outside MPI 56 % "
			  "core-hours lost to the first issue of each job 250 Over time ",
			  "Core-hours by day: the highest is 800 2025-03-032025-03-04 " LEGEND "not known The numbers "
			  "/|from |jobs |core-hours |useful |waiting |core-hours not known |core-hours lost "
			  "/|2025-03-03 |1 |800 |50 % |25 % |0 |200 /|2025-03-04 |2 |500 |67 % |11 % |50 |50 How they "
			  "ended ",
			  "/|outcome |core-hours |hung |jobs /|COMPLETED |800 |0 |1 /|CANCELLED |400 |0 |1 /|FAILED "
			  "|100 |50 |1 Lost to what ",
			  "/|cause |share |core-hours lost |jobs /|uneven work between ranks ||200 |1 /|receivers "
			  "waiting for late senders ||50 |1 "
			  "All of it as data: CSV, JSON Where to begin ",
			  "/|program |jobs |core-hours |how they were spent |useful |waiting |core-hours not known "
			  "|core-hours lost "
			  "/|halo |2 |1,200 ||58 % |17 % |0 |200 /|fft |1 |100 ||0 % |100 % |50 |50 " LEGEND
			  "not known What changed ",
			  "/|since |program or user |what happened |efficiency |core-hours more since |jobs since "
			  "|what came with it ",
			  CHANGE_HALO, CHANGE_ANN, JUDGED, FOOT),
		    HOLDS("<li><a href=\"index.html\" aria-current=\"page\">Overview</a></li>\n<li><a "
			  "href=\"monday.html\">Monday",
			  "<rect class=\"useful\" x=\"3.000%\" width=\"6.000%\" y=\"75.0\" height=\"75.0\"/><rect "
			  "class=\"mpi\" x=\"3.000%\" "
			  "width=\"6.000%\" y=\"37.5\" height=\"37.5\"/><rect class=\"wait\" x=\"3.000%\" "
			  "width=\"6.000%\" y=\"0.0\" "
			  "height=\"37.5\"/><rect class=\"useful\" x=\"53.000%\"",
			  "class=\"worse\"", "class=\"better\"", "changes.csv"));
}

Test(fleet_pages_rows, overview_without_what_needs_somebody)
{
	rows_run(&f, "DELETE FROM node_effects; DELETE FROM changes; DELETE FROM set_aside; DELETE FROM user_programs "
		     "WHERE user=2");
	lacks("index.html",
	      HOLDS("suspected", "became less efficient; ", "ranks of b", "set aside", "% more efficient"));
	expect_page("index.html", HOLDS("No change beyond chance. "), NULL);
}

Test(fleet_pages_rows, several_are_said_to_be_several)
{
	rows_run(
		&f,
		"UPDATE node_effects SET suspected=1 WHERE node<14; INSERT INTO set_aside VALUES('y','2100','z');"
		"UPDATE changes SET change=-0.1, program=5 WHERE program=1; UPDATE causes SET jobs=1200 WHERE issue=6");
	expect_page("index.html",
		    HOLDS("It cost 200 core-hours in 1,200 jobs, ",
			  "2 nodes are suspected of being slow. 2 programs became less efficient; since "
			  "then that cost 79 core-hours. ",
			  "2 records are set aside: their times cannot be "),
		    NULL);
}

Test(fleet_pages_rows, of_long_times_columns_are_weeks)
{
	rows_run(&f, "INSERT INTO day_sums VALUES(20020,1,100,50,50,0,0,0),(20027,1,300,300,0,0,0,0)");
	expect_page("index.html",
		    HOLDS("Core-hours by week: the highest is 1,300 ",
			  "/|2024-10-24 |1 |100 |50 % |0 % |0 |0 /|2024-10-31 |1 |300 ", "/|2025-03-03 |3 |1,300 "),
		    NULL);
	rows_run(&f, "DELETE FROM day_sums WHERE day<20025; UPDATE day_sums SET day=20022 WHERE day=20027");
	expect_page("index.html", HOLDS("Core-hours by day: the highest is 800 "), NULL);
}

Test(fleet_pages_rows, of_jobs_of_which_nothing_is_known_that_is_said)
{
	rows_run(&f, "UPDATE day_sums SET not_known=core_hours, useful=0, mpi=0, wait=0");
	expect_page("index.html", HOLDS("How the 1,300 core-hours were spent is not known. Main cause:"), NULL);
}

/* ---- programs ---- */

Test(fleet_pages_rows, programs)
{
	expect_page("programs.html",
		    HOLDS(TABS,
			  "1 of 2 programs lost 80 % of all core-hours that were lost. How 50 of 1,300 core-hours were "
			  "spent is not known; "
			  "shares are of the other 1,250. Programs ",
			  "Filter: words that a row must have /|program |jobs |core-hours |how they were spent |useful "
			  "|waiting |core-hours not known "
			  "|useful by week |core-hours lost |versions /|halo |2 |1,200 ||58 % |17 % |0 ||200 |1 /|fft "
			  "|1 |100 ||0 % |100 % |50 ||50 |1 " LEGEND
			  "not known All of it as data: CSV, JSON What changed ",
			  CHANGE_HALO, CHANGE_ANN, FOOT),
		    HOLDS("<span title=\"/opt/halo\">halo</span>", "d=\"M0.0 10.0h4\"", "programs.csv"));
}

Test(fleet_pages_rows, program)
{
	expect_page("program-4.html",
		    HOLDS("program /opt/halo MPI took 38 % of its 1,200 core-hours; waiting was 17 %. 2 jobs lost 200 "
			  "core-hours to their first "
			  "issues. Over time ",
			  "Core-hours by week: the highest is 1,200 2025-03-032025-03-04 " LEGEND
			  "The numbers /|from |jobs |core-hours |useful "
			  "|waiting |core-hours lost /|2025-03-03 |2 |1,200 |58 % |17 % |200 What changed ",
			  "/|since |what happened |efficiency |core-hours more since |jobs since |what came with it ",
			  CHANGE_HALO, JUDGED, "By number of ranks ",
			  "/|up to ranks |jobs |core-hours |efficiency |0 to 1 /|8 |1 |800 |0.50 |/|16 |1 |400 |0.80 "
			  "|Versions ",
			  "/|version |first |last |jobs |core-hours |efficiency /|M 1, build aaaaaaaa |2025-03-03 "
			  "|2025-03-03 |1 |800 |0.50 "
			  "/|M 2, build aaaaaaaa |2025-03-04 |2025-03-04 |1 |400 |0.80 Who runs it ",
			  "/|user |jobs |core-hours |how they were spent |useful |waiting |core-hours lost /|ann |2 "
			  "|1,200 ||58 % |17 % |200 " LEGEND
			  "Its jobs Those that lost most. Ten jobs " JOBS_HEAD JOB_A JOB_B LEGEND,
			  FOOT),
		    HOLDS("<code title=\"aaaaaaaa11\">aaaaaaaa</code>", "<a href=\"user-1.html\">ann</a>",
			  "<a href=\"job-1.html\">7</a>"));
	expect_page("program-5.html",
		    HOLDS("program /opt/fft MPI took 100 % of its 50 core-hours; waiting was 100 %. 1 job lost 50 "
			  "core-hours to their first issues. How "
			  "50 of 100 core-hours were spent is not known; shares are of the other 50. Over time ",
			  "No change beyond chance. ", "/|4 |1 |100 |\xe2\x80\x93 |Versions ",
			  "/|MPI not known |2025-03-04 |2025-03-04 |1 |100 |\xe2\x80\x93 Who",
			  "core-hours not known |core-hours lost /|b<b> |1 |100 ||0 % |100 % |50 |50 ",
			  JOBS_HEAD JOB_C LEGEND "not known "),
		    NULL);
}

/* ---- users ---- */

Test(fleet_pages_rows, users)
{
	expect_page("users.html",
		    HOLDS(TABS, "2 users lost 250 of 1,300 core-hours. ",
			  "How 50 of 1,300 core-hours were spent is not known; ",
			  "of everybody else's, 61 %. Accounts ",
			  "/|account |jobs |core-hours |how they were spent |useful |waiting |core-hours not "
			  "known |core-hours lost /|phys |2 |1,200 ||58 % |17 % |0 |200 " LEGEND
			  "not known All of it as data: CSV, JSON Users ",
			  "/|user |jobs ",
			  "/|ann |2 |1,200 ||58 % |17 % |0 |200 /|b<b> |1 |100 ||0 % |100 % |50 |50 " LEGEND
			  "not known All of it as data: CSV, JSON "),
		    HOLDS("<a href=\"account-3.html\">phys</a>", "accounts.csv", "<a href=\"user-1.html\">ann</a>",
			  "users.csv"));
}

Test(fleet_pages_rows, user)
{
	expect_page("user-1.html",
		    HOLDS("user ann Up to 200 of 1,200 core-hours could be saved. 2 jobs; MPI took 38 % of the time, "
			  "waiting 17 %. Over time ",
			  "Core-hours by week: the highest is 1,200 ", "What changed ", CHANGE_ANN, JUDGED, "Programs ",
			  "/|halo |2 |1,200 ||58 % |17 % |200 ",
			  "Jobs that lost most " JOBS_HEAD JOB_A JOB_B LEGEND FOOT),
		    NULL);
	expect_page("user-2.html",
		    HOLDS("user b<b> Up to 50 of 100 core-hours could be saved. 1 job; MPI took 100 % of the time, "
			  "waiting 100 %. How 50 of 100 ",
			  "/|fft |1 |100 ||0 % |100 % |50 |50 ", JOBS_HEAD JOB_C LEGEND "not known "),
		    NULL);
	rows_run(&f, "UPDATE user_programs SET not_known=core_hours");
	expect_page("user-2.html", HOLDS("1 job. How the 100 core-hours were spent is not known. Over time "), NULL);
}

#define ACCOUNT \
	"account phys Up to 200 of 1,200 core-hours could be saved. 2 jobs; MPI took 38 % of the time, waiting 17 %. " \
	"Over time ", \
		"|2 |1,200 |58 % |17 % |200 Users ", "/|ann |2 |1,200 ||58 % |17 % |200 " LEGEND "Programs ", \
		"/|halo |2 |1,200 ||58 % |17 % |200 " LEGEND \
		"Jobs Those that lost most: begin here. Jobs that lost most " JOBS_HEAD JOB_A JOB_B

Test(fleet_pages_rows, account)
{
	expect_page("account-3.html", HOLDS(ACCOUNT, FOOT), NULL);
}

Test(fleet_pages_rows, who_leads_an_account_sees_it_and_no_other_page)
{
	char phys[] = "phys", other[] = "other", *text;
	struct leads leads = {{phys, other}, 2};
	struct error e = {""};
	size_t n;
	report = (struct fleet_report){.days = 1, .jobs = 2, .user = "b<b>", .leads = &leads};
	expect_page("index.html",
		    HOLDS("Your jobs mpitrace fleet \xc2\xb7 user b<b> Up to 50 of 100 ",
			  "Accounts that you lead All of their jobs, whoever ran them. phys "),
		    HOLDS("<a href=\"index.html\" aria-current=\"page\">Your jobs</a>",
			  "<p><a href=\"account-3.html\">phys</a></p>", "jobs.csv"));
	expect_page("account-3.html", HOLDS(ACCOUNT), NULL);
	report.user = "carl"; /* who has no jobs, */
	expect_page("index.html",
		    HOLDS("user carl No jobs yet. 0 jobs. Accounts that you lead All of their jobs, whoever ran them. "
			  "phys "),
		    NULL);
	expect_page("account-3.html", HOLDS(ACCOUNT), NULL);
	FILE *out = open_memstream(&text, &n);
	static const char *const hidden[] = {"user-1.html", "program-4.html", "job-3.html", "nodes.html",
					     "account-4.html"};
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		cr_expect_eq(fleet_page(&f, &report, hidden[i], out, &e), -ENOENT, "%s", hidden[i]);
	cr_expect_eq(fleet_page(&f, &report, "job-1.html", out, &e), 0, "a job of that account");
	report.leads = NULL; /* and leads nothing */
	cr_expect_eq(fleet_page(&f, &report, "index.html", out, &e), -ESRCH);
	fclose(out);
	free(text);
}

/* ---- nodes ---- */

Test(fleet_pages_rows, nodes)
{
	expect_page("nodes.html",
		    HOLDS(TABS, "1 of 3 nodes is suspected of being slow. Ranks there computed longer ",
			  "nodes in at least 5 jobs that show it 2 nodes with too "
			  "few jobs to judge 1 Suspected nodes ",
			  "n1 20.0 % slower (15.0 to 25.0) up to 33 core-hours lost in 20 jobs since 2025-03-03 10:00 "
			  "(most likely from 2025-03-03 08:20 to "
			  "2025-03-03 11:06; until then 1.0 % slower than others) as ordinary26 % slower All of it as "
			  "data: CSV, JSON All nodes ",
			  "at most 1 in one column 21 % fasterordinary21 % slower Switches ",
			  "/|switch |program |user |beside |more of their time in MPI |since |jobs with / without "
			  "|days |core-hours, at most "
			  "/|s<1 |all |||12.3 % |2025-03-03 10:00 2025-03-03 08:20 to 2025-03-03 11:06 before: 1.0 % "
			  "|30 / 40 |9 |13 "
			  "/|any |halo |ann |fft |20.0 % ||3 / 4 |8 |7.0 Jobs that show it "
			  "/|there, or beside |began |user |program |job with it |in MPI |job without |in MPI "
			  "/|s<1 |2025-03-03 10:20 |ann |halo |7 |50.0 % |8 |14.3 % /|fft |2025-03-04 00:00 |ann |halo "
			  "|8 |14.3 % |7 |50.0 % Jobs that show it ",
			  "n1 /|job |began |user |program |nodes |longer than its other ranks by /|7 |2025-03-03 10:20 "
			  "|ann |halo |2 |30.0 % "
			  "/|8 |2025-03-04 00:00 |ann |halo |2 |12.5 % How this is computed ",
			  JUDGED, FOOT),
		    HOLDS("<a href=\"#n10\">n1</a>",
			  "width=\"77.67%\" y=\"5\" height=\"6\"/><line class=\"range\" x1=\"58.25%\" x2=\"97.09%\" "
			  "y1=\"8\" y2=\"8\"/><circle "
			  "class=\"point\" cx=\"77.67%\"",
			  "nodes.csv",
			  "<rect class=\"few\" x=\"49.38%\" width=\"1.11%\" y=\"0.0\" height=\"150.0\"><title>+0.00 %: "
			  "1 node</title>",
			  "<rect class=\"few\" x=\"96.30%\" width=\"1.11%\" y=\"0.0\" height=\"150.0\"><title>+19.95 "
			  "%: 1 node</title>",
			  "data-v=\"0.123\"", "data-v=\"30\"", "data-v=\"0.2\"", "<details class=\"shows\"",
			  "<details class=\"shows\" open>", "id=\"n10\"", "data-v=\"0.3\""));
}

Test(fleet_pages_rows, several_slow_nodes)
{
	rows_run(&f, "UPDATE node_effects SET suspected=1; UPDATE node_effects SET effect=0.6 WHERE node=11;"
		     "INSERT INTO node_jobs VALUES(11,0,1,0.4)");
	expect_page("nodes.html",
		    HOLDS("3 of 3 nodes are suspected ", "n2 60.0 % slower ", "n3 30.0 % slower ", "n1 20.0 % slower ",
			  "as ordinary41 % slower ", "50 % fasterordinary50 % slower or more ", "n2 /|job ",
			  "|40.0 % n1 /|job ", "|30.0 % /|"),
		    NULL);
}

Test(fleet_pages_rows, one_that_is_slow_for_some_programs_says_for_how_many)
{
	rows_run(&f, "UPDATE node_effects SET programs=3, others=2 WHERE node=10");
	expect_page("nodes.html",
		    HOLDS("n1 20.0 % slower ",
			  "jobs of 3 programs show it, those of 2 others do not; the effect is the mean over all "),
		    NULL);
}

Test(fleet_pages_rows, without_slow_nodes_that_is_said)
{
	rows_run(&f, "UPDATE node_effects SET suspected=0, effect=0.001; DELETE FROM links");
	expect_page("nodes.html",
		    HOLDS("No node is suspected of being slow. A slow node is one whose ranks computed longer ",
			  "2 % slower "),
		    NULL);
	lacks("nodes.html", HOLDS("Suspected nodes", "Switches", "Jobs that show it"));
	rows_run(&f, "UPDATE node_effects SET jobs=4");
	expect_page("nodes.html",
		    HOLDS("There are too few jobs to judge any node. ",
			  "that show it 0 nodes with too few jobs to judge 3 "),
		    NULL);
	lacks("nodes.html", HOLDS("All nodes"));
}

/* ---- jobs ---- */

Test(fleet_pages_rows, jobs)
{
	expect_page("jobs.html",
		    HOLDS(TABS, "2 of 3 jobs lost 100 % of all core-hours that were lost. Jobs ",
			  "Jobs that lost most " JOBS_HEAD JOB_A JOB_C LEGEND
			  "not known All of it as data: CSV, JSON All jobs of a day ",
			  "2025-03-04 2 Made by"),
		    HOLDS("<th scope=\"row\"><a href=\"job-1.html\">7</a></th>", "data-v=\"800\"", "data-v=\"0.5\"",
			  "data-v=\"200\""));
	expect_page("jobs-2025-03-04.html",
		    HOLDS("Jobs of 2025-03-04 Jobs All that began on this day, in order. ",
			  "Jobs of 2025-03-04 " JOBS_HEAD JOB_B JOB_C),
		    NULL);
	report.jobs = 3;
	expect_page("jobs.html", HOLDS("3 jobs lost 250 of 1,300 core-hours. ", JOB_A JOB_C JOB_B), NULL);
	rows_run(&f, "UPDATE jobs SET loss_core_hours=0; UPDATE day_sums SET loss=0");
	expect_page("jobs.html", HOLDS("No job lost core-hours. "), NULL);
	rows_run(&f, "UPDATE day_sums SET jobs=2001 WHERE day=20151");
	expect_page("jobs-2025-03-04.html",
		    HOLDS("The 2,000 that lost most of 2,001 that began on this day, in order; "), NULL);
}

Test(fleet_pages_rows, days_are_those_that_there_are)
{
	struct error e = {""};
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	static const char *const none[] = {"jobs-2025-03-05.html",
					   "jobs-2025-02-30.html",
					   "jobs-2025-3-4.html",
					   "jobs-2025-03-04.htm",
					   "jobs-2025-03-04x.html",
					   "jobs-.html",
					   "job-.html",
					   "job-0.html",
					   "job-1x.html",
					   "job-4.html",
					   "program-1.html",
					   "user-4.html",
					   "account-1.html",
					   "program-0.html",
					   "jobs.xml",
					   ".csv",
					   "other.csv"};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		cr_expect_eq(fleet_page(&f, &report, none[i], out, &e), -ENOENT, "%s", none[i]);
	fclose(out);
	free(text);
}

/* As from a database that is damaged. */
Test(fleet_pages_rows, a_page_with_a_question_that_fails_is_none)
{
	static const char *const rows[][2] = {{"index.html", "day_sums"},	   {"nodes.html", "node_jobs"},
					      {"programs.html", "user_programs"},  {"users.html", "weeks"},
					      {"account-3.html", "account_sums"},  {"user-1.html", "changes"},
					      {"program-4.html", "program_ranks"}, {"jobs.html", "let_go"},
					      {"monday.html", "mondays"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error e = {""};
		char *text, sql[60];
		size_t n;
		FILE *out = open_memstream(&text, &n);
		snprintf(sql, sizeof(sql), "DROP TABLE %s", rows[i][1]);
		rows_run(&f, sql);
		cr_expect_lt(fleet_page(&f, &report, rows[i][0], out, &e), 0, "%s", rows[i][0]);
		fclose(out);
		free(text);
		fleet_close(&f);
		f = rows_fleet();
	}
}

Test(fleet_pages_rows, who_cannot_be_found_since_names_are_damaged_is_not_said_to_have_no_jobs)
{
	struct error e = {""};
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	rows_run(&f, "DROP TABLE names");
	report.user = "ann";
	cr_expect_eq(fleet_page(&f, &report, "index.html", out, &e), -EIO);
	fclose(out);
	free(text);
}

static void expect_table(const char *name, const char *const *rows)
{
	char *table = rows_page(&f, &report, name);
	rows_hold(table, rows);
	free(table);
}

Test(fleet_pages_rows, tables)
{
	expect_table("programs.csv", HOLDS("program,jobs,core_hours,useful,mpi,waiting,lost,not_known\r\n",
					   "/opt/halo,2.0,1200.0,700.0,250.0,200.0,200.0,0.0\r\n",
					   "/opt/fft,1.0,100.0,0.0,0.0,50.0,50.0,50.0\r\n"));
	expect_table("accounts.csv", HOLDS("phys,2.0,1200.0,700.0,250.0,200.0,200.0,0.0\r\n"));
	expect_table("causes.csv", HOLDS("cause,lost,jobs\r\nload_imbalance,200.0,1.0\r\nlate_sender,50.0,1.0\r\n"));
	expect_table("set-aside.csv", HOLDS("key,start,why\r\nx,2100,begins in the future\r\n"));
	expect_table("nodes.csv", HOLDS("\r\nn1,0.2,", "\r\nn3,0.3,", "\r\nn2,0.0,"));
	expect_table("changes.csv", HOLDS("\r\n/opt/halo,,2025-03-04,0.8,0.6,-0.25,", "\r\n,ann,2025-03-03,"));
	expect_table("jobs.json", HOLDS("\"key\":\"c:7.0:0\"", "\"key\":\"c:9.0:0\"", "\"key\":\"c:8.0:0\""));
}

/* ---- Monday ---- */

Test(fleet_pages_rows, monday)
{
	rows_run(&f, "INSERT INTO mondays VALUES(20145*86400, 0, 'hung', 400, 'It hung <much>.')");
	expect_page("monday.html",
		    HOLDS(TABS,
			  "2025-02-26 to 2025-03-04 Up to 250 of 1,300 core-hours could be saved. How 50 of 1,300 "
			  "core-hours were spent is not known. "
			  "What to do ",
			  "1. halo lost 200 of 1,200 core-hours, most to load imbalance. A text for ann Dear ann, in "
			  "the week from 2025-02-26 to 2025-03-04 "
			  "jobs of halo lost 200 of 1,200 core-hours, ",
			  "and what to try: job 7. The page that it is about 2. Jobs that hung held 50 core-hours "
			  "until they were ended: 50 of b<b> (fft, 1 "
			  "job). A text for b<b> Dear b<b>, ",
			  "The one that lost most is job c:9.0:0. The page that it is about What was said before And "
			  "how it developed since. "
			  "/|it is |core-hours then |now |what was said /|less |400 |50 |It hung <much>. Made by"),
		    HOLDS("<a href=\"job-1.html\">The page", "<a href=\"job-3.html\">The page"));
	rows_run(&f, "UPDATE days SET jobs=0");
	expect_page("monday.html",
		    HOLDS("No job of that week is known. How 50 of 1,300 core-hours were spent is not known. What was "
			  "said before "),
		    NULL);
	rows_run(&f, "DELETE FROM mondays; UPDATE days SET jobs=1; DELETE FROM matters");
	expect_page("monday.html", HOLDS("Nothing stands out. "), NULL);
	lacks("monday.html", HOLDS("said before"));
	rows_run(&f, "UPDATE let_go SET day=20148");
	expect_page("monday.html", HOLDS("The jobs of the last week that had any have been pruned. "), NULL);
}

/* ---- for anybody ---- */

Test(fleet_pages_rows, figures_for_anybody_name_nobody)
{
	report = (struct fleet_report){.public_least = 1};
	rows_run(&f, "INSERT INTO day_sums VALUES(20160,1,1,1,0,0,0,0)"); /* the week behind it has ended */
	expect_page("index.html",
		    HOLDS("Of 1,250 core-hours 56 % were useful; MPI took 40 %, waiting was 20 %. Each number is of at "
			  "least 1 users in one week. ",
			  "How 50 of 1,300 core-hours were spent is not known; ",
			  "Core-hours by week: the highest is 1,300 2025-02-272025-03-05 ",
			  "/|2025-02-27 |3 |1,300 |56 % |20 % |50 |250 Programs ",
			  "/|halo |2 |1,200 ||58 % |17 % |0 |200 /|fft |1 |100 ||0 % |100 % |50 |50 "),
		    HOLDS("figures.csv"));
	lacks("index.html", HOLDS("ann", "b<b>", "phys", "Overview"));
	expect_table("figures.csv", HOLDS("week,program,jobs,core_hours,useful,mpi,waiting,lost,not_known\r\n2025-02-"
					  "27,fft,1,100.0,0.0,0.0,50.0,50.0,50.0\r\n"
					  "2025-02-27,halo,2,1200.0,700.0,250.0,200.0,200.0,0.0\r\n"));
	rows_run(&f, "UPDATE days SET core_hours=2*core_hours");
	expect_table("figures.csv", HOLDS("fft,1,100.0,", "halo,2,1200.0,")); /* as it was written */
	report.public_least = 2;
	expect_page("index.html", HOLDS("There are too few users for figures that name nobody. "), NULL);
	rows_run(&f, "DELETE FROM public_weeks; UPDATE days SET core_hours=core_hours/2");
	expect_page("index.html", HOLDS("at least 2 users ", "/|all others |3 |1,300 ||56 % |20 % |50 |250 "), NULL);
	lacks("index.html", HOLDS("halo"));
	report.public_least = 3;
	expect_page("index.html",
		    HOLDS("There are too few users for figures that name nobody. Each number is of at least 3 "), NULL);
	lacks("index.html", HOLDS("Programs /", "Over time"));
	report.public_least = 1;
	rows_run(&f, "DELETE FROM public_weeks; UPDATE days SET not_known=core_hours");
	expect_page("index.html",
		    HOLDS("How the 1,300 core-hours were spent is not known. Each number is of at least 1 users in one "
			  "week. Programs that fewer ran are among the others of their week; weeks that fewer had are "
			  "left out. A week is there when the next one has ended, and stays as it was written. Over "
			  "time "),
		    NULL);
}
