/* policy_names.c - names of users and groups from a service that stalls, dies or says very much. It stands below in
 * place of the host's own. */
#include "spank/policy/names.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the service ---- */

enum { PLAIN = 100, LARGE = 101, TOO_LARGE = 102, STALLS = 103, DIES = 104, FAILS = 105, NAMELESS = 106, COMMA = 107 };

static int answer(gid_t gid, struct group *entry, size_t cap_bytes, struct group **ret_found)
{
	static char names[8][16] = {"plain", "large", "huge", "stalls", "dies", "fails", "none", "a,b"};
	*ret_found = NULL;
	if (gid == STALLS)
		for (;;)
			pause();
	if (gid == DIES)
		_exit(0);
	if (gid == FAILS)
		return EIO;
	if (gid == NAMELESS)
		return 0;
	if ((gid == LARGE && cap_bytes < 1000000) || gid == TOO_LARGE)
		return ERANGE;
	*entry = (struct group){.gr_gid = gid, .gr_name = names[gid - PLAIN]};
	*ret_found = entry;
	return 0;
}

int getgrgid_r(gid_t gid, struct group *entry, char *room, size_t cap_bytes, struct group **ret_found)
{
	memset(room, 0, cap_bytes);
	return answer(gid, entry, cap_bytes, ret_found);
}

int getgrnam_r(const char *name, struct group *entry, char *room, size_t cap_bytes, struct group **ret_found)
{
	memset(room, 0, cap_bytes);
	return answer((gid_t)(PLAIN + atoi(name)), entry, cap_bytes, ret_found);
}

int getpwuid_r(uid_t uid, struct passwd *entry, char *room, size_t cap_bytes, struct passwd **ret_found)
{
	static char alice[] = "alice";
	struct group g;
	struct group *found;
	int rc = answer(uid, &g, cap_bytes, &found);
	memset(room, 0, cap_bytes);
	*entry = (struct passwd){.pw_name = alice};
	*ret_found = found != NULL ? entry : NULL;
	return rc;
}

/* ---- what is asked ---- */

static struct policy_facts f;

static void forget(void)
{
	policy_facts_done(&f);
}

TestSuite(names, .fini = forget);

static const char *groups(gid_t first, gid_t second, gid_t third)
{
	gid_t more[] = {second, third};
	policy_facts_done(&f);
	names_groups(&f, first, more, 2);
	return f.values[FACT_GROUP];
}

Test(names, are_found_however_much_an_entry_holds)
{
	gid_t gid;
	cr_assert_str_eq(groups(PLAIN, LARGE, PLAIN), "100,101,100,plain,large,plain");
	cr_assert(names_group("1", &gid) == 0 && gid == LARGE);
	names_user(&f, LARGE);
	cr_assert_str_eq(f.values[FACT_USER], "alice");
}

Test(names, that_cannot_be_had_are_unknown_and_the_others_are_not)
{
	cr_assert_str_eq(groups(PLAIN, TOO_LARGE, PLAIN), "100,102,100,plain,?,plain");
	cr_assert_str_eq(groups(FAILS, NAMELESS, PLAIN), "105,106,100,?,?,plain");
	cr_assert_str_eq(groups(COMMA, PLAIN, PLAIN), "107,100,100,?,plain,plain");
}

Test(names, of_a_service_that_stalls_or_dies_are_unknown_and_the_caller_goes_on)
{
	gid_t gid;
	cr_assert_str_eq(groups(PLAIN, STALLS, PLAIN), "100,103,100,plain,?");
	cr_assert_str_eq(groups(STALLS, PLAIN, PLAIN), "103,100,100,?");
	cr_assert_str_eq(groups(PLAIN, PLAIN, DIES), "100,100,104,plain,plain,?");
	names_user(&f, DIES);
	cr_assert_null(f.values[FACT_USER]);
	cr_assert_eq(names_group("5", &gid), -EAGAIN);
	cr_assert_eq(names_group("4", &gid), -EAGAIN);
	cr_assert_eq(names_group("6", &gid), -ENOENT);
}

Test(names, of_more_groups_than_a_fact_of_old_could_hold_are_all_there)
{
	enum { N = 5000 };
	gid_t *more = calloc(N, sizeof(*more));
	for (int i = 0; i < N; i++)
		more[i] = i == N - 1 ? LARGE : PLAIN;
	names_groups(&f, PLAIN, more, N);
	size_t len = strlen(f.values[FACT_GROUP]);
	cr_assert_str_eq(f.values[FACT_GROUP] + len - 6, ",large");
	policy_facts_done(&f);
	names_groups(&f, PLAIN, more, (size_t)POLICY_GROUPS_MAX + 1);
	cr_assert_null(f.values[FACT_GROUP], "a list that is cut is not known");
	free(more);
}
