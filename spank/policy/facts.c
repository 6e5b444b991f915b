/* facts.c - what is known of a job, and the file in which the prolog leaves it for the job's steps: lines key=value.
 * In: texts, of which some are the user's.  Out: bounded texts without control characters. */
#include "base/buf_file.h"
#include "spank/policy/rules.h"

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
	size_t most = fact == FACT_GROUP ? POLICY_GROUPS_BYTES_MAX : POLICY_FACT_MAX;
	char *copy = text != NULL && strlen(text) <= most ? strdup(text) : NULL;
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
			    "\"%.64s\" is not a fact; known: user= uid= group= account= partition= qos= nodes= tasks= "
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

static int read_own(int fd, struct buf *text)
{
	struct stat st;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return -EPERM;
	int rc = buf_read(text, fd, POLICY_FACTS_BYTES_MAX);
	buf_u8(text, '\0');
	if (rc == 0 && buf_failed(text))
		return -ENOMEM;
	return rc == 0 && strlen((const char *)text->data) != text->len_bytes - 1 ? -EBADMSG : rc;
}

int policy_facts_read(struct policy_facts *ret_facts, int dir_fd, const char *name)
{
	struct policy_facts f = {0};
	_cleanup_buf_ struct buf text = {0};
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int rc = fd < 0 ? -errno : read_own(fd, &text);
	if (rc == 0)
		rc = take_lines(&f, (char *)text.data);
	if (fd >= 0)
		close(fd);
	if (rc < 0)
		policy_facts_done(&f);
	else
		*ret_facts = f;
	return rc;
}
