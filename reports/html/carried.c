/* carried.c - see carried.h. */
#include "reports/html/carried.h"

#include "base/buf_file.h"
#include "base/path.h"
#include "format/pack.h"
#include "reports/html/html.h"
#include "reports/html/style.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PACKING 9
#define VIEWER_BYTES_MAX (8u << 20)
#define RANGE_BYTES 32	  /* at most, of the words that say where a range is */
#define ELEMENT_BYTES 512 /* at most, of what stands around each text */
#define HEAD_BYTES 4096	  /* within which a page has its policy */

#define BASE64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* A hash, or that the reader of chunks may be compiled. */
static bool source_is_allowed(const char *source, size_t len)
{
	static const char hash[] = "'sha256-", reader[] = "'wasm-unsafe-eval'";
	if (len == sizeof(reader) - 1 && strncmp(source, reader, len) == 0)
		return true;
	size_t begin = sizeof(hash) - 1;
	return len > begin && strncmp(source, hash, begin) == 0 &&
	       begin + strspn(source + begin, BASE64 "=") == len - 1 && source[len - 1] == '\'';
}

/* The sources of one directive of a page's policy, all of which are allowed. */
static bool read_sources(const char *head, const char *directive, char ret[CARRIED_POLICY])
{
	const char *from = strstr(head, directive);
	if (from == NULL)
		return false;
	from += strlen(directive);
	size_t len = strcspn(from, ";"), at = 0;
	if (from[len] != ';' || len >= CARRIED_POLICY)
		return false;
	while (at < len) {
		size_t of_one = strcspn(from + at, " ;");
		if (!source_is_allowed(from + at, of_one))
			return false;
		at += of_one + 1;
	}
	memcpy(ret, from, len);
	ret[len] = '\0';
	return len > 0;
}

static bool read_policy(struct carried *c, const struct buf *page)
{
	char head[HEAD_BYTES + 1];
	size_t len = page->len_bytes < HEAD_BYTES ? page->len_bytes : HEAD_BYTES;
	memcpy(head, page->data, len);
	head[len] = '\0';
	return read_sources(head, "script-src ", c->scripts) && read_sources(head, "style-src ", c->styles);
}

static int load_viewer(struct carried *c, const char *path)
{
	struct libdeflate_compressor *packer = NULL;
	struct error e;
	_cleanup_buf_ struct buf page = {0};
	int r = buf_file(&page, path, VIEWER_BYTES_MAX);
	if (r == 0 && (page.len_bytes == 0 || !read_policy(c, &page)))
		r = -EBADMSG;
	if (r == 0)
		r = pack_deflate(&packer, &c->viewer, page.data, page.len_bytes, PACKING, &e);
	pack_done(&packer);
	return r == -E2BIG ? -EBADMSG : r;
}

