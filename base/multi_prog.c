/* multi_prog.c - see multi_prog.h. In: a user's text, "RANKS PROGRAM [ARGUMENT ...]" a line, RANKS as in 0-3,7 or * for
 * all (srun(1)).  Out: a name. Each byte is looked at a bounded number of times. */
#include "base/multi_prog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\f\v"
#define BY_SLURM "%\"'\\" /* in a name: what stands there is not what runs */

/* A number, and what stands behind it. */
static bool read_number(const char **at, unsigned long *ret_number)
{
	char *end;
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret_number = strtoul(*at, &end, 10);
	*at = end;
	return errno == 0;
}

/* "0-3,7". */
static bool has_task(const char *ranks, size_t len, uint32_t task)
{
	const char *at = ranks, *end = ranks + len;
	unsigned long low, high;
	if (len == 1 && *ranks == '*')
		return true;
	for (bool more = true; more; at++) {
		if (!read_number(&at, &low))
			return false;
		high = low;
		if (*at == '-' && (at++, !read_number(&at, &high)))
			return false;
		if (at > end || (at < end && *at != ','))
			return false;
		if (low <= task && task <= high)
			return true;
		more = at < end;
	}
	return false;
}

/* The lines that a line goes on in are part of it. */
static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');
	while (end != NULL && end > line && end[-1] == '\\')
		end = strchr(end + 1, '\n');
	return end != NULL ? end + 1 : line + strlen(line);
}

bool multi_prog_program(const char *text, uint32_t task, char *ret_name, size_t cap_bytes)
{
	for (const char *line = text; *line != '\0'; line = next_line(line)) {
		const char *ranks = line + strspn(line, BLANKS);
		size_t n = strcspn(ranks, BLANKS "\n");
		const char *name = ranks + n + strspn(ranks + n, BLANKS);
		size_t len = strcspn(name, BLANKS "\n");
		if (*ranks == '#' || n == 0 || !has_task(ranks, n, task))
			continue;
		if (len == 0 || len >= cap_bytes || strcspn(name, BY_SLURM) < len)
			return false;
		memcpy(ret_name, name, len);
		ret_name[len] = '\0';
		return true;
	}
	return false;
}
