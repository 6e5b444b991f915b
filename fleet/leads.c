/* leads.c - see leads.h. */
#include "fleet/leads.h"

#include "base/buf_file.h"
#include "base/trusted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEADS_BYTES_MAX (1u << 20)
#define BETWEEN " \t\r"

static int read_file(const char *path, struct buf *b, struct error *e)
{
	int fd = trusted_open(path, TRUSTED_PUBLIC, e);
	if (fd < 0)
		return fd;
	int rc = buf_read(b, fd, LEADS_BYTES_MAX);
	close(fd);
	buf_u8(b, 0);
	return rc == 0 && !buf_failed(b) ? 0 : fail(e, rc < 0 ? rc : -ENOMEM, "%s: cannot be read", path);
}

static int take_line(char *line, const char *user, struct leads *l)
{
	char *rest = line;
	line[strcspn(line, "#")] = '\0';
	const char *who = strtok_r(line, BETWEEN, &rest), *account = strtok_r(NULL, BETWEEN, &rest);
	if (who == NULL)
		return 0;
	if (account == NULL || strtok_r(NULL, BETWEEN, &rest) != NULL)
		return -EINVAL;
	if (strcmp(who, user) != 0)
		return 0;
	if (l->n == LEADS_MOST)
		return -E2BIG;
	char *copy = strdup(account);
	if (copy == NULL)
		return -ENOMEM;
	l->accounts[l->n++] = copy;
	return 0;
}

int leads_read(const char *path, const char *user, struct leads *ret_l, struct error *e)
{
	_cleanup_buf_ struct buf text = {0};
	struct leads l = {0};
	int rc = read_file(path, &text, e), number = 0;
	char *rest = rc == 0 ? (char *)text.data : NULL, *line;
	while (rc == 0 && (line = strsep(&rest, "\n")) != NULL) {
		number++;
		rc = take_line(line, user, &l);
		if (rc < 0)
			fail(e, rc, "%s:%d: %s", path, number,
			     rc == -EINVAL  ? "must be a user and an account"
			     : rc == -E2BIG ? "this user leads more than 64 accounts"
					    : "out of memory");
	}
	if (rc < 0)
		leads_done(&l);
	else
		*ret_l = l;
	return rc;
}

void leads_done(struct leads *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->accounts[i]);
	l->n = 0;
}
