/* load.c - the analysis of one run.
 * In: an .mpix, or what `mpitrace analyze --json` prints.  Out: the object, if it is one. */
#include "postproc/compare/compare.h"

#include "base/buf_file.h"
#include "base/json.h"
#include "base/regular.h"
#include "format/mpix.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ANALYSIS_SCHEMA "mpitrace/analysis/1"

#define HEAD_BYTES 64u

/* Does the file begin as JSON does? An .mpix never begins so. What was read is in head. */
static int read_head(int fd, struct buf *head, bool *ret_object)
{
	uint8_t *room = buf_reserve(head, HEAD_BYTES);
	ssize_t n = room != NULL ? read(fd, room, HEAD_BYTES) : 0;
	size_t at = 0;
	if (room == NULL || n < 0)
		return room == NULL ? -ENOMEM : -errno;
	head->len_bytes = (size_t)n;
	while (at < head->len_bytes && strchr(" \t\n\r", head->data[at]) != NULL && head->data[at] != '\0')
		at++;
	*ret_object = at < head->len_bytes && head->data[at] == '{';
	return 0;
}

static int load_json(int fd, struct buf *text, const char *path, cJSON **ret_analysis, struct error *e)
{
	int code = buf_read(text, fd, MPIX_ANALYSIS_RAW_MAX);
	buf_u8(text, '\0');
	if (code == -E2BIG)
		return fail(e, code, "%s: over the limit of %u bytes", path, MPIX_ANALYSIS_RAW_MAX);
	if (code == 0 && buf_failed(text))
		code = -ENOMEM;
	if (code < 0)
		return fail(e, code, "%s: cannot be read: %s", path, strerror(-code));
	*ret_analysis = cJSON_Parse((const char *)text->data);
	return 0;
}

static int load_mpix(const char *path, cJSON **ret_analysis, struct error *e)
{
	struct mpix_file *f;
	int code = mpix_open(path, &f, e);
	if (code < 0)
		return code;
	*ret_analysis = cJSON_Parse(mpix_analysis(f));
	mpix_close(f);
	return 0;
}

static int load(const char *path, cJSON **ret_analysis, struct error *e)
{
	_cleanup_buf_ struct buf head = {0};
	bool object = false;
	int fd = regular_open(path, e);
	if (fd < 0)
		return fd;
	int code = read_head(fd, &head, &object);
	if (code < 0)
		fail(e, code, "%s: %s", path, strerror(-code));
	else if (object)
		code = load_json(fd, &head, path, ret_analysis, e);
	close(fd);
	return code < 0 || object ? code : load_mpix(path, ret_analysis, e);
}

int compare_load(const char *path, struct compare_run *ret_run, struct error *e)
{
	cJSON *analysis = NULL;
	int code = load(path, &analysis, e);
	if (code < 0)
		return code;
	double ranks = json_number(json_item(analysis, "job"), "ranks");
	if (strcmp(json_text(analysis, "schema", ""), ANALYSIS_SCHEMA) != 0 || !(ranks >= 1 && ranks <= RANKS_MAX)) {
		cJSON_Delete(analysis);
		return fail(e, -EBADMSG,
			    "%s: no analysis of a run; give an .mpix, or what `mpitrace analyze --json` prints", path);
	}
	*ret_run = (struct compare_run){.path = path, .analysis = analysis, .ranks = ranks};
	return 0;
}
