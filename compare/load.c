/* load.c - the analysis of one run.
 * In: an .mpix, or what `mpitrace analyze --json` prints.  Out: the object, if it is one. */
#include "compare/compare.h"

#include "base/json.h"
#include "format/mpix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANALYSIS_SCHEMA "mpitrace/analysis/1"

/* Does the file begin as JSON does? An .mpix never begins so. */
static bool begins_as_object(FILE *f)
{
	int c = fgetc(f);
	while (c == ' ' || c == '\t' || c == '\n' || c == '\r')
		c = fgetc(f);
	rewind(f);
	return c == '{';
}

static int read_text(FILE *f, char **ret_text)
{
	size_t used = 0, cap = 1 << 16;
	char *text = NULL;
	do {
		cap *= 2;
		char *grown = cap > MPIX_ANALYSIS_RAW_MAX ? NULL : realloc(text, cap);
		if (grown == NULL) {
			free(text);
			return cap > MPIX_ANALYSIS_RAW_MAX ? -EFBIG : -ENOMEM;
		}
		text = grown;
		used += fread(text + used, 1, cap - 1 - used, f);
	} while (used == cap - 1);
	text[used] = '\0';
	*ret_text = text;
	return ferror(f) ? -EIO : 0;
}

static int load_json(FILE *f, const char *path, cJSON **ret_analysis, struct error *e)
{
	char *text = NULL;
	int code = read_text(f, &text);
	if (code == 0)
		*ret_analysis = cJSON_Parse(text);
	free(text);
	return code < 0 ? fail(e, code, "%s: cannot be read: %s", path, strerror(-code)) : 0;
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
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return fail(e, -errno, "%s: %s", path, strerror(errno));
	int code = begins_as_object(f) ? load_json(f, path, ret_analysis, e) : load_mpix(path, ret_analysis, e);
	fclose(f);
	return code;
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
