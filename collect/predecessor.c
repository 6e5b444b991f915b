/* predecessor.c - see predecessor.h. A segment is given back to its program after its block was written, so a
 * predecessor that died in between left it in both places: which blocks are in the file decides. */
#include "collect/predecessor.h"

#include "format/mpic_sample.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE "output"

/* Held as long as the agent lives: on the note, which nobody else can open, not on the trace, which others may read.
 * File systems without locks: there is one agent as a rule. */
static bool is_ours(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* '?' and the name while the file is not made, or just made and empty: then the first byte becomes '='. */
int predecessor_note(const char *ranks, const char *path)
{
	char name[PATH_MAX + 8], text[PATH_MAX + 1];
	snprintf(name, sizeof(name), "%s/" NOTE, ranks);
	int n = snprintf(text, sizeof(text), "?%s", path);
	unlink(name); /* never written through what lies there: a FIFO, a link of either kind */
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && write(fd, text, (size_t)n) != n) {
		unlink(name);
		close(fd);
		return -EIO;
	}
	if (fd < 0)
		return -errno;
	is_ours(fd);
	return fd;
}

int predecessor_lock(const char *ranks)
{
	char name[PATH_MAX + 8];
	snprintf(name, sizeof(name), "%s/" NOTE, ranks);
	int fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || is_ours(fd))
		return fd >= 0 ? fd : -errno;
	close(fd);
	return -EBUSY;
}

void predecessor_made(int note_fd)
{
	if (note_fd < 0)
		return;
	while (pwrite(note_fd, "=", 1, 0) < 0 && errno == EINTR)
		;
}

/* Before a successor writes to an empty file that only was to be made: with bytes in it it would no longer be
 * known as ours. */
int predecessor_claim(const char *ranks)
{
	char name[PATH_MAX + 8];
	snprintf(name, sizeof(name), "%s/" NOTE, ranks);
	int fd = open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc = fd < 0 || pwrite(fd, "=", 1, 0) != 1 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return rc;
}

void predecessor_forget(const char *ranks)
{
	char name[PATH_MAX + 8];
	snprintf(name, sizeof(name), "%s/" NOTE, ranks);
	unlink(name);
}

/* The name, if that file is an agent's: a file that only was to be made is so while it is empty. */
static bool read_note(const char *ranks, char path[PATH_MAX])
{
	char name[PATH_MAX + 8], text[PATH_MAX + 1];
	struct stat st;
	snprintf(name, sizeof(name), "%s/" NOTE, ranks);
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd >= 0 ? read(fd, text, PATH_MAX) : 0;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (n < 2 || lstat(text + 1, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	memcpy(path, text + 1, (size_t)n);
	return text[0] == '=' || st.st_size == 0;
}

int predecessor_open(struct predecessor *ret_earlier, const char *ranks)
{
	char path[PATH_MAX];
	struct predecessor e = {0};
	*ret_earlier = e;
	if (!read_note(ranks, path))
		return 0;
	int rc = mpic_open(path, &e.file, NULL);
	if (rc == -EBADMSG) { /* not one whole block: begun anew */
		e.file.path = strdup(path);
		rc = e.file.path != NULL ? 0 : -ENOMEM;
		e.file.fd = -1;
	}
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < e.file.nblocks; i++) {
		const struct mpic_block *b = &e.file.blocks[i];
		uint64_t end = b->payload_offset + b->packed_len_bytes;
		if (b->kind != MPIC_END) /* it is not, after all */
			e.end = end > e.end ? end : e.end;
		if (b->process != MPIC_NODE && b->process >= e.nprocesses)
			e.nprocesses = b->process + 1;
	}
	*ret_earlier = e;
	return 1;
}

void predecessor_close(struct predecessor *e)
{
	if (e->file.path != NULL && e->file.fd >= 0)
		mpic_close(&e->file);
	else
		free(e->file.path);
	*e = (struct predecessor){0};
}

static bool is_meta_of(const struct predecessor *e, const struct mpic_block *b, const struct segfile *f)
{
	_cleanup_buf_ struct buf text = {0};
	char tick[32];
	if (mpic_read(&e->file, b, &text, NULL) < 0)
		return false;
	cJSON *json = cJSON_ParseWithLength((const char *)text.data, text.len_bytes);
	const char *start = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "start_tick"));
	const cJSON *pid = cJSON_GetObjectItemCaseSensitive(json, "pid");
	snprintf(tick, sizeof(tick), "%llu", (unsigned long long)f->start_tick);
	bool same =
		start != NULL && strcmp(start, tick) == 0 && cJSON_IsNumber(pid) && pid->valuedouble == (double)f->pid;
	cJSON_Delete(json);
	return same;
}

