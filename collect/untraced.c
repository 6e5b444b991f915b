/* untraced.c - see untraced.h. In: "<pid> <failed|silent> <why>" lines in ranks/untraced. */
#include "collect/untraced.h"

#include "format/limits.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add(struct untraced *u, bool failed, const char *why)
{
	uint32_t i = 0;
	while (i < u->n && (u->whys[i].failed != failed || strcmp(u->whys[i].why, why) != 0))
		i++;
	if (i == UNTRACED_WHYS_MAX)
		return;
	if (i == u->n) {
		for (i = failed ? 0 : u->n; i < u->n && u->whys[i].failed; i++)
			;
		memmove(&u->whys[i + 1], &u->whys[i], (u->n - i) * sizeof(u->whys[0]));
		u->n++;
		u->whys[i].processes = 0;
		u->whys[i].failed = failed;
		snprintf(u->whys[i].why, sizeof(u->whys[i].why), "%s", why);
	}
	u->whys[i].processes++;
}

void untraced_read(const char *ranks, struct untraced *ret_untraced)
{
	char path[PATH_MAX], line[UNTRACED_WHY_MAX + 64], kind[8];
	size_t read_bytes = 0;
	int at = 0;
	*ret_untraced = (struct untraced){0};
	int fd = snprintf(path, sizeof(path), "%s/untraced", ranks) < (int)sizeof(path)
			 ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			 : -1;
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	while (f != NULL && read_bytes < UNTRACED_BYTES_MAX && fgets(line, sizeof(line), f) != NULL) {
		read_bytes += strlen(line);
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%*d %7s %n", kind, &at) == 1 && (kind[0] == 'f' || kind[0] == 's'))
			add(ret_untraced, kind[0] == 'f', line + at);
	}
	if (f != NULL)
		fclose(f);
	else if (fd >= 0)
		close(fd);
}
