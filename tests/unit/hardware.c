/* hardware.c - what Slurm says that nodes are made of: the first word counts, numbers have bounds, and what is wrong is
 * said with file and line. */
#include "topology/hardware.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct hardware *hw;
static struct error e;

static int parse(const char *text)
{
	e.text[0] = '\0';
	hardware_free(hw);
	hw = NULL;
	return hardware_parse("nodes.txt", text, strlen(text), &hw, &e);
}

static void is(const char *name, uint32_t packages, uint32_t cores)
{
	const struct hardware_node *node = hardware_find(hw, name);
	cr_assert_not_null(node, "%s", name);
	cr_expect_eq(node->packages, packages, "%s has %u", name, node->packages);
	cr_expect_eq(node->cores, cores, "%s has %u of each", name, node->cores);
}

Test(hardware, of_a_word_that_stands_twice_the_first_counts)
{
	cr_assert_eq(parse("NodeName=n1 CoresPerSocket=1 CoresPerSocket=8\n Sockets=1 Sockets=2\n"
			   "NodeName=n2 Sockets=2 CoresPerSocket=16 Sockets=9\n"),
		     0, "%s", e.text);
	is("n1", 1, 1);
	is("n2", 2, 16);
	cr_expect_null(hardware_find(hw, "n"));
	cr_expect_null(hardware_find(hw, "n11"));
}

Test(hardware, numbers_that_are_none_are_refused_with_their_line)
{
	static const char *const wrong[] = {"CoresPerSocket=0", "CoresPerSocket=-1", "CoresPerSocket=4x",
					    "CoresPerSocket=",	"Sockets= 2",	     "Sockets=+2",
					    "Sockets=99999999"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[128];
		snprintf(text, sizeof(text), "NodeName=n1\n%s\n", wrong[i]);
		cr_expect_eq(parse(text), -EBADMSG, "%s", wrong[i]);
		cr_expect_eq(strncmp(e.text, "nodes.txt:2: ", 13), 0, "%s", e.text);
	}
}

Test(hardware, a_node_without_cores_or_a_file_without_nodes_is_refused)
{
	cr_expect_eq(parse("NodeName=n1 Sockets=2\n"), -EBADMSG);
	cr_expect_not_null(strstr(e.text, "\"n1\" has no Sockets= or no CoresPerSocket="), "%s", e.text);
	cr_expect_eq(parse("Sockets=2 CoresPerSocket=3\n"), -EBADMSG, "of no node");
	cr_expect_eq(parse(""), -EBADMSG);
	cr_expect_eq(hardware_parse("nodes.txt", "NodeName=n1\0x", 13, &hw, &e), -EBADMSG);
	cr_expect_not_null(strstr(e.text, "not a text"), "%s", e.text);
}
