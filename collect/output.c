/* output.c - see output.h. */
#include "collect/output.h"

#include "base/directories.h"
#include "base/vec.h"
#include "format/mpic_block.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_BYTES (1u << 20) /* parallel file systems like big appends */
#define DEFLATE_LEVEL 6
#define NAMES_MAX 100
#define STEP_LEVELS 2 /* mpitrace-<job>/step-<step> */
#define FLOOR_SHARE 20
#define RESTORES_MAX 8 /* whoever takes the file away more often does not want it */
#define FLOOR_MAX_BYTES (1ull << 30)

/* `levels` directories at the end of path: ours, and nobody else's to write (but for our group, if that is our umask).
 * In a directory that all may write (a sticky one) somebody may have made them before us, to read what we record or to
 * put something in our way. */
static int check_owner(const char *path, int levels)
{
	char part[PATH_MAX];
	struct stat st;
	snprintf(part, sizeof(part), "%s", path);
	for (; levels > 0 && part[0] != '\0'; levels--) {
		if (lstat(part, &st) != 0)
			return -errno;
		if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & S_IWOTH) != 0)
			return -EPERM;
		*strrchr(part, '/') = '\0';
	}
	return 0;
}

/* What all may write nobody reports of. Where somebody let them (chmod) since it was made, all may not any more. */
static void close_to_others(const char *path, int levels)
{
	char part[PATH_MAX];
	struct stat st;
	snprintf(part, sizeof(part), "%s", path);
	for (; levels > 0 && part[0] != '\0'; levels--) {
		int fd = open(part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IWOTH) != 0)
			(void)!fchmod(fd, st.st_mode & 07777 & ~(mode_t)S_IWOTH);
		if (fd >= 0)
			close(fd);
		*strrchr(part, '/') = '\0';
	}
}

static int make_directory(const struct output *o, const char *dir)
{
	int rc = directories_make(dir);
	return rc == 0 && o->of_slurm && dir == o->wanted_dir ? check_owner(dir, STEP_LEVELS) : rc;
}

int output_directory(const struct output *o)
{
	return make_directory(o, o->wanted_dir);
}

/* <name>.mpic, or <name>.2.mpic ... if it is there: nothing is ever overwritten. */
static int create_in(struct output *o, const char *dir)
{
	int rc = make_directory(o, dir);
	if (rc < 0)
		return rc;
	for (int i = 1; i < NAMES_MAX; i++) {
		char *path = NULL;
		int n = i == 1 ? asprintf(&path, "%s/%s.mpic", dir, o->name)
			       : asprintf(&path, "%s/%s.%d.mpic", dir, o->name, i);
		if (n < 0)
			return -ENOMEM;
		if (o->naming != NULL)
			o->naming(o->context, path, false);
		o->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (o->fd >= 0) {
			o->path = path;
			if (o->naming != NULL)
				o->naming(o->context, path, true);
			return 0;
		}
		free(path);
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Nothing that a program could have put into a payload beforehand. */
static uint32_t new_id(void)
{
	uint32_t id;
	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) == (ssize_t)sizeof(id))
		return id;
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint32_t)t.tv_nsec * 2654435761u ^ (uint32_t)t.tv_sec ^ (uint32_t)getpid() << 16;
}

int output_open(struct output *o, struct error *e)
{
	if (o->path != NULL)
		return 0;
	if (o->broken)
		return -EIO;
	int rc = create_in(o, o->wanted_dir);
	if (rc < 0) {
		fail(e, rc, "%s: cannot write: %s; the trace stays in %s", o->wanted_dir, strerror(-rc),
		     o->fallback_dir);
		if (create_in(o, o->fallback_dir) < 0) {
			o->broken = true;
			return rc;
		}
	}
	o->id = new_id();
	mpic_append_magic(&o->pending, o->id);
	return rc;
}

/* A file of version 2 has the id 0, which is as good as any there. */
static int read_id(int fd, uint32_t *ret_id)
{
	uint8_t bytes[MPIC_MAGIC_BYTES];
	struct mpic_head head;
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	int rc = n < 0 ? -errno : mpic_parse_head(bytes, (size_t)n, "", &head, NULL);
	if (rc == 0)
		*ret_id = head.id;
	return rc;
}

