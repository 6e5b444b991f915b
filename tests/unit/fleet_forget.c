/* fleet_forget.c - jobs that go after a time leave their sums, and who is forgotten leaves nothing; and who leads which
 * account. */
#include "fleet_number.h"
#include "fleet_rows.h"

#include "fleet/forget.h"
#include "fleet/leads.h"
#include "fleet/retention.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY 20150 /* of job A; B and C are of the next one */
#define DAY_S 86400LL

static struct fleet f;

static void begin(void)
{
	f = rows_fleet();
}

static void end(void)
{
	fleet_close(&f);
}

TestSuite(fleet_forget, .init = begin, .fini = end);

static void expect_number(const char *sql, double value)
{
	double is = number_of(&f, sql, -1);
	cr_expect_float_eq(is, value, 1e-9, "%s: %f instead of %f", sql, is, value);
}

static void expect_sound(void)
{
	struct error e = {""};
	cr_expect_eq(fleet_check(&f, &e), 0, "%s", e.text);
}

static uint64_t keep(int64_t now, unsigned days)
{
	struct error e = {""};
	uint64_t n = 99;
	cr_assert_eq(fleet_keep(&f, now, days, &n, &e), 0, "%s", e.text);
	return n;
}

/* ---- after a time ---- */

static int64_t kept_from(void)
{
	struct error e = {""};
	int64_t start = -1;
	cr_expect_eq(fleet_kept_from(&f, &start, &e), 0, "%s", e.text);
	return start;
}

Test(fleet_forget, jobs_go_after_so_many_days_and_all_sums_stay)
{
	cr_expect_eq(kept_from(), 0);
	cr_expect_eq(keep((DAY + 31) * DAY_S - 1, 31), 0, "its day is not over for so long");
	cr_expect_eq(kept_from(), (DAY - 1) * DAY_S);
	cr_expect_eq(keep((DAY + 31) * DAY_S, 31), 0);
	cr_expect_eq(kept_from(), DAY * DAY_S);
	cr_expect_eq(keep((DAY + 32) * DAY_S, 31), 1);
	cr_expect_eq(kept_from(), (DAY + 1) * DAY_S);
	expect_number("SELECT count(*) FROM jobs", 2);
	expect_number("SELECT total(core_hours) FROM days", 1300);
	expect_number("SELECT total(loss) FROM causes", 250);
	expect_number("SELECT total(jobs) FROM outcomes", 3);
	expect_number("SELECT jobs FROM let_go", 1);
	expect_number("SELECT core_hours FROM let_go", 800);
	expect_number("SELECT loss FROM past_causes WHERE user=1 AND day=20150 AND issue=6 AND jobs=1", 200);
	expect_number("SELECT core_hours FROM past_outcomes WHERE user=1 AND day=20150 AND outcome='COMPLETED'", 800);
	expect_number("SELECT parallel FROM past_versions WHERE user=1 AND program=4 AND build=8 AND mpi=9 AND size=8 "
		      "AND jobs=1 AND judged=800"
		      " AND first=last",
		      400);
	expect_sound();
	cr_expect_eq(keep((DAY + 40) * DAY_S, 31), 2);
	expect_number("SELECT count(*) FROM jobs", 0);
	expect_number("SELECT core_hours FROM let_go", 1300);
	expect_sound();
	cr_expect_eq(keep((DAY + 40) * DAY_S, 31), 0);
	cr_expect_eq(kept_from(), (DAY + 9) * DAY_S);
}

Test(fleet_forget, what_cannot_be_pruned_is_all_there)
{
	struct error e = {""};
	uint64_t n = 99;
	rows_run(&f, "DROP TABLE past_versions");
	cr_expect_lt(fleet_keep(&f, (DAY + 40) * DAY_S, 31, &n, &e), 0);
	cr_expect_eq(n, 0);
	expect_number("SELECT count(*) FROM jobs", 3);
	expect_number("SELECT jobs FROM let_go", 0);
	expect_number("SELECT count(*) FROM past_causes", 0);
	rows_run(&f, "BEGIN; COMMIT");
}

/* ---- when they ask for it ---- */

static struct fleet_forgotten forget(const char *user)
{
	struct error e = {""};
	struct fleet_forgotten n = {99, 99};
	cr_assert_eq(fleet_forget(&f, user, &n, &e), 0, "%s", e.text);
	return n;
}

Test(fleet_forget, who_is_forgotten_leaves_nothing_and_others_stay)
{
	rows_run(&f, "INSERT INTO set_aside VALUES('y ann','2100','x'),('y joann','2100','x');"
		     "INSERT INTO alerts VALUES('a','a','ann','c','p',1,1,'x'),('b','b','b<b>','c','p',1,1,'x');"
		     "INSERT INTO mondays VALUES(1,0,'hung ann /x',1,'s'),(1,1,'k',1,'of ann, and'),(1,2,'k',1,'of "
		     "annie');");
	struct fleet_forgotten n = forget("ann");
	cr_expect_eq(n.jobs, 2);
	cr_expect_eq(n.set_aside, 1);
	expect_number("SELECT count(*) FROM names WHERE id IN (1,3,4,6,8,9,13)", 0);
	expect_number("SELECT count(*) FROM names WHERE id IN (0,2,5,7,12,10,11,14)", 8);
	expect_number("SELECT count(*) FROM jobs", 1);
	expect_number("SELECT total(core_hours) FROM days", 100);
	expect_number("SELECT count(*) FROM days", 1);
	expect_number("SELECT total(core_hours) FROM day_sums", 100);
	expect_number("SELECT count(*) FROM weeks", 2);
	expect_number("SELECT count(*) FROM user_programs", 1);
	expect_number("SELECT count(*) FROM program_versions", 1);
	expect_number("SELECT count(*) FROM set_aside", 2);
	expect_number("SELECT count(*) FROM alerts", 1);
	expect_number("SELECT count(*) FROM mondays WHERE sentence='of annie'", 1);
	expect_number("SELECT count(*) FROM mondays", 1);
	expect_number("SELECT count(*) FROM changes", 0);
	expect_number("SELECT count(*) FROM links", 0);
	expect_sound();
}

