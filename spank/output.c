/* output.c - see output.h. srun and slurmstepd each work it out from what they know; it must come
 * out the same. */
#include "spank/output.h"
#include "warden/spool.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESTARTS_MAX 1000000ul

/* A record is lines: a name with a line break in it would come out as another. */
static bool is_plain(const char *path)
{
	for (; *path != '\0'; path++)
		if (iscntrl((unsigned char)*path))
			return false;
	return true;
}

bool output_path(const struct request *r, const char *submit_dir, uint32_t job_id, uint32_t restart, uint32_t step_id,
		 char ret_path[PATH_MAX])
{
	char step[SPOOL_NAME_MAX], suffix[16] = "";
	const char *base = r->out[0] == '/' ? "" : submit_dir;
	if (base == NULL || (r->out[0] != '/' && base[0] != '/'))
		return false;
	spool_step_name(step_id, step);
	if (restart > 0)
		snprintf(suffix, sizeof(suffix), ".%u", restart);
	int n = snprintf(ret_path, PATH_MAX, "%s%s%s/mpitrace-%u%s/step-%s", base,
			 *base != '\0' && r->out[0] != '\0' ? "/" : "", r->out, job_id, suffix, step);
	return n < PATH_MAX && is_plain(ret_path);
}

uint32_t output_restart(const char *text)
{
	char *end;
	unsigned long count = text != NULL && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
	return count > 0 && count < RESTARTS_MAX && *end == '\0' ? (uint32_t)count : 0;
}