/* Under a name that was noted may lie by now what somebody else put there: only a file of ours, which has no other
 * name, is cut. */
static int open_own(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1)
		return fd;
	close(fd);
	return -EPERM;
}

int output_resume(struct output *o, const char *path, uint64_t len_bytes)
{
	uint32_t id = new_id();
	int fd = open_own(path);
	if (fd < 0)
		return fd;
	int known = len_bytes > 0 ? read_id(fd, &id) : 0;
	if (known < 0) {
		close(fd);
		return known;
	}
	if (ftruncate(fd, (off_t)len_bytes) != 0 || lseek(fd, (off_t)len_bytes, SEEK_SET) < 0 ||
	    (o->path = strdup(path)) == NULL) {
		int rc = errno != 0 ? -errno : -EIO;
		close(fd);
		return rc;
	}
	o->fd = fd;
	o->id = id;
	o->len_bytes = len_bytes;
	if (len_bytes == 0)
		mpic_append_magic(&o->pending, o->id);
	return 0;
}

/* What cannot be asked is taken to be as it was. */
static bool has_its_name(const struct output *o)
{
	struct stat mine, named;
	if (fstat(o->fd, &mine) != 0)
		return true;
	if (lstat(o->path, &named) != 0)
		return errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
	return mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

static int copy(int from_fd, int to_fd, uint64_t len_bytes)
{
	static char part[64 << 10];
	uint64_t done = 0;
	while (done < len_bytes) {
		size_t want = len_bytes - done < sizeof(part) ? (size_t)(len_bytes - done) : sizeof(part);
		ssize_t n = pread(from_fd, part, want, (off_t)done);
		if (n > 0)
			n = write(to_fd, part, (size_t)n);
		if (n == 0 || (n < 0 && errno != EINTR))
			return n == 0 ? -EIO : -errno;
		done += n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

/* A copy under a name in dir, whose file is then the output. */
static int move_to(struct output *o, const char *dir)
{
	struct output was = *o;
	int rc = create_in(o, dir);
	if (rc == 0 && (rc = copy(was.fd, o->fd, o->len_bytes)) < 0) {
		unlink(o->path);
		close(o->fd);
		free(o->path);
	}
	if (rc < 0) {
		o->fd = was.fd;
		o->path = was.path;
		return rc;
	}
	close(was.fd);
	free(was.path);
	o->room_bytes = 0;
	o->no_promises = false;
	return 0;
}

bool output_is_aside(const struct output *o)
{
	size_t n = strlen(o->fallback_dir);
	return o->path != NULL && strcmp(o->wanted_dir, o->fallback_dir) != 0 &&
	       strncmp(o->path, o->fallback_dir, n) == 0 && strchr(o->path + n, '/') == strrchr(o->path, '/');
}

/* It is still the one that we write to. */
static void note_again(const struct output *o)
{
	if (o->naming == NULL)
		return;
	o->naming(o->context, o->path, false);
	o->naming(o->context, o->path, true);
}

/* The directory could not be written when the trace began; by now it may be. Else all stays as it is. */
static int bring_back(struct output *o)
{
	char *aside = strdup(o->path);
	int rc = aside != NULL ? move_to(o, o->wanted_dir) : -ENOMEM;
	if (rc == 0)
		unlink(aside);
	else
		note_again(o);
	free(aside);
	o->restores += rc == 0;
	return rc == 0;
}

int output_restore(struct output *o)
{
	if (o->path == NULL || o->restores >= RESTORES_MAX)
		return 0;
	if (has_its_name(o) && output_is_aside(o))
		return bring_back(o);
	if (has_its_name(o)) {
		if (o->of_slurm)
			close_to_others(o->wanted_dir, STEP_LEVELS);
		return 0;
	}
	int rc = move_to(o, o->wanted_dir);
	if (rc < 0)
		rc = move_to(o, o->fallback_dir);
	if (rc < 0)
		note_again(o);
	o->restores += rc == 0;
	return rc < 0 ? rc : 1;
}

static void lose(struct output *o, const struct queued_events *what)
{
	o->failed_blocks++;
	if (o->lost != NULL)
		o->lost(o->context, what);
}

int64_t output_block(struct output *o, const struct mpic_block *block, const void *payload, size_t len_bytes)
{
	if (o->len_bytes + o->pending.len_bytes == 0)
		mpic_append_magic(&o->pending, o->id); /* there was no memory for it when the file was made */
	size_t before = o->pending.len_bytes;
	int rc = mpic_append_block(&o->pending, block, payload, len_bytes, DEFLATE_LEVEL, NULL);
	if (rc < 0) {
		o->pending.len_bytes = before;
		o->pending.failed = false; /* memory may be there again for the next one */
		o->failed_blocks += block->kind != MPIC_EVENTS;
		return rc;
	}
	o->blocks++;
	int64_t packed = (int64_t)(o->pending.len_bytes - before);
	if (block->kind != MPIC_EVENTS && o->pending.len_bytes >= FLUSH_BYTES)
		rc = output_flush(o);
	return rc < 0 ? rc : packed;
}

int64_t output_events(struct output *o, const struct mpic_block *block, const struct buf *payload, uint64_t events,
		      uint64_t begin_tick)
{
	struct queued_events what = {0, block->process, block->thread, events, begin_tick};
	int64_t packed = -ENOMEM;
	if (vec_grow(&o->queued, &o->queued_cap, o->nqueued + 1, sizeof(*o->queued)) == 0 && !buf_failed(payload))
		packed = output_block(o, block, payload->data, payload->len_bytes);
	if (packed < 0) {
		lose(o, &what);
		return packed;
	}
	what.end = o->pending.len_bytes;
	o->queued[o->nqueued++] = what;
	if (o->pending.len_bytes >= FLUSH_BYTES)
		output_flush(o);
	return packed;
}

/* May events make the file as long as `end`? Others need room on the file system as well. */
static int may_record(const struct output *o, uint64_t end)
{
	struct statvfs fs;
	if (o->ending)
		return 0;
	if (o->cap_bytes > 0 && end > o->cap_bytes)
		return -EFBIG;
	if (end <= o->room_bytes || fstatvfs(o->fd, &fs) != 0 || fs.f_blocks == 0)
		return 0;
	uint64_t all = (uint64_t)fs.f_blocks * fs.f_frsize, share = all / FLOOR_SHARE;
	uint64_t floor = o->floor_bytes > 0 ? o->floor_bytes : share < FLOOR_MAX_BYTES ? share : FLOOR_MAX_BYTES;
	return (uint64_t)fs.f_bavail * fs.f_frsize < floor + (end - o->len_bytes) ? -ENOSPC : 0;
}

/* May the file grow to `end`? A promise of the file system is kept also when the disk is full (fallocate(2)); the
 * reserve is asked for with every write, so that it is there when one fails. */
static int make_room(struct output *o, uint64_t end)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur)
		return -EFBIG;
	if (end <= o->room_bytes || o->no_promises)
		return 0;
	uint64_t more = end + FLUSH_BYTES;
	if (fallocate(o->fd, FALLOC_FL_KEEP_SIZE, (off_t)o->len_bytes, (off_t)(more - o->len_bytes)) == 0) {
		o->room_bytes = more;
	} else if (fallocate(o->fd, FALLOC_FL_KEEP_SIZE, (off_t)o->len_bytes, (off_t)(end - o->len_bytes)) == 0) {
		o->room_bytes = end;
	} else if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
		return -errno;
	} else {
		o->no_promises = errno != EINTR;
	}
	return 0;
}

