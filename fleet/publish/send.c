/* send.c - see send.h. What a failure means is decided here, once for all kinds:
 * 2xx has arrived, but for records that the answer names; 413 is two requests; 400 and 422 are halved until the record
 * that is meant stands alone, which is dead then; all others, and no answer, are the destination's trouble: the same
 * batch goes out again later. 500 may be either: after some times it is halved, too, and who stands alone lets the
 * others go first (state_aside()). */
#include "fleet/publish/send.h"
#include "base/units.h"
#include "fleet/publish/dead.h"

#include "base/json.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GZIP_LEVEL 4
#define DOUBTS 3 /* failures until a batch with status 500 is looked at in halves */
#define REFUSED_MOST 3
#define RETRY_AFTER_MOST 86400 /* s: a server's word for longer is not taken */

/* ---- later ---- */

/* Doubles with each failure up to the most; between half of it and all of it, so that many do not come at once. */
static int64_t delay_s(const struct destination *d, int64_t failures, int64_t asked_s)
{
	uint32_t dice = 0;
	uint64_t wait = d->backoff_s;
	for (int64_t i = 0; i < failures && wait < d->backoff_max_s; i++)
		wait *= 2;
	wait = wait < d->backoff_max_s ? wait : d->backoff_max_s;
	if (getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != (ssize_t)sizeof(dice))
		dice = (uint32_t)time(NULL);
	wait = wait / 2 + (wait > 0 ? dice % (wait - wait / 2 + 1) : 0);
	asked_s = asked_s < RETRY_AFTER_MOST ? asked_s : RETRY_AFTER_MOST;
	return asked_s > (int64_t)wait ? asked_s : (int64_t)wait;
}

static int postpone(struct state *s, const struct destination *d, const char *why, int64_t asked_s, struct error *e)
{
	struct state_counts c;
	int rc = state_counts(s, d, &c, e);
	if (rc < 0)
		return rc;
	fprintf(stderr, "mpitrace publish: %s: %s\n", d->name, why);
	rc = state_postpone(s, d, (int64_t)time(NULL) + delay_s(d, c.failures, asked_s), why, e);
	return rc < 0 ? rc : 1;
}

/* ---- a file ---- */

int publish_open_file(struct state *s, const struct destination *d, int *ret_fd, int64_t *ret_at, struct error *e)
{
	char which[64], was[64];
	struct stat st;
	int fd = open(d->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640), rc = 0;
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		rc = fail(e, fd < 0 ? -errno : -EINVAL, "%s: %s", d->path,
			  fd < 0 ? strerror(errno) : "is not a regular file");
		if (fd >= 0)
			close(fd);
		return rc;
	}
	snprintf(which, sizeof(which), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	rc = state_file(s, d, was, ret_at, e);
	if (rc == 0 && (strcmp(which, was) != 0 || st.st_size < *ret_at)) {
		*ret_at = st.st_size;
		rc = state_set_file(s, d, which, st.st_size, e);
	}
	if (rc == 0 && ftruncate(fd, *ret_at) != 0)
		rc = fail(e, -errno, "%s: %s", d->path, strerror(errno));
	if (rc < 0)
		close(fd);
	else
		*ret_fd = fd;
	return rc;
}

