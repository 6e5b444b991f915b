/* traces.c - see traces.h. */
#include "collect/traces.h"

#include "base/vec.h"
#include "format/mpic.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".mpic"
#define TRACES_MAX (1u << 20)
#define EVENTS_MAX 1e18

static struct trace *find(struct traces *t, const char *name)
{
	for (unsigned i = 0; i < t->n; i++)
		if (strcmp(t->list[i].name, name) == 0)
			return &t->list[i];
	return NULL;
}

static struct trace *find_or_add(struct traces *t, const char *name)
{
	struct trace *known = find(t, name);
	if (known != NULL || t->n >= TRACES_MAX)
		return known;
	if (vec_grow(&t->list, &t->cap, t->n + 1, sizeof(*t->list)) < 0)
		return NULL;
	struct trace *added = &t->list[t->n++];
	*added = (struct trace){.len_bytes = -1};
	snprintf(added->name, sizeof(added->name), "%s", name);
	return added;
}

/* The number of processes in an END block, or -1. */
static int read_end(const struct buf *text, uint64_t *ret_events)
{
	cJSON *json = cJSON_ParseWithLength((const char *)text->data, text->len_bytes);
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(json, "processes");
	const cJSON *events = cJSON_GetObjectItemCaseSensitive(json, "events");
	*ret_events = cJSON_IsNumber(events) && events->valuedouble >= 0 && events->valuedouble < EVENTS_MAX
			      ? (uint64_t)events->valuedouble
			      : 0;
	int processes =
		cJSON_IsNumber(n) && n->valuedouble >= 0 && n->valuedouble <= MPIC_PROCESSES_MAX ? n->valueint : -1;
	cJSON_Delete(json);
	return processes;
}

static void read_whole(const char *dir, struct trace *trace)
{
	char path[PATH_MAX];
	struct mpic_file f;
	uint32_t last = MPIC_NODE;
	if (snprintf(path, sizeof(path), "%s/%s", dir, trace->name) >= (int)sizeof(path) ||
	    mpic_open_totals(path, &f, NULL) < 0) {
		trace->unreadable = true;
		return;
	}
	trace->unreadable = false;
	for (size_t i = 0; i < f.nblocks; i++) { /* sorted by process */
		if (f.blocks[i].process != last && f.blocks[i].process != MPIC_NODE)
			trace->processes++;
		last = f.blocks[i].process;
	}
	trace->finished = f.finished;
	mpic_close(&f);
}

static void read_trace(int dir_fd, const char *dir, struct trace *trace)
{
	_cleanup_buf_ struct buf json = {0};
	trace->finished = false;
	trace->processes = 0;
	trace->events = (uint64_t)trace->len_bytes;
	int fd = openat(dir_fd, trace->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	int rc = mpic_read_end(fd, &json, NULL);
	int processes = rc == 1 ? read_end(&json, &trace->events) : -1;
	close(fd);
	if (rc == -ENOTSUP || (rc == 1 && processes < 0)) {
		read_whole(dir, trace);
	} else if (rc == 1) {
		trace->finished = true;
		trace->processes = (unsigned)processes;
	}
}

static bool is_later(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

static void scan_entry(int dir_fd, const char *dir, const char *name, struct traces *t)
{
	struct stat st;
	size_t n = strlen(name);
	if (n <= strlen(SUFFIX) || n >= TRACES_NAME_MAX || strcmp(name + n - strlen(SUFFIX), SUFFIX) != 0 ||
	    fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
		return;
	struct trace *trace = find_or_add(t, name);
	if (trace == NULL || (trace->len_bytes == st.st_size && !is_later(st.st_mtim, trace->changed)))
		return;
	trace->len_bytes = st.st_size;
	trace->changed = st.st_mtim;
	read_trace(dir_fd, dir, trace);
}

static void add_up(struct traces *t)
{
	t->finished = t->processes = t->unreadable = 0;
	t->events = 0;
	for (unsigned i = 0; i < t->n; i++) {
		t->finished += t->list[i].finished;
		t->processes += t->list[i].processes;
		t->unreadable += t->list[i].unreadable;
		t->events += t->list[i].events;
	}
}

void traces_scan(int dir_fd, const char *dir, struct traces *t)
{
	const struct dirent *entry;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	while (d != NULL && (entry = readdir(d)) != NULL)
		scan_entry(dir_fd, dir, entry->d_name, t);
	if (d != NULL)
		closedir(d);
	add_up(t);
}

void traces_read_unfinished(const char *dir, struct traces *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (!t->list[i].finished && t->list[i].processes == 0)
			read_whole(dir, &t->list[i]);
	add_up(t);
}

unsigned traces_growing(const struct traces *t, double seconds)
{
	time_t now = time(NULL);
	unsigned n = 0;
	for (unsigned i = 0; i < t->n; i++)
		n += !t->list[i].finished && difftime(now, t->list[i].changed.tv_sec) <= seconds;
	return n;
}

/* Not older than any trace. */
static bool is_new(int dir_fd, const struct traces *t, const char *name, struct stat *ret_st)
{
	if (fstatat(dir_fd, name, ret_st, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	for (unsigned i = 0; i < t->n; i++)
		if (is_later(t->list[i].changed, ret_st->st_mtim))
			return false;
	return true;
}

bool traces_have_page(int dir_fd, const struct traces *t)
{
	struct stat st;
	return is_new(dir_fd, t, "report.html", &st);
}

bool traces_have_report(int dir_fd, const struct traces *t)
{
	struct stat page, trace;
	return is_new(dir_fd, t, "report.html", &page) && is_new(dir_fd, t, "job.mpix", &trace) &&
	       faccessat(dir_fd, "job.mpix", R_OK, 0) == 0 && !is_later(trace.st_mtim, page.st_mtim);
}

void traces_remove_empty(int dir_fd, const struct traces *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->list[i].finished && t->list[i].processes == 0)
			unlinkat(dir_fd, t->list[i].name, 0);
}

void traces_done(struct traces *t)
{
	free(t->list);
	*t = (struct traces){0};
}
