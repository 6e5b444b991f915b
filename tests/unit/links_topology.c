/* links_topology.c - which switch a node is on, read from lines of Slurm's topology.conf; what is no list of nodes is
 * refused, and what was known stays. */
#include "fleet/links.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char place[64], conf[96];
static struct fleet fleet;

static void begin(void)
{
	struct error e = {""};
	snprintf(place, sizeof(place), "/tmp/test_topology.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
	snprintf(conf, sizeof(conf), "%s/topology.conf", place);
	cr_assert_eq(fleet_open_memory(&fleet, &e), 0, "%s", e.text);
}

static void end(void)
{
	fleet_close(&fleet);
	unlink(conf);
	cr_expect_eq(rmdir(place), 0);
}

TestSuite(links_topology, .init = begin, .fini = end);

static int take(const char *text, struct error *e)
{
	FILE *f = fopen(conf, "w");
	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
	e->text[0] = '\0';
	return links_topology(&fleet, conf, e);
}

/* "n1:s1 n2:s1", by node. */
static const char *known(void)
{
	static char text[512];
	sqlite3_stmt *q;
	text[0] = '\0';
	cr_assert_eq(sqlite3_prepare_v2(fleet.db,
					"SELECT group_concat(name || ':' || switch, ' ') FROM (SELECT name, switch "
					"FROM switches JOIN names ON names.id=node ORDER BY name)",
					-1, &q, NULL),
		     SQLITE_OK);
	if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0) != NULL)
		snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return text;
}

Test(links_topology, the_lowest_switches_have_nodes)
{
	struct error e;
	cr_expect_eq(take("# a comment with SwitchName=c Nodes=c1\n"
			  "SwitchName=s1 Nodes=n[1-2] LinkSpeed=7\n"
			  "switchname=s2\tnodes=n3,m1 # and a word\n"
			  "SwitchName=top Switches=s[1-2]\n",
			  &e),
		     0, "%s", e.text);
	cr_expect_str_eq(known(), "m1:s2 n1:s1 n2:s1 n3:s2");
	cr_expect_eq(take("SwitchName=s3 Nodes=n1\n", &e), 0);
	cr_expect_str_eq(known(), "n1:s3", "in place of what was known");
}

Test(links_topology, what_is_none_is_refused_and_changes_nothing)
{
	struct error e;
	cr_assert_eq(take("SwitchName=s1 Nodes=n1\n", &e), 0);
	cr_expect_eq(take("SwitchName=s2 Nodes=n[1-\n", &e), -EINVAL);
	cr_expect_not_null(strstr(e.text, "topology.conf: switch s2: no list of nodes"), "%s", e.text);
	cr_expect_eq(take("SwitchName=top Switches=s1\n", &e), -EINVAL);
	cr_expect_not_null(strstr(e.text, "no switch with nodes"), "%s", e.text);
	cr_expect_eq(take("SwitchName=s2 Nodes=n[1-199999]\nSwitchName=s3 Nodes=m[1-2]\n", &e), -E2BIG);
	cr_expect_str_eq(known(), "n1:s1");
	unlink(conf);
	cr_expect_eq(links_topology(&fleet, conf, &e), -ENOENT);
	cr_expect_str_eq(known(), "n1:s1");
}