/* Blocks that are of use later than now: events need their definitions, and the end records losses. */
static bool is_kept(const struct output *o, enum mpic_kind kind)
{
	return kind == MPIC_DEFS || (o->ending && kind != MPIC_EVENTS);
}

/* Of the queued bytes `done` reached the file. Returns how many of them are whole blocks; of the others stays what
 * is kept. */
static size_t sort_out(struct output *o, size_t done)
{
	size_t at = o->len_bytes == 0 ? MPIC_MAGIC_BYTES : 0, whole = 0;
	struct buf kept = {0};
	struct mpic_block b;
	uint32_t crc;
	for (size_t i = 0; i < o->nqueued; i++)
		if (o->queued[i].end > done)
			lose(o, &o->queued[i]);
	o->nqueued = 0;
	while (o->pending.len_bytes - at >= MPIC_HEADER_BYTES &&
	       mpic_parse_header(o->pending.data + at, &b, &crc) == 0) {
		size_t len = MPIC_HEADER_BYTES + b.packed_len_bytes;
		if (at + len <= done)
			whole = at + len;
		else if (is_kept(o, b.kind))
			buf_bytes(&kept, o->pending.data + at, len);
		else
			o->failed_blocks += b.kind != MPIC_EVENTS;
		at += len;
	}
	buf_done(&o->pending);
	if (o->len_bytes + whole == 0)
		mpic_append_magic(&o->pending, o->id); /* an empty file still needs its first bytes */
	buf_bytes(&o->pending, kept.data, kept.len_bytes);
	buf_done(&kept);
	return whole;
}

