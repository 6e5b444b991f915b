/* out.c - see out.h. */
#include "reports/export/out.h"
#include "base/csv.h"
#include "base/decimal.h"
#include "base/json_quote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int out_over(struct out *o, int fd, const char *path, struct error *e)
{
	*o = (struct out){.fd = fd, .at = malloc(OUT_ROOM), .path = strdup(path)};
	if (o->at != NULL && o->path != NULL)
		return 0;
	out_abandon(o, false);
	return fail(e, -ENOMEM, "%s: out of memory", path);
}

int out_open(struct out *o, const char *path, struct error *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		int code = -errno;
		return fail(e, code, "%s: cannot create: %s", path, strerror(-code));
	}
	int rc = out_over(o, fd, path, e);
	if (rc < 0)
		close(fd);
	return rc;
}

void out_abandon(struct out *o, bool own)
{
	if (own && o->at != NULL)
		close(o->fd);
	free(o->at);
	free(o->path);
	*o = (struct out){0};
}

static void put(struct out *o, const char *data, size_t len_bytes)
{
	while (len_bytes > 0 && o->code == 0) {
		ssize_t n = write(o->fd, data, len_bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			o->code = -errno;
			return;
		}
		data += n;
		len_bytes -= (size_t)n;
		o->written += (uint64_t)n;
	}
}

void out_flush(struct out *o)
{
	put(o, o->at, o->n);
	o->n = 0;
}

int out_close(struct out *o, bool own, struct error *e)
{
	int code;
	out_flush(o);
	code = o->code;
	if (own && code == 0 && fsync(o->fd) != 0 && errno != EINVAL)
		code = -errno;
	if (code < 0)
		fail(e, code, "%s: cannot write: %s; nothing was left behind", o->path, strerror(-code));
	out_abandon(o, own);
	return code;
}

void out_long(struct out *o, const void *data, size_t len_bytes)
{
	out_flush(o);
	put(o, data, len_bytes);
}

/* How many digits: of bits b there are b * log10(2), or one more. */
static unsigned digits_of(uint64_t value)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1), n = bits * 1233 >> 12;
	return n + ((value | 1) >= powers_of_ten[n]);
}

void out_u64(struct out *o, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char *end = out_room(o, OUT_ITEM_MAX);
	unsigned n = digits_of(value);
	for (end += n; value >= 100; value /= 100)
		memcpy(end -= 2, pairs + value % 100 * 2, 2);
	if (value >= 10)
		memcpy(end - 2, pairs + value * 2, 2);
	else
		end[-1] = (char)('0' + value);
	o->n += n;
}

void out_i64(struct out *o, int64_t value)
{
	if (value < 0)
		out_char(o, '-');
	out_u64(o, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void out_us(struct out *o, int64_t ns)
{
	uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, rest = size % 1000;
	if (ns < 0)
		out_char(o, '-');
	out_u64(o, size / 1000);
	out_char(o, '.');
	out_char(o, (char)('0' + rest / 100));
	out_char(o, (char)('0' + rest / 10 % 10));
	out_char(o, (char)('0' + rest % 10));
}

void out_printf(struct out *o, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		o->code = o->code < 0 ? o->code : -ENOMEM;
		return;
	}
	out_bytes(o, text, (size_t)n);
	free(text);
}

void out_field(struct out *o, const char *text)
{
	char *cell = csv_cell(text);
	out_text(o, cell != NULL ? cell : "?");
	free(cell);
}

void out_json(struct out *o, const char *text)
{
	_cleanup_buf_ struct buf quoted = {0};
	json_quote(&quoted, text);
	if (buf_failed(&quoted))
		out_text(o, "null");
	else
		out_bytes(o, quoted.data, quoted.len_bytes);
}
