/* carried.c - see carried.h. */
#include "reports/html/carried.h"

#include "base/buf_file.h"
#include "format/pack.h"
#include "reports/html/html.h"
#include "reports/html/style.h"

#include <errno.h>
#include <string.h>

#define PACKING 9
#define VIEWER_BYTES_MAX (8u << 20)
#define ELEMENT_BYTES 512 /* at most, of what stands around each text */
#define HEAD_BYTES 4096	  /* within which a page has its policy */

#define BASE64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* The sources of one directive of a page's policy: hashes and nothing else. */
static bool read_hashes(const char *head, const char *directive, char ret[CARRIED_POLICY])
{
	const char *from = strstr(head, directive);
	if (from == NULL)
		return false;
	from += strlen(directive);
	size_t len = strspn(from, BASE64 "='- ");
	if (len == 0 || len >= CARRIED_POLICY || from[len] != ';' || strncmp(from, "'sha256-", 8) != 0)
		return false;
	memcpy(ret, from, len);
	ret[len] = '\0';
	return true;
}

static bool read_policy(struct carried *c, const struct buf *page)
{
	char head[HEAD_BYTES + 1];
	size_t len = page->len_bytes < HEAD_BYTES ? page->len_bytes : HEAD_BYTES;
	memcpy(head, page->data, len);
	head[len] = '\0';
	return read_hashes(head, "script-src ", c->scripts) && read_hashes(head, "style-src ", c->styles);
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

int carried_load(struct carried *c, const char *viewer, const char *trace, size_t bytes_max)
{
	*c = (struct carried){0};
	if (viewer == NULL || trace == NULL)
		return -ENOENT;
	c->name = basename_of(trace);
	int r = buf_file(&c->trace, trace, bytes_max);
	if (r == 0)
		r = c->trace.len_bytes > 0 ? load_viewer(c, viewer) : -ENOENT;
	if (r < 0)
		carried_done(c);
	return r;
}

void carried_done(struct carried *c)
{
	buf_done(&c->viewer);
	buf_done(&c->trace);
}

static size_t base64_bytes(size_t len)
{
	return (len + 2) / 3 * 4;
}

size_t carried_bytes(const struct carried *c)
{
	return base64_bytes(c->viewer.len_bytes) + base64_bytes(c->trace.len_bytes) + 2 * ELEMENT_BYTES +
	       strlen(html_open);
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

void carried_write(struct page *p)
{
	const struct carried *c = p->model->carried;
	put(p, "<script type=\"text/plain\" id=\"carried-viewer\">");
	put_base64(p->out, &c->viewer);
	put(p, "</script>\n<script type=\"text/plain\" id=\"carried-trace\" data-name=\"");
	put_text(p, c->name, NAME_CHARS);
	put(p, "\">");
	put_base64(p->out, &c->trace);
	put(p, "</script>\n<script>%s</script>\n", html_open);
}