int carried_load(struct carried *c, const char *viewer, const char *trace)
{
	struct stat st;
	*c = (struct carried){0};
	if (viewer == NULL || trace == NULL || stat(trace, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return -ENOENT;
	c->path = trace;
	c->name = basename_of(trace);
	c->bytes = (uint64_t)st.st_size;
	return load_viewer(c, viewer);
}

void carried_done(struct carried *c)
{
	buf_done(&c->viewer);
	buf_done(&c->trace);
	free(c->ranges);
	c->ranges = NULL;
}

static size_t base64_bytes(size_t len)
{
	return (len + 2) / 3 * 4;
}

static size_t carried_bytes(const struct carried *c)
{
	return base64_bytes(c->viewer.len_bytes) + base64_bytes(c->trace.len_bytes) + c->nranges * RANGE_BYTES +
	       2 * ELEMENT_BYTES + strlen(html_open);
}

/* ---- a part of a trace ---- */

/* What is seen of each place, of all ranks if there is room; then around the first one. */
static void choose_places(struct mpix_excerpt *x, const struct places *places)
{
	double from_ns, to_ns, around_ns = 0;
	for (size_t i = 0; i < places->n; i++) {
		uint32_t first, last;
		place_view(&places->at[i], &from_ns, &to_ns);
		place_ranks(&places->at[i], &first, &last);
		if (!mpix_excerpt_add(x, (int64_t)from_ns, (int64_t)to_ns, 0, UINT32_MAX))
			mpix_excerpt_add(x, (int64_t)from_ns, (int64_t)to_ns, first, last);
		around_ns = i == 0 ? from_ns : around_ns;
	}
	mpix_excerpt_fill(x, (int64_t)around_ns);
}

static int take_part(struct carried *c, const struct places *places, size_t bytes_max)
{
	struct error e;
	struct mpix_file *f = NULL;
	struct mpix_excerpt *x = NULL;
	int r = mpix_open(c->path, &f, &e);
	if (r == 0)
		r = mpix_excerpt_new(f, bytes_max, &x);
	if (r == 0) {
		choose_places(x, places);
		r = mpix_excerpt_read(x, &c->trace, &c->ranges, &c->nranges);
	}
	mpix_excerpt_free(x);
	mpix_close(f);
	return r;
}

int carried_take(struct carried *c, const struct places *places, size_t bytes_max)
{
	size_t others = carried_bytes(c), room = bytes_max > others ? (bytes_max - others) / 4 * 3 : 0;
	if (c->bytes <= room)
		return buf_file(&c->trace, c->path, room);
	/* a range a chunk, at most: each takes some characters of the page as well */
	int r = take_part(c, places, room);
	if (r == 0 && carried_bytes(c) > bytes_max) {
		size_t ranges = c->nranges * RANGE_BYTES;
		buf_done(&c->trace);
		free(c->ranges);
		c->ranges = NULL;
		c->nranges = 0;
		r = room > ranges ? take_part(c, places, room - ranges) : -E2BIG;
	}
	return r;
}

static void put_base64(FILE *out, const struct buf *b)
{
	for (size_t i = 0; i < b->len_bytes; i += 3) {
		const uint8_t *d = b->data + i;
		size_t n = b->len_bytes - i;
		uint32_t three = (uint32_t)d[0] << 16 | (n > 1 ? (uint32_t)d[1] << 8 : 0) | (n > 2 ? d[2] : 0);
		char four[4] = {BASE64[three >> 18], BASE64[three >> 12 & 63], n > 1 ? BASE64[three >> 6 & 63] : '=',
				n > 2 ? BASE64[three & 63] : '='};
		fwrite(four, 1, sizeof(four), out);
	}
}

/* A frame that is made of what is in the page obeys the policy of the page as well as its own. */
void carried_put_policy(struct page *p)
{
	const struct carried *c = p->model->carried;
	put(p,
	    "script-src 'sha256-%s' %s; style-src 'sha256-%s' %s; img-src data:; frame-src blob:; worker-src blob:; ",
	    html_open_sha256, c->scripts, html_style_sha256, c->styles);
}

static void put_ranges(struct page *p, const struct carried *c)
{
	if (c->ranges == NULL)
		return;
	put(p, " data-bytes=\"%llu\" data-ranges=\"", (unsigned long long)c->bytes);
	for (size_t i = 0; i < c->nranges; i++)
		put(p, "%s%llu+%llu", i > 0 ? " " : "", (unsigned long long)c->ranges[i].offset,
		    (unsigned long long)c->ranges[i].bytes);
	put(p, "\"");
}

void carried_write(struct page *p)
{
	const struct carried *c = p->model->carried;
	put(p, "<script type=\"text/plain\" id=\"carried-viewer\">");
	put_base64(p->out, &c->viewer);
	put(p, "</script>\n<script type=\"text/plain\" id=\"carried-trace\" data-name=\"");
	put_text(p, c->name, NAME_CHARS);
	put(p, "\"");
	put_ranges(p, c);
	put(p, ">");
	put_base64(p->out, &c->trace);
	put(p, "</script>\n<script>%s</script>\n", html_open);
}
