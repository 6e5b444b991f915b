/* hostlist.c - names of hosts from Slurm's short form, and from texts that are none. */
#include "base/hostlist.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct heard {
	char text[2048];
	int n;
};

static int hear(void *context, const char *name)
{
	struct heard *h = context;
	size_t len = strlen(h->text);
	snprintf(h->text + len, sizeof(h->text) - len, "%s%s", h->n > 0 ? " " : "", name);
	return ++h->n == 100 ? 1 : 0;
}

static void expect_hosts(const char *text, int code, const char *names)
{
	struct heard h = {.n = 0};
	int got = hostlist_each(text, hear, &h);
	cr_expect_eq(got, code, "\"%s\": %d", text, got);
	if (names != NULL)
		cr_expect_str_eq(h.text, names, "\"%s\": %s", text, h.text);
}

Test(hostlist, short_forms_are_all_their_names)
{
	expect_hosts("login", 0, "login");
	expect_hosts("a,b", 0, "a b");
	expect_hosts("n[1-3]", 0, "n1 n2 n3");
	expect_hosts("n[08-11,20],x-1,m7", 0, "n08 n09 n10 n11 n20 x-1 m7");
	expect_hosts("r[0-1]n[01-02]-ib", 0, "r0n01-ib r0n02-ib r1n01-ib r1n02-ib");
}

Test(hostlist, what_is_no_list_is_refused)
{
	static const char *const wrong[] = {"",
					    ",",
					    "a,",
					    "n[",
					    "n]",
					    "n[]",
					    "n[1",
					    "n[1,]",
					    "n[3-1]",
					    "n[a]",
					    "n[1-]",
					    "n[-1]",
					    "n[1][2][3][4][5]",
					    "n[1]]",
					    "n[[1]]",
					    "n[1234567890]"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		expect_hosts(wrong[i], -EINVAL, NULL);
}

Test(hostlist, long_names_and_long_lists_end)
{
	char text[HOSTLIST_NAME_MAX + 8];
	memset(text, 'a', sizeof(text));
	text[HOSTLIST_NAME_MAX - 1] = '\0';
	expect_hosts(text, 0, NULL);
	text[HOSTLIST_NAME_MAX - 1] = 'a';
	text[HOSTLIST_NAME_MAX] = '\0';
	expect_hosts(text, -ENAMETOOLONG, NULL);
	expect_hosts("n[0-999999999]", 1, NULL); /* whoever asks says when it is enough */
}
