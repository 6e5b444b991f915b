/* place.c - see place.h. */
#include "reports/export/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIRECTORIES 16

static int remove_one(const char *path, const struct stat *st, int what, struct FTW *where)
{
	(void)st;
	(void)what;
	(void)where;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
}

static char *parent_of(const char *path)
{
	char *copy = strdup(path), *slash;
	if (copy == NULL)
		return NULL;
	slash = strrchr(copy, '/');
	if (slash == NULL) {
		free(copy);
		return strdup(".");
	}
	slash[slash == copy] = 0; /* "/" stays */
	return copy;
}

/* Nothing there, or an empty directory. */
static bool is_free(const char *path)
{
	DIR *d = opendir(path);
	if (d == NULL)
		return errno == ENOENT;
	int n = 0;
	while (n < 3 && readdir(d) != NULL)
		n++;
	closedir(d);
	return n < 3;
}

static int make_directory(struct place *p, struct error *e)
{
	size_t n = strlen(p->path);
	while (n > 1 && p->path[n - 1] == '/')
		p->path[--n] = 0;
	if (strcmp(p->path, "-") == 0)
		return fail(e, -EINVAL,
			    "-: this format is a directory of files, not one for standard output: name it by -o DIR");
	if (!is_free(p->path))
		return fail(e, -EEXIST, "%s: is there already: name another directory, or remove it", p->path);
	if (asprintf(&p->directory, "%s.%d.tmp", p->path, (int)getpid()) < 0) {
		p->directory = NULL;
		return fail(e, -ENOMEM, "%s: out of memory", p->path);
	}
	remove_tree(p->directory); /* left by a process of the same pid that died */
	if (mkdir(p->directory, 0777) == 0)
		return 0;
	int code = -errno;
	fail(e, code, "%s: cannot create: %s", p->directory, strerror(-code));
	free(p->directory);
	p->directory = NULL;
	return code;
}

int place_open(struct place *ret_place, const char *path, bool directory, struct error *e)
{
	struct place p = {.path = strdup(path), .beside = parent_of(path)};
	int rc = p.path == NULL || p.beside == NULL ? fail(e, -ENOMEM, "%s: out of memory", path) : 0;
	if (rc == 0)
		rc = directory ? make_directory(&p, e) : atomic_file_open(&p.file, path, e);
	if (rc < 0) {
		place_abandon(&p);
		return rc;
	}
	if (p.file.stream != NULL && p.file.temporary == NULL) { /* a device: nobody wants temporary files in /dev */
		free(p.beside);
		p.beside = strdup(getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	}
	if (p.beside == NULL) {
		place_abandon(&p);
		return fail(e, -ENOMEM, "%s: out of memory", path);
	}
	*ret_place = p;
	return 0;
}

static int sync_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd >= 0 && fsync(fd) == 0 ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

static uint64_t counted;

static int count_one(const char *path, const struct stat *st, int what, struct FTW *where)
{
	(void)path;
	(void)where;
	if (what == FTW_F)
		counted += (uint64_t)st->st_size;
	return 0;
}

int place_commit(struct place *p, uint64_t *ret_bytes, struct error *e)
{
	int rc;
	struct stat st = {0};
	if (p->directory == NULL) {
		if (fstat(fileno(p->file.stream), &st) == 0)
			*ret_bytes = (uint64_t)st.st_size;
		rc = atomic_file_commit(&p->file, e);
		place_abandon(p);
		return rc;
	}
	counted = 0;
	nftw(p->directory, count_one, OPEN_DIRECTORIES, FTW_PHYS);
	*ret_bytes = counted;
	rc = sync_directory(p->directory);
	if (rc == 0 && rename(p->directory, p->path) != 0)
		rc = -errno;
	if (rc < 0)
		fail(e, rc, "%s: cannot write: %s; nothing was left behind", p->path, strerror(-rc));
	else {
		free(p->directory);
		p->directory = NULL;
	}
	place_abandon(p);
	return rc;
}

void place_abandon(struct place *p)
{
	if (p->directory != NULL)
		remove_tree(p->directory);
	atomic_file_abandon(&p->file);
	free(p->directory);
	free(p->path);
	free(p->beside);
	*p = (struct place){0};
}