/* The file ends behind its last whole block again. Cutting gives back what was promised. */
static void cut_back(struct output *o, size_t done, bool written)
{
	o->len_bytes += sort_out(o, done);
	if (written) {
		o->room_bytes = 0;
		if (ftruncate(o->fd, (off_t)o->len_bytes) == 0)
			lseek(o->fd, (off_t)o->len_bytes, SEEK_SET);
	}
}

/* How much of what is queued, in whole blocks, has room. *ret_rc = why not all. */
static size_t fitting(struct output *o, int *ret_rc)
{
	uint64_t reserve = o->ending ? 0 : o->reserve_bytes;
	size_t at = o->len_bytes == 0 ? MPIC_MAGIC_BYTES : 0, fits = 0;
	struct mpic_block b;
	uint32_t crc;
	*ret_rc = o->nqueued > 0 ? may_record(o, o->len_bytes + o->pending.len_bytes) : 0;
	o->full |= *ret_rc < 0;
	if (*ret_rc == 0)
		*ret_rc = make_room(o, o->len_bytes + o->pending.len_bytes + reserve);
	if (*ret_rc == 0)
		return o->pending.len_bytes;
	while (o->pending.len_bytes - at >= MPIC_HEADER_BYTES &&
	       mpic_parse_header(o->pending.data + at, &b, &crc) == 0) {
		at += MPIC_HEADER_BYTES + b.packed_len_bytes;
		if ((b.kind == MPIC_EVENTS && may_record(o, o->len_bytes + at) < 0) ||
		    make_room(o, o->len_bytes + at + reserve) < 0)
			break;
		fits = at;
	}
	return fits;
}

static int write_pending(struct output *o, size_t len_bytes, size_t *ret_done)
{
	size_t done = 0;
	int rc = 0;
	while (done < len_bytes && rc == 0) {
		ssize_t n = write(o->fd, o->pending.data + done, len_bytes - done);
		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			rc = n == 0 ? -EIO : -errno;
	}
	*ret_done = done;
	return rc;
}

int output_flush(struct output *o)
{
	size_t done = 0;
	if (o->pending.len_bytes == 0)
		return 0;
	int no_room, rc = write_pending(o, fitting(o, &no_room), &done);
	if (rc < 0 || no_room < 0) {
		cut_back(o, done, rc < 0);
		return rc < 0 ? rc : no_room;
	}
	o->len_bytes += done;
	o->pending.len_bytes = 0;
	o->nqueued = 0;
	return 0;
}

void output_ending(struct output *o)
{
	if (output_flush(o) < 0)
		output_flush(o); /* what was kept */
	o->ending = true;
}

int output_close(struct output *o)
{
	int rc = 0;
	if (o->path != NULL) {
		o->ending = true;
		rc = output_flush(o);
		if (rc < 0) /* once more without the events */
			rc = output_flush(o);
		if (ftruncate(o->fd, (off_t)o->len_bytes) != 0 || fsync(o->fd) != 0)
			rc = rc == 0 ? -errno : rc;
		close(o->fd);
		if (o->len_bytes == 0) /* not even its first bytes could be written */
			unlink(o->path);
	}
	buf_done(&o->pending);
	free(o->queued);
	o->queued = NULL;
	return rc;
}
