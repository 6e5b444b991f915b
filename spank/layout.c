/* layout.c - see layout.h. Everything that comes from the user loses its line breaks here, so that
 * no value can pose as another key, and the keys that name an identity stand first. */
#include "spank/layout.h"
#include "base/buf.h"
#include "spank/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put_text(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		buf_u8(b, *text == '\n' || *text == '\r' ? ' ' : (uint8_t)*text);
}

static void put(struct buf *b, const char *key, const char *value)
{
	buf_printf(b, "%s=", key);
	put_text(b, value != NULL ? value : "");
	buf_u8(b, '\n');
}

static void put_json_string(struct buf *b, const char *text)
{
	buf_u8(b, '"');
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			buf_printf(b, "\\u%04x", c);
		else
			buf_u8(b, c);
	}
	buf_u8(b, '"');
}

static void put_argv(struct buf *b, const struct layout *l)
{
	size_t left_bytes = LAYOUT_ARGV_MAX;
	buf_str(b, "argv=[");
	for (int i = 0; i < l->argc; i++) {
		size_t len_bytes = strlen(l->argv[i]);
		bool cut = len_bytes > left_bytes;
		if (i > 0)
			buf_u8(b, ',');
		put_json_string(b, cut ? "..." : l->argv[i]);
		if (cut)
			break;
		left_bytes -= len_bytes;
	}
	buf_str(b, "]\n");
}

static void put_identity(struct buf *b, const struct layout *l)
{
	buf_printf(b, "uid=%u\ngid=%u\ngids=", l->uid, l->gid);
	for (int i = 0; i < l->ngids && i < LAYOUT_GIDS_MAX; i++)
		buf_printf(b, i > 0 ? ",%u" : "%u", l->gids[i]);
	buf_u8(b, '\n');
}

static void put_step(struct buf *b, const struct layout *l)
{
	char step[SPOOL_NAME_MAX];
	spool_step_name(l->step_id, step);
	buf_printf(b, "job_id=%u\nrestart=%u\nstep_id=%s\n", l->job_id, l->restart, step);
	buf_printf(b, "nodeid=%u\nnnodes=%u\nntasks=%u\ntasks=", l->nodeid, l->nnodes, l->ntasks);
	for (uint32_t i = 0; i < l->ntasks_here; i++)
		buf_printf(b, i > 0 ? ",%u" : "%u", l->tasks[i]);
	buf_u8(b, '\n');
}

static void put_request(struct buf *b, const struct layout *l)
{
	const struct request *r = l->request;
	put(b, "mode", r->profile ? "profile" : "events");
	buf_printf(b, "budget=%" PRIu64 "\nstack=%u\n", r->budget_bytes, r->stack);
	put(b, "report", request_report_name(r->report));
	put(b, "name", r->name);
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

static int store(int step_fd, const struct buf *b)
{
	int fd = openat(step_fd, ".layout", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	int rc = write_all(fd, b);
	if (fchmod(fd, 0644) != 0 && rc == 0)
		rc = -errno;
	close(fd);
	if (rc == 0 && renameat(step_fd, ".layout", step_fd, "layout") != 0)
		rc = -errno;
	return rc;
}

int layout_write(int step_fd, const struct layout *l, struct error *e)
{
	_cleanup_buf_ struct buf b = {0};
	put_identity(&b, l);
	put_step(&b, l);
	put_request(&b, l);
	put(&b, "out", l->out);
	put(&b, "cluster", l->cluster);
	put(&b, "node", l->node);
	put(&b, "nodelist", l->nodelist);
	put(&b, "switches", l->switches);
	put(&b, "slurm", l->slurm);
	put(&b, "submit", l->submit);
	put(&b, "program", l->argc > 0 ? l->argv[0] : "");
	put_argv(&b, l);
	if (buf_failed(&b) || b.len_bytes > LAYOUT_BYTES_MAX)
		return fail(e, -E2BIG, "layout: out of memory, or the command line is too long");
	int rc = store(step_fd, &b);
	return rc < 0 ? fail(e, rc, "layout: cannot write it: %s", strerror(-rc)) : 0;
}

/* ---- reading back ---- */

static int read_gids(const char *text, struct layout_brief *brief)
{
	brief->ngids = 0;
	while (*text >= '0' && *text <= '9' && brief->ngids < LAYOUT_GIDS_MAX) {
		char *end;
		brief->gids[brief->ngids++] = (gid_t)strtoul(text, &end, 10);
		text = *end == ',' ? end + 1 : end;
	}
	return *text == '\0' ? 0 : -EBADMSG;
}

static int read_number(const char *text, uint32_t *ret_value)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || value >= UINT32_MAX)
		return -EBADMSG;
	*ret_value = (uint32_t)value;
	return 0;
}

/* Keys met are bits of the result; -EBADMSG for a value that is none. Unknown keys are others'
 * business. */
static int take(const char *key, const char *value, struct layout_brief *brief)
{
	if (strcmp(key, "uid") == 0)
		return read_number(value, &brief->uid) < 0 ? -EBADMSG : 1;
	if (strcmp(key, "gid") == 0)
		return read_number(value, &brief->gid) < 0 ? -EBADMSG : 2;
	if (strcmp(key, "gids") == 0)
		return read_gids(value, brief) < 0 ? -EBADMSG : 4;
	if (strcmp(key, "nodeid") == 0)
		return read_number(value, &brief->nodeid) < 0 ? -EBADMSG : 8;
	if (strcmp(key, "nnodes") == 0)
		return read_number(value, &brief->nnodes) < 0 ? -EBADMSG : 16;
	if (strcmp(key, "report") == 0) {
		brief->report = strcmp(value, "none") != 0;
		return 32;
	}
	if (strcmp(key, "out") == 0 && strlen(value) < sizeof(brief->out)) {
		strcpy(brief->out, value);
		return 64;
	}
	return 0;
}

#define ALL_KEYS 127

static int read_lines(FILE *f, struct layout_brief *ret_brief)
{
	char *line = NULL;
	size_t cap_bytes = 0;
	ssize_t n;
	int seen = 0;
	while (seen != ALL_KEYS && (n = getline(&line, &cap_bytes, f)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		char *value = strchr(line, '=');
		if (value == NULL)
			continue;
		*value++ = '\0';
		int key = take(line, value, ret_brief);
		if (key < 0 || (key & seen) != 0)
			break;
		seen |= key;
	}
	free(line);
	return seen == ALL_KEYS ? 0 : -EBADMSG;
}

int layout_read(int step_fd, struct layout_brief *ret_brief)
{
	struct stat st;
	int fd = openat(step_fd, "layout", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	FILE *f = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() ? fdopen(fd, "r") : NULL;
	if (f == NULL) {
		close(fd);
		return -EPERM;
	}
	memset(ret_brief, 0, sizeof(*ret_brief));
	int rc = read_lines(f, ret_brief);
	fclose(f);
	return rc;
}
