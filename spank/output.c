/* output.c - see output.h. srun and slurmstepd each work it out from what they know; it must come
 * out the same. */
#include "spank/output.h"
#include "spank/policy/policy.h"
#include "spank/warden/spool.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESTARTS_MAX 1000000ul

/* A record is lines: a name with a line break in it would come out as another. */
static int check(int len, const char *path, struct error *e)
{
	if (len >= PATH_MAX)
		return fail(e, -ENAMETOOLONG, "its name is too long: more than %d bytes", PATH_MAX - 1);
	for (; *path != '\0'; path++)
		if (iscntrl((unsigned char)*path))
			return fail(e, -EINVAL, "its name has a line break or another control character in it");
	return 0;
}

/* The site's directory with the step in its places. */
static int site_path(const char *base, const char *place, const char *step, char ret_path[PATH_MAX])
{
	int n = snprintf(ret_path, PATH_MAX, "%s%s", base, *base != '\0' ? "/" : "");
	for (; n < PATH_MAX && *place != '\0'; place++)
		n += *place == POLICY_STEP_MARK ? snprintf(ret_path + n, PATH_MAX - (size_t)n, "%s", step)
						: snprintf(ret_path + n, PATH_MAX - (size_t)n, "%c", *place);
	return n;
}

int output_path(const struct request *r, const char *submit_dir, uint32_t job_id, uint32_t restart, uint32_t step_id,
		char ret_path[PATH_MAX], struct error *e)
{
	char step[SPOOL_NAME_MAX], suffix[16] = "";
	const char *out = r->site.place[0] != '\0' ? r->site.place : r->out;
	const char *base = out[0] == '/' ? "" : submit_dir;
	if (base == NULL)
		return fail(e, -ENOENT, "the directory that the job was submitted from is not known there");
	if (out[0] != '/' && base[0] != '/')
		return fail(e, -EINVAL, "the directory that the job was submitted from is not absolute: %s", base);
	spool_step_name(step_id, step);
	if (out == r->site.place)
		return check(site_path(base, out, step, ret_path), ret_path, e);
	if (restart > 0)
		snprintf(suffix, sizeof(suffix), ".%u", restart);
	int n = snprintf(ret_path, PATH_MAX, "%s%s%s/mpitrace-%u%s/step-%s", base,
			 *base != '\0' && out[0] != '\0' ? "/" : "", out, job_id, suffix, step);
	return check(n, ret_path, e);
}

uint32_t output_restart(const char *text)
{
	char *end;
	unsigned long count = text != NULL && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
	return count > 0 && count < RESTARTS_MAX && *end == '\0' ? (uint32_t)count : 0;
}
