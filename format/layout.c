/* layout.c - see layout.h. Written by root for a user's process and read back by root, so nothing in it is believed: a
 * file that is too long, cut, or says something twice is refused. */
#include "format/layout.h"

#include "base/buf_file.h"
#include "base/json_quote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY "." LAYOUT_FILENAME

const struct layout_row layout_rows[LAYOUT_KEYS] = {
#define LAYOUT_ROW(id, name, meaning) [LAYOUT_##id] = {#name, meaning},
	LAYOUT_TABLE(LAYOUT_ROW)
#undef LAYOUT_ROW
};

void layout_done(struct layout *l)
{
	for (int i = 0; i < LAYOUT_KEYS; i++)
		free(l->values[i]);
	*l = (struct layout){0};
}

/* ---- writing ---- */

void layout_set(struct layout *l, enum layout_key key, const char *text)
{
	free(l->values[key]);
	l->values[key] = strdup(text != NULL ? text : "");
	l->failed |= l->values[key] == NULL;
	for (char *c = l->values[key]; c != NULL && *c != '\0'; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
}

static void set_buf(struct layout *l, enum layout_key key, struct buf *b)
{
	buf_u8(b, '\0');
	l->failed |= buf_failed(b);
	layout_set(l, key, buf_failed(b) ? "" : (const char *)b->data);
}

void layout_set_number(struct layout *l, enum layout_key key, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	layout_set(l, key, text);
}

void layout_set_list(struct layout *l, enum layout_key key, const uint32_t *numbers, size_t n)
{
	_cleanup_buf_ struct buf b = {0};
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, i > 0 ? ",%" PRIu32 : "%" PRIu32, numbers[i]);
	set_buf(l, key, &b);
}

void layout_set_argv(struct layout *l, char *const *argv, int argc)
{
	_cleanup_buf_ struct buf b = {0};
	size_t left_bytes = LAYOUT_ARGV_MAX;
	buf_u8(&b, '[');
	for (int i = 0; i < argc; i++) {
		size_t len_bytes = strlen(argv[i]);
		bool cut = len_bytes > left_bytes;
		if (i > 0)
			buf_u8(&b, ',');
		json_quote(&b, cut ? "..." : argv[i]);
		if (cut)
			break;
		left_bytes -= len_bytes;
	}
	buf_u8(&b, ']');
	set_buf(l, LAYOUT_ARGV, &b);
	layout_set(l, LAYOUT_PROGRAM, argc > 0 ? argv[0] : "");
}

static int write_all(int fd, const struct buf *b)
{
	size_t done = 0;
	while (done < b->len_bytes) {
		ssize_t n = write(fd, b->data + done, b->len_bytes - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int store(int dir_fd, const struct buf *b)
{
	int fd = openat(dir_fd, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int rc = write_all(fd, b);
	close(fd);
	if (rc == 0 && renameat(dir_fd, TEMPORARY, dir_fd, LAYOUT_FILENAME) != 0)
		rc = -errno;
	return rc;
}

int layout_write(int dir_fd, const struct layout *l, struct error *e)
{
	_cleanup_buf_ struct buf b = {0};
	for (int i = 0; i < LAYOUT_KEYS; i++) {
		if (l->values[i] == NULL)
			continue;
		buf_str(&b, layout_rows[i].name);
		buf_u8(&b, '=');
		buf_str(&b, l->values[i]);
		buf_u8(&b, '\n');
	}
	if (l->failed || buf_failed(&b))
		return fail(e, -ENOMEM, LAYOUT_FILENAME ": out of memory");
	if (b.len_bytes > LAYOUT_BYTES_MAX)
		return fail(e, -E2BIG,
			    LAYOUT_FILENAME ": %zu bytes are over the limit %u: the command line is too long",
			    b.len_bytes, LAYOUT_BYTES_MAX);
	int rc = store(dir_fd, &b);
	return rc < 0 ? fail(e, rc, LAYOUT_FILENAME ": cannot write it: %s", strerror(-rc)) : 0;
}

/* ---- reading ---- */

/* Everything in the file, ended by a zero. */
static int read_whole(int fd, struct buf *text)
{
	int rc = buf_read(text, fd, LAYOUT_BYTES_MAX);
	buf_u8(text, '\0');
	return rc == 0 && buf_failed(text) ? -ENOMEM : rc;
}

static int open_checked(int dir_fd, bool own)
{
	struct stat st;
	int fd = openat(dir_fd, LAYOUT_FILENAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (!own || st.st_uid == geteuid()))
		return fd;
	close(fd);
	return -EPERM;
}

static int find_key(const char *name)
{
	for (int i = 0; i < LAYOUT_KEYS; i++)
		if (strcmp(layout_rows[i].name, name) == 0)
			return i;
	return -1;
}

static int take_line(struct layout *l, char *line)
{
	char *equals = strchr(line, '=');
	if (equals == NULL)
		return -EBADMSG;
	*equals = '\0';
	int key = find_key(line);
	if (key < 0)
		return 0;
	if (l->values[key] != NULL)
		return -EBADMSG;
	layout_set(l, (enum layout_key)key, equals + 1);
	return l->failed ? -ENOMEM : 0;
}

static int take_lines(struct layout *l, char *text, size_t len_bytes)
{
	int rc = 0;
	if (strlen(text) != len_bytes)
		return -EBADMSG;
	while (rc == 0 && *text != '\0') {
		char *end = strchr(text, '\n');
		if (end == NULL)
			return -EBADMSG;
		*end = '\0';
		rc = take_line(l, text);
		text = end + 1;
	}
	return rc;
}

int layout_read(int dir_fd, bool own, struct layout *ret_layout, struct error *e)
{
	int fd = open_checked(dir_fd, own);
	int rc = layout_read_open(fd, ret_layout, e);
	if (fd >= 0)
		close(fd);
	return rc;
}

int layout_read_open(int fd, struct layout *ret_layout, struct error *e)
{
	_cleanup_buf_ struct buf text = {0};
	struct layout l = {0};
	int rc = fd < 0 ? fd : read_whole(fd, &text);
	if (rc == 0)
		rc = take_lines(&l, (char *)text.data, text.len_bytes - 1);
	if (rc == 0) {
		*ret_layout = l;
		return 0;
	}
	layout_done(&l);
	return fail(e, rc, LAYOUT_FILENAME ": cannot read it: %s",
		    rc == -EBADMSG ? "cut, or not a layout file" : strerror(-rc));
}

bool layout_has(const struct layout *l, enum layout_key key)
{
	return l->values[key] != NULL;
}

const char *layout_text(const struct layout *l, enum layout_key key)
{
	return l->values[key] != NULL ? l->values[key] : "";
}

static bool parse_number(const char *text, char **ret_end, uint64_t *ret_value)
{
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_value = strtoull(text, ret_end, 10);
	return errno == 0;
}

uint64_t layout_number(const struct layout *l, enum layout_key key, uint64_t fallback)
{
	char *end;
	uint64_t value;
	return parse_number(layout_text(l, key), &end, &value) && *end == '\0' ? value : fallback;
}

int layout_list(const struct layout *l, enum layout_key key, uint32_t *ret_numbers, size_t max)
{
	const char *text = layout_text(l, key);
	size_t n = 0;
	for (char *end; *text != '\0'; text = end) {
		uint64_t value;
		text += n > 0 && *text == ',';
		if (n == max || !parse_number(text, &end, &value) || value > UINT32_MAX ||
		    (*end != ',' && *end != '\0') || (*end == ',' && end[1] == '\0'))
			return -EBADMSG;
		ret_numbers[n++] = (uint32_t)value;
	}
	return (int)n;
}
