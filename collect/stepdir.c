/* stepdir.c - see stepdir.h. */
#include "collect/stepdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int join(char *ret_path, const char *dir, const char *name)
{
	int n = snprintf(ret_path, PATH_MAX, "%s/%s", dir, name);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int read_whole(const char *path, char **ret_text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char *text = fd >= 0 ? malloc(LAYOUT_BYTES_MAX + 1) : NULL;
	size_t used = 0;
	ssize_t n = 1;
	int code = fd < 0 ? -errno : text == NULL ? -ENOMEM : 0;
	while (code == 0 && n > 0 && used < LAYOUT_BYTES_MAX) {
		n = read(fd, text + used, LAYOUT_BYTES_MAX - used);
		if (n < 0 && errno != EINTR)
			code = -errno;
		used += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (code < 0) {
		free(text);
		return code;
	}
	text[used] = '\0';
	*ret_text = text;
	return 0;
}

int layout_read(struct layout *ret_layout, const char *stepdir, struct error *e)
{
	struct layout l = {0};
	char path[PATH_MAX], *save = NULL;
	int rc = join(path, stepdir, "layout");
	if (rc == 0)
		rc = read_whole(path, &l.text);
	if (rc < 0)
		return fail(e, rc, "%s/layout: cannot read: %s", stepdir, strerror(-rc));
	for (char *line = strtok_r(l.text, "\n", &save); line != NULL && l.n < LAYOUT_KEYS_MAX;
	     line = strtok_r(NULL, "\n", &save)) {
		char *equals = strchr(line, '=');
		if (equals == NULL)
			continue;
		*equals = '\0';
		l.keys[l.n] = line;
		l.values[l.n++] = equals + 1;
	}
	*ret_layout = l;
	return 0;
}

void layout_done(struct layout *l)
{
	free(l->text);
	*l = (struct layout){0};
}

const char *layout_get(const struct layout *l, const char *key, const char *fallback)
{
	for (unsigned i = 0; i < l->n; i++)
		if (strcmp(l->keys[i], key) == 0)
			return l->values[i];
	return fallback;
}

uint64_t layout_number(const struct layout *l, const char *key, uint64_t fallback)
{
	const char *text = layout_get(l, key, NULL);
	char *end;
	if (text == NULL || text[0] < '0' || text[0] > '9')
		return fallback;
	errno = 0;
	uint64_t value = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' ? value : fallback;
}

bool stepdir_has(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	return join(path, dir, name) == 0 && lstat(path, &st) == 0;
}

int stepdir_mark(const char *dir, const char *name)
{
	char path[PATH_MAX];
	int rc = join(path, dir, name);
	if (rc < 0)
		return rc;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}