Test(fleet_forget, so_does_who_had_jobs_that_were_pruned)
{
	keep((DAY + 32) * DAY_S, 31);
	struct fleet_forgotten n = forget("ann");
	cr_expect_eq(n.jobs, 2, "one of them is gone already: %llu", (unsigned long long)n.jobs);
	expect_number("SELECT jobs FROM let_go", 0);
	expect_number("SELECT core_hours FROM let_go", 0);
	expect_number("SELECT total(core_hours) FROM days", 100);
	expect_number("SELECT total(jobs) FROM outcomes", 1);
	expect_number("SELECT count(*) FROM past_causes", 0);
	expect_number("SELECT count(*) FROM past_versions", 0);
	expect_sound();
}

Test(fleet_forget, who_has_only_what_was_set_aside_is_forgotten_too)
{
	rows_run(&f, "INSERT INTO set_aside VALUES('y carl','2100','x'),('z carl','2100','x')");
	struct fleet_forgotten n = forget("carl");
	cr_expect(n.jobs == 0 && n.set_aside == 2);
	expect_number("SELECT count(*) FROM jobs", 3);
	rows_run(&f, "INSERT INTO alerts VALUES('a','a','carl','c','p',1,1,'x')");
	n = forget("carl");
	cr_expect(n.jobs == 0 && n.set_aside == 0);
	expect_number("SELECT count(*) FROM alerts", 0);
}

Test(fleet_forget, who_is_not_there_is_said)
{
	struct error e = {""};
	struct fleet_forgotten n;
	cr_expect_eq(fleet_forget(&f, "carl", &n, &e), -ESRCH);
	cr_expect_not_null(strstr(e.text, "no job of a user \"carl\""), "%s", e.text);
	cr_expect_eq(fleet_forget(&f, "", &n, &e), -ESRCH);
	expect_number("SELECT count(*) FROM jobs", 3);
	rows_run(&f, "BEGIN; COMMIT");
}

Test(fleet_forget, nobody_is_forgotten_in_the_midst_of_something_else)
{
	struct error e = {""};
	struct fleet_forgotten n;
	rows_run(&f, "BEGIN");
	cr_expect_lt(fleet_forget(&f, "ann", &n, &e), 0);
	expect_number("SELECT count(*) FROM jobs", 3);
	rows_run(&f, "COMMIT");
}

Test(fleet_forget, signs_of_a_name_mean_themselves)
{
	rows_run(&f, "UPDATE names SET name='a*[n?' WHERE id=1;"
		     "INSERT INTO mondays VALUES(1,0,'k',1,'of a*[n? and'),(1,1,'k',1,'of axxnx and')");
	forget("a*[n?");
	expect_number("SELECT count(*) FROM mondays WHERE sentence='of axxnx and'", 1);
	expect_number("SELECT count(*) FROM mondays", 1);
}

/* ---- who leads ---- */

static int leads_of(const char *text, const char *user, mode_t mode, struct leads *l, struct error *e)
{
	char path[] = "/tmp/test_leads.XXXXXX";
	int fd = mkstemp(path);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	cr_assert_eq(fchmod(fd, mode), 0);
	close(fd);
	*l = (struct leads){.n = 0};
	int rc = leads_read(path, user, l, e);
	unlink(path);
	return rc;
}

Test(fleet_leads, lines_say_a_user_and_an_account)
{
	struct leads l;
	struct error e = {""};
	cr_assert_eq(leads_of("# all\nann phys # and\n\n\tbob\tbio \r\nann chem\n#ann x\nann geo", "ann", 0644, &l, &e),
		     0, "%s", e.text);
	cr_assert_eq(l.n, 3);
	cr_expect_str_eq(l.accounts[0], "phys");
	cr_expect_str_eq(l.accounts[1], "chem");
	cr_expect_str_eq(l.accounts[2], "geo");
	leads_done(&l);
	cr_expect_eq(l.n, 0);
	cr_expect_eq(leads_of("ann phys\n", "an", 0644, &l, &e), 0);
	cr_expect_eq(l.n, 0);
}

Test(fleet_leads, what_is_wrong_is_said_with_its_line)
{
	struct leads l;
	struct error e = {""};
	char many[2000] = "";
	cr_expect_eq(leads_of("ann phys\nann\n", "ann", 0644, &l, &e), -EINVAL);
	cr_expect_not_null(strstr(e.text, ":2: must be a user and an account"), "%s", e.text);
	cr_expect_eq(l.n, 0);
	cr_expect_eq(leads_of("bob phys x\n", "ann", 0644, &l, &e), -EINVAL);
	for (int i = 0; i < LEADS_MOST; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "ann a%d\n", i);
	cr_expect_eq(leads_of(many, "ann", 0644, &l, &e), 0);
	cr_expect_eq(l.n, LEADS_MOST);
	leads_done(&l);
	snprintf(many + strlen(many), sizeof(many) - strlen(many), "ann more\n");
	cr_expect_eq(leads_of(many, "ann", 0644, &l, &e), -E2BIG);
	cr_expect_not_null(strstr(e.text, ":65: this user leads more than 64 accounts"), "%s", e.text);
	cr_expect_lt(leads_of("ann phys\n", "ann", 0666, &l, &e), 0, "others may write it");
	cr_expect_eq(leads_read("/nowhere/x", "ann", &l, &e), -ENOENT);
}