static int write_at(int fd, const struct buf *b, int64_t at)
{
	for (size_t done = 0; done < b->len_bytes;) {
		ssize_t n = pwrite(fd, b->data + done, b->len_bytes - done, at + (int64_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return fsync(fd) == 0 ? 0 : -errno;
}

static int append(struct state *s, const struct destination *d, const struct batch *b, const struct buf *body,
		  struct error *e)
{
	struct error why = {""};
	int fd = -1;
	int64_t at = 0;
	int rc = publish_open_file(s, d, &fd, &at, &why);
	if (rc < 0)
		return postpone(s, d, why.text, 0, e);
	state_turn_end();
	rc = write_at(fd, body, at);
	state_turn_begin();
	if (rc < 0 && ftruncate(fd, at) != 0) /* else the next run does */
		rc = -errno;
	close(fd);
	if (rc == 0)
		return state_arrived(s, d, b, at + (int64_t)body->len_bytes, NULL, e);
	fail(&why, rc, "%s: %s", d->path, strerror(-rc));
	return postpone(s, d, why.text, 0, e);
}

/* ---- a request ---- */

static int pack(const struct buf *plain, struct buf *ret_packed, struct error *e)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(GZIP_LEVEL);
	size_t bound = c != NULL ? libdeflate_gzip_compress_bound(c, plain->len_bytes) : 0;
	uint8_t *room = c != NULL ? buf_reserve(ret_packed, bound) : NULL;
	if (room != NULL)
		ret_packed->len_bytes = libdeflate_gzip_compress(c, plain->data, plain->len_bytes, room, bound);
	libdeflate_free_compressor(c);
	return ret_packed->len_bytes > 0 ? 0 : fail(e, -ENOMEM, "out of memory");
}

/* One that a server will never take goes into the directory for those first. */
static int lay_out(const struct destination *d, const struct publish_record *r, const char *why, struct error *e)
{
	const char *id = json_text(r->json, "id", "");
	char *clean = utf8_clean(id, strlen(id)); /* a user's word */
	fprintf(stderr, "mpitrace publish: %s: takes no record like %.255s: %s\n", d->name, clean != NULL ? clean : "",
		why);
	free(clean);
	return d->dead_letters != NULL ? dead_letter(d->dead_letters, d->name, r, why, e) : 0;
}

static int apply_fates(struct state *s, const struct destination *d, const struct batch *b, struct publish_fate *fates,
		       struct error *e)
{
	struct error cannot = {""};
	const char *why = NULL;
	for (size_t i = 0; i < b->records.n; i++) {
		http_clean(d, fates[i].why, sizeof(fates[i].why));
		if (fates[i].what == FATE_REFUSED && lay_out(d, &b->records.at[i], fates[i].why, &cannot) < 0) {
			fates[i].what = FATE_LATER;
			snprintf(fates[i].why, sizeof(fates[i].why), "%s", cannot.text);
		}
		if (fates[i].what == FATE_LATER && why == NULL)
			why = fates[i].why;
	}
	int rc = state_apply(s, d, b, fates, e);
	return rc == 0 && why != NULL ? postpone(s, d, why, 0, e) : rc;
}

static int took(struct state *s, const struct destination *d, const struct batch *b, const struct http_answer *a,
		const struct totals *totals, struct error *e)
{
	if (d->kind->fates == NULL)
		return state_arrived(s, d, b, -1, totals, e);
	struct publish_fate *fates = calloc(b->records.n, sizeof(*fates));
	if (fates == NULL)
		return fail(e, -ENOMEM, "out of memory");
	int rc = d->kind->fates(a->body, b->records.n, fates);
	rc = rc < 0 ? postpone(s, d, "the answer does not give the result of each record", 0, e)
		    : apply_fates(s, d, b, fates, e);
	free(fates);
	return rc;
}

static int refused(struct state *s, const struct destination *d, const struct batch *b, const char *why,
		   struct error *e)
{
	struct error cannot = {""};
	if (lay_out(d, &b->records.at[0], why, &cannot) < 0)
		return postpone(s, d, cannot.text, 0, e);
	return state_bury(s, d, b, why, e);
}

/* Nobody can tell whether this record is at fault, or the server. When it was refused three times, with others that
 * arrived between, it is the record. */
static int doubtful(struct state *s, const struct destination *d, const struct batch *b, const struct http_answer *a,
		    struct error *e)
{
	int64_t tries = 0;
	int rc = state_aside(s, d, b, &tries, e);
	if (rc == 0 && tries >= REFUSED_MOST)
		return refused(s, d, b, a->text, e);
	return rc == 0 ? postpone(s, d, a->text, a->retry_after_s, e) : rc;
}

static int handle_answer(struct state *s, const struct destination *d, const struct batch *b,
			 const struct http_answer *a, const struct totals *totals, struct error *e)
{
	bool content = a->status == 400 || a->status == 413 || a->status == 422;
	struct state_counts c = {0};
	int rc = 0;
	if (a->status >= 200 && a->status < 300)
		return took(s, d, b, a, totals, e);
	if (a->status == 500)
		rc = state_counts(s, d, &c, e);
	bool doubt = a->status == 500 && (c.failures >= DOUBTS || b->number < 0); /* aside: it was in doubt before */
	if (rc == 0 && (content || doubt) && b->records.n > 1)
		return state_split(s, d, b, e);
	if (content)
		return refused(s, d, b, a->text, e);
	if (rc == 0 && doubt)
		return doubtful(s, d, b, a, e);
	return rc == 0 ? postpone(s, d, a->text, a->retry_after_s, e) : rc;
}

static int request(struct state *s, const struct destination *d, struct link *l, const struct publish_batch *p,
		   const struct batch *b, const struct buf *plain, struct error *e)
{
	_cleanup_buf_ struct buf packed = {0}, url = {0}, lines = {0};
	struct http_answer a = {0};
	const struct buf *body = d->gzip ? &packed : plain;
	int rc = d->gzip ? pack(plain, &packed, e) : 0;
	d->kind->url(d, &url);
	buf_u8(&url, 0);
	buf_printf(&lines, "Content-Type: %s\n%s", d->kind->content_type, d->gzip ? "Content-Encoding: gzip\n" : "");
	if (rc == 0 && d->kind->headers != NULL)
		rc = d->kind->headers(d, p, body, &lines, e);
	buf_u8(&lines, 0);
	if (rc == 0 && (buf_failed(&url) || buf_failed(&lines)))
		rc = fail(e, -ENOMEM, "out of memory");
	state_turn_end();
	if (rc == 0)
		rc = http_send(l->http, (const char *)url.data, (const char *)lines.data, body, &a, e);
	state_turn_begin();
	if (lines.data != NULL)
		explicit_bzero(lines.data, lines.cap_bytes);
	return rc == 0 ? handle_answer(s, d, b, &a, p->totals, e) : rc;
}

static int store(struct state *s, const struct destination *d, struct link *l, const struct publish_batch *p,
		 const struct batch *b, const struct buf *body, struct error *e)
{
	struct http_answer a = {0};
	state_turn_end();
	d->kind->store->put(l->store, d, p, body, &a);
	state_turn_begin();
	return handle_answer(s, d, b, &a, p->totals, e);
}

/* ---- a batch ---- */

/* The sums with this batch in them. A step counts once, however often a record of it comes. */
static int add_up(struct state *s, const struct destination *d, const struct batch *b, struct totals *ret_totals,
		  struct error *e)
{
	int rc = state_totals_read(s, d, ret_totals, e);
	for (size_t i = 0; i < b->records.n && rc == 0; i++)
		if (!b->records.at[i].again && d->kind->add(&b->records.at[i], ret_totals) < 0)
			rc = fail(e, -ENOMEM, "out of memory");
	return rc;
}

static int encode(struct state *s, const struct destination *d, const struct batch *b, struct totals *totals,
		  struct publish_batch *ret_p, struct buf *ret_body, struct error *e)
{
	int rc = d->kind->add != NULL ? add_up(s, d, b, totals, e) : 0;
	*ret_p = (struct publish_batch){b->name, b->records.at, b->records.n, d->kind->add != NULL ? totals : NULL};
	if (rc == 0)
		(d->kind->append != NULL ? d->kind->append : d->kind->encode)(ret_p, ret_body);
	return rc == 0 && buf_failed(ret_body) ? fail(e, -ENOMEM, "out of memory") : rc;
}

/* 1: not now. */
static int send_one(struct state *s, const struct destination *d, struct link *l, const struct batch *b,
		    struct error *e)
{
	_cleanup_buf_ struct buf body = {0};
	struct totals totals = {0};
	struct publish_batch p;
	int rc = encode(s, d, b, &totals, &p, &body, e);
	if (rc == 0)
		rc = d->kind->append != NULL  ? append(s, d, b, &body, e)
		     : d->kind->store != NULL ? store(s, d, l, &p, b, &body, e)
					      : request(s, d, l, &p, b, &body, e);
	totals_done(&totals);
	return rc;
}

static int send_all(struct state *s, const struct destination *d, struct link *l, const volatile sig_atomic_t *stop,
		    struct error *e)
{
	struct state_counts c;
	int rc = state_counts(s, d, &c, e);
	if (rc == 0 && c.next > (int64_t)time(NULL))
		return 0;
	while (rc == 0 && !*stop) {
		struct batch b = {0};
		rc = state_batch(s, d, &b, e);
		size_t n = b.records.n;
		if (rc == 0 && n > 0)
			rc = send_one(s, d, l, &b, e);
		batch_done(&b);
		if (n == 0)
			break;
	}
	return rc == 1 ? 0 : rc;
}

int publish_send(struct state *s, const struct destination *d, struct link *l, const volatile sig_atomic_t *stop,
		 struct error *e)
{
	state_turn_begin();
	int rc = send_all(s, d, l, stop, e);
	state_turn_end();
	return rc;
}

int publish_show(struct state *s, const struct destination *d, FILE *to, struct error *e)
{
	_cleanup_buf_ struct buf body = {0};
	struct totals totals = {0};
	struct publish_batch p;
	struct batch b = {0};
	int rc = state_batch(s, d, &b, e);
	if (rc == 0 && b.records.n > 0)
		rc = encode(s, d, &b, &totals, &p, &body, e);
	if (rc == 0)
		fprintf(to, "# %s: %s in the next batch\n%.*s\n", d->name,
			fmt_plain(fmt_many((double)b.records.n, "record")).s, (int)body.len_bytes,
			body.data != NULL ? (const char *)body.data : "");
	totals_done(&totals);
	batch_done(&b);
	return rc;
}

int publish_reach(const struct destination *d, struct link *l, char ret_text[256])
{
	struct http_answer a = {0};
	struct error e = {""};
	if (d->kind->append != NULL) {
		int fd = open(d->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640), rc = -errno;
		snprintf(ret_text, 256, "%s", fd >= 0 ? "can be written" : strerror(errno));
		if (fd >= 0)
			close(fd);
		return fd >= 0 ? 0 : rc;
	}
	int rc = link_reach(d, l, &a, &e);
	snprintf(ret_text, 256, "%.255s", rc < 0 ? e.text : a.status == 200 ? "can be reached" : a.text);
	return rc < 0 ? rc : a.status == 200 ? 0 : -EIO;
}
