/* facts.c - what is known of a job, and the file in which the prolog leaves it for the job's steps: lines key=value.
 * In: texts, of which some are the user's.  Out: bounded texts without control characters. */
#include "base/buf.h"
#include "policy/rules.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void policy_facts_done(struct policy_facts *f)
{
	for (int i = 0; i < POLICY_FACTS; i++)
		free(f->values[i]);
	*f = (struct policy_facts){0};
}

void policy_facts_set(struct policy_facts *f, enum policy_fact fact, const char *text)
{
	char *copy = text != NULL && strlen(text) <= POLICY_FACT_MAX ? strdup(text) : NULL;
	for (char *c = copy; c != NULL && *c != '\0'; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
	free(f->values[fact]);
	f->values[fact] = copy;
}

void policy_facts_set_number(struct policy_facts *f, enum policy_fact fact, uint64_t value)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	policy_facts_set(f, fact, text);
}

static int find(const char *text, size_t len)
{
	for (int i = 0; i < POLICY_FACTS; i++)
		if (strlen(policy_facts[i].name) == len && memcmp(policy_facts[i].name, text, len) == 0)
			return i;
	return -1;
}

int policy_facts_take(struct policy_facts *f, const char *text, struct error *e)
{
	const char *equals = strchr(text, '=');
	int fact = equals != NULL ? find(text, (size_t)(equals - text)) : -1;
	uint64_t number;
	if (fact < 0)
		return fail(e, -EINVAL,
			    "\"%.64s\" is no fact; known: user= uid= group= account= partition= qos= nodes= tasks= "
			    "program= job_name= job= het_job= restart= array= array_task= step=",
			    text);
	if (policy_facts[fact].match == POLICY_MATCH_RANGE && !policy_parse_number(equals + 1, &number))
		return fail(e, -EINVAL, "%.64s: wants a number", text);
	policy_facts_set(f, (enum policy_fact)fact, equals + 1);
	return 0;
}

static int write_temporary(int dir_fd, const char *name, const struct buf *b)
{
	unlinkat(dir_fd, name, 0); /* of a prolog that was killed */
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, b->data, b->len_bytes);
	int rc = n < 0 ? -errno : (size_t)n < b->len_bytes ? -ENOSPC : 0;
	close(fd);
	return rc;
}

int policy_facts_write(const struct policy_facts *f, int dir_fd, const char *name)
{
	_cleanup_buf_ struct buf b = {0};
	char temporary[64];
	for (int i = 0; i < POLICY_FACTS; i++)
		if (f->values[i] != NULL)
			buf_printf(&b, "%s=%s\n", policy_facts[i].name, f->values[i]);
	if (buf_failed(&b))
		return -ENOMEM;
	snprintf(temporary, sizeof(temporary), ".%.60s", name);
	int rc = write_temporary(dir_fd, temporary, &b);
	if (rc == 0 && renameat(dir_fd, temporary, dir_fd, name) != 0)
		rc = -errno;
	if (rc < 0)
		unlinkat(dir_fd, temporary, 0);
	return rc;
}

static int take_lines(struct policy_facts *f, char *text)
{
	while (*text != '\0') {
		char *end = strchr(text, '\n');
		if (end == NULL)
			return -EBADMSG;
		*end = '\0';
		if (policy_facts_take(f, text, NULL) < 0)
			return -EBADMSG;
		text = end + 1;
	}
	return 0;
}

static int read_whole(int fd, char *text, size_t cap)
{
	struct stat st;
	size_t used = 0;
	ssize_t n = 1;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return -EPERM;
	while (n > 0 && used < cap - 1) {
		n = read(fd, text + used, cap - 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	text[used] = '\0';
	return n < 0 ? -errno : used == cap - 1 ? -E2BIG : strlen(text) != used ? -EBADMSG : 0;
}

int policy_facts_read(struct policy_facts *ret_facts, int dir_fd, const char *name)
{
	struct policy_facts f = {0};
	char *text = malloc(POLICY_FACTS_BYTES_MAX + 1);
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int rc = fd < 0 ? -errno : text == NULL ? -ENOMEM : read_whole(fd, text, POLICY_FACTS_BYTES_MAX + 1);
	if (rc == 0)
		rc = take_lines(&f, text);
	if (fd >= 0)
		close(fd);
	free(text);
	if (rc < 0)
		policy_facts_done(&f);
	else
		*ret_facts = f;
	return rc;
}
