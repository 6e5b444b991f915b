/* names.c - see names.h. In: getpwuid(3), getgrgid(3), getgrnam(3).  Out: facts that say what could not be had. */
#include "spank/policy/names.h"
#include "base/ask.h"
#include "spank/policy/rules.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRY_BYTES 4096u /* of most */

/* For the strings of an entry. Only the child asks, so it is never freed. */
struct room {
	char *at;
	size_t cap_bytes;
};

/* Shall it be asked again, with more room? */
static bool again(struct room *r, int rc)
{
	size_t cap_bytes = r->cap_bytes * 2;
	char *more = rc == ERANGE && cap_bytes <= NAMES_ENTRY_BYTES_MAX ? realloc(r->at, cap_bytes) : NULL;
	if (more == NULL)
		return rc == EINTR;
	*r = (struct room){more, cap_bytes};
	return true;
}

static bool begin(struct room *r)
{
	*r = (struct room){malloc(ENTRY_BYTES), ENTRY_BYTES};
	return r->at != NULL;
}

/* A comma would make two names of it. */
static bool is_plain(const char *name)
{
	return *name != '\0' && strchr(name, ',') == NULL;
}

static void answer_user(const void *question, int fd)
{
	struct passwd entry, *found = NULL;
	struct room r;
	int rc = begin(&r) ? 0 : ENOMEM;
	if (rc == 0)
		do
			rc = getpwuid_r(*(const uid_t *)question, &entry, r.at, r.cap_bytes, &found);
		while (again(&r, rc));
	if (rc == 0 && found != NULL)
		dprintf(fd, "%s", found->pw_name);
}

void names_user(struct policy_facts *f, uid_t uid)
{
	_cleanup_buf_ struct buf name = {0};
	bool whole = ask_in_child(answer_user, &uid, NAMES_MS, POLICY_FACT_MAX, &name);
	buf_u8(&name, '\0');
	if (whole && !buf_failed(&name) && name.len_bytes > 1)
		policy_facts_set(f, FACT_USER, (const char *)name.data);
}

struct gids {
	gid_t first;
	const gid_t *more;
	size_t nmore;
};

/* A number that no entry has may have one where the service is at work: it is as unknown as others. */
static void answer_groups(const void *question, int fd)
{
	const struct gids *g = question;
	struct room r;
	if (!begin(&r))
		_exit(1);
	for (size_t i = 0; i <= g->nmore; i++) {
		struct group entry, *found = NULL;
		int rc;
		do
			rc = getgrgid_r(i == 0 ? g->first : g->more[i - 1], &entry, r.at, r.cap_bytes, &found);
		while (again(&r, rc));
		dprintf(fd, "%s,",
			rc == 0 && found != NULL && is_plain(found->gr_name) ? found->gr_name : NAMES_UNKNOWN);
	}
}

void names_groups(struct policy_facts *f, gid_t gid, const gid_t *more, size_t nmore)
{
	_cleanup_buf_ struct buf list = {0};
	struct gids g = {gid, more, nmore};
	if (nmore > POLICY_GROUPS_MAX)
		return;
	buf_printf(&list, "%u", gid);
	for (size_t i = 0; i < nmore; i++)
		buf_printf(&list, ",%u", more[i]);
	buf_str(&list, ",");
	bool whole = ask_in_child(answer_groups, &g, NAMES_MS, POLICY_GROUPS_BYTES_MAX / 2, &list);
	while (!buf_failed(&list) && list.data[list.len_bytes - 1] != ',')
		list.len_bytes--; /* half a name may be another one */
	if (whole)
		list.len_bytes--;
	else
		buf_str(&list, NAMES_UNKNOWN);
	buf_u8(&list, '\0');
	if (!buf_failed(&list))
		policy_facts_set(f, FACT_GROUP, (const char *)list.data);
}

static void answer_group(const void *question, int fd)
{
	struct group entry, *found = NULL;
	struct room r;
	int rc = begin(&r) ? 0 : ENOMEM;
	if (rc == 0)
		do
			rc = getgrnam_r(question, &entry, r.at, r.cap_bytes, &found);
		while (again(&r, rc));
	if (rc == 0 && found != NULL)
		dprintf(fd, "%u", found->gr_gid);
	else if (rc != 0)
		_exit(1); /* it cannot be had */
}

int names_group(const char *name, gid_t *ret_gid)
{
	_cleanup_buf_ struct buf text = {0};
	uint64_t number;
	bool whole = ask_in_child(answer_group, name, NAMES_MS, 32, &text);
	buf_u8(&text, '\0');
	if (!whole || buf_failed(&text))
		return -EAGAIN;
	if (!policy_parse_number((const char *)text.data, &number))
		return -ENOENT;
	*ret_gid = (gid_t)number;
	return 0;
}