uint32_t predecessor_index(const struct predecessor *e, const struct segfile *f)
{
	uint32_t last = MPIC_NODE;
	for (size_t i = 0; i < e->file.nblocks; i++) {
		const struct mpic_block *b = &e->file.blocks[i];
		if (b->kind != MPIC_META || b->process == MPIC_NODE || b->process == last)
			continue;
		last = b->process; /* one of its snapshots is enough */
		if (is_meta_of(e, b, f))
			return b->process;
	}
	return MPIC_NODE;
}

bool predecessor_has(const struct predecessor *e, enum mpic_kind kind, uint32_t process, uint32_t thread, uint64_t seq)
{
	struct mpic_block key = {.kind = kind, .process = process, .thread = thread, .seq = seq};
	return e->file.nblocks > 0 &&
	       bsearch(&key, e->file.blocks, e->file.nblocks, sizeof(key), mpic_compare_blocks) != NULL;
}

uint64_t predecessor_next_seq(const struct predecessor *e, enum mpic_kind kind, uint32_t process, uint32_t thread)
{
	uint64_t next = 0;
	for (size_t i = 0; i < e->file.nblocks; i++) {
		const struct mpic_block *b = &e->file.blocks[i];
		if (b->kind == kind && b->process == process && b->thread == thread && b->seq >= next)
			next = b->seq + 1;
	}
	return next;
}

static uint64_t events_in(const struct predecessor *e, const struct mpic_block *b)
{
	_cleanup_buf_ struct buf payload = {0};
	static struct mpic_events it;
	uint32_t n;
	if (mpic_read(&e->file, b, &payload, NULL) < 0 ||
	    mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &n) < 0)
		return 0;
	return n;
}

/* Definitions were recorded from the first region on, each up to what was committed then. */
static void skip_defs(struct process *p, uint32_t thread, uint64_t recorded)
{
	for (uint32_t i = 0; i < p->nmaps; i++) {
		struct mapped_region *m = &p->maps[i];
		if (m->row.type != REGION_DEFS || m->row.thread != thread || m->at == NULL)
			continue;
		uint32_t have = atomic_load_explicit(&((struct defs_area *)m->at)->committed, memory_order_acquire);
		m->done_bytes = recorded < have ? (uint32_t)recorded : have;
		recorded -= m->done_bytes;
	}
}

/* Is it alive in that sample? Then when that was, else 0. */
static uint64_t alive_at(const struct predecessor *e, const struct mpic_block *b, uint32_t index)
{
	_cleanup_buf_ struct buf payload = {0};
	struct mpic_sample sample;
	struct mpic_sample_reader r;
	struct mpic_sample_item item;
	if (mpic_read(&e->file, b, &payload, NULL) < 0 ||
	    mpic_sample_begin(cursor_over(payload.data, payload.len_bytes), &sample, &r) < 0)
		return 0;
	while (mpic_sample_next(&r, &item) == 1)
		if (item.type == MPIC_SAMPLE_PROCESS && item.process == index)
			return item.state == SAMPLE_RUNNING || item.state == SAMPLE_STARTING ? sample.tick : 0;
	return 0;
}

/* The last sample is the latest that it wrote of all that lived then. */
static uint64_t last_seen(const struct predecessor *e, uint32_t index)
{
	for (size_t i = e->file.nblocks; i-- > 0;)
		if (e->file.blocks[i].kind == MPIC_SAMPLE)
			return alive_at(e, &e->file.blocks[i], index);
	return 0;
}

void predecessor_apply(const struct predecessor *e, struct process *p)
{
	uint64_t *recorded = calloc(p->nthreads + 1, sizeof(*recorded));
	for (size_t i = 0; recorded != NULL && i < e->file.nblocks; i++) {
		const struct mpic_block *b = &e->file.blocks[i];
		if (b->process != p->index || b->thread >= p->nthreads)
			continue;
		if (b->kind == MPIC_DEFS)
			recorded[b->thread] += b->raw_len_bytes;
		if (b->kind == MPIC_EVENTS)
			p->threads[b->thread].events += events_in(e, b);
	}
	for (uint32_t t = 0; recorded != NULL && t < p->nthreads; t++) {
		p->threads[t].defs_seq = predecessor_next_seq(e, MPIC_DEFS, p->index, t);
		p->threads[t].profile_seq = predecessor_next_seq(e, MPIC_PROFILE, p->index, t);
		skip_defs(p, t, recorded[t]);
	}
	free(recorded);
	p->meta_seq = predecessor_next_seq(e, MPIC_META, p->index, 0);
	p->seen_tick = last_seen(e, p->index);
	p->seen_by_other = true;
	p->predecessor = e;
}
