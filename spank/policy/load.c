/* load.c - the files of a policy. In: mpitrace.conf and conf.d/ beside it.  Out: a policy, or why there is none.
 * Root obeys these files, so nobody else may be able to write them: file and directory are asked, by descriptor. */
#include "spank/policy/rules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct loader {
	struct policy *policy;
	struct policy_errors *errors;
	uid_t owner;
	bool may_be_missing; /* the file */
	int rc;
};

static int refuse(struct loader *l, const char *path, int code, const char *what)
{
	struct policy_errors *errors = l->errors;
	char text[ERROR_TEXT_MAX];
	snprintf(text, sizeof(text), "%.512s: %s", path, what);
	if (errors->count++ == 0)
		snprintf(errors->first.text, sizeof(errors->first.text), "%s", text);
	if (errors->say != NULL && errors->count <= POLICY_ERRORS_MAX)
		errors->say(errors->context, text);
	l->rc = l->rc != 0 ? l->rc : code;
	return code;
}

/* May we believe what is behind the descriptor? */
static bool check_owner(struct loader *l, int fd, const char *path, mode_t type)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		refuse(l, path, -errno, strerror(errno));
	else if ((st.st_mode & S_IFMT) != type)
		refuse(l, path, -EPERM, type == S_IFDIR ? "is not a directory" : "is not a regular file");
	else if (st.st_uid != 0 && st.st_uid != l->owner)
		refuse(l, path, -EPERM, "does not belong to root: chown root");
	else if ((st.st_mode & 022) != 0)
		refuse(l, path, -EPERM, "others than root may write it: chmod go-w");
	else
		return true;
	return false;
}

static void read_text(struct loader *l, int fd, const char *path)
{
	size_t used = 0, cap = POLICY_FILE_BYTES_MAX + 1;
	char *text = malloc(cap);
	ssize_t n = 1;
	while (text != NULL && n > 0 && used < cap) {
		n = read(fd, text + used, cap - used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (text == NULL || n < 0) {
		refuse(l, path, text == NULL ? -ENOMEM : -errno, strerror(text == NULL ? ENOMEM : errno));
	} else {
		int rc = policy_add_text(l->policy, path, text, used, l->errors);
		l->rc = l->rc != 0 ? l->rc : rc;
	}
	free(text);
}

/* What could not be opened is fine if it may be missing, and is: a link to nothing is something. */
static void miss(struct loader *l, int dir_fd, const char *name, const char *path, bool may_be_missing)
{
	struct stat st;
	int why = errno;
	if (why == ENOENT && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		refuse(l, path, -ENOENT, "is a link to what is not there");
	else if (why != ENOENT || !may_be_missing)
		refuse(l, path, -why, strerror(why));
}

static void read_file(struct loader *l, int dir_fd, const char *name, const char *path, bool may_be_missing)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		miss(l, dir_fd, name, path, may_be_missing);
		return;
	}
	if (check_owner(l, fd, path, S_IFREG))
		read_text(l, fd, path);
	close(fd);
}

static int is_conf(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);
	return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".conf") == 0;
}

/* Bytewise, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_names(struct loader *l, int fd, const char *path)
{
	struct dirent **names = NULL;
	char whole[PATH_MAX];
	int n = scandirat(fd, ".", &names, is_conf, by_name);
	if (n < 0)
		refuse(l, path, -errno, strerror(errno));
	if (n > (int)POLICY_FILES_MAX)
		refuse(l, path, -E2BIG, "holds too many files");
	for (int i = 0; i < n; i++) {
		snprintf(whole, sizeof(whole), "%.2048s/%s", path, names[i]->d_name);
		if (n <= (int)POLICY_FILES_MAX)
			read_file(l, fd, names[i]->d_name, whole, false);
		free(names[i]);
	}
	free(names);
}

static void read_drop_ins(struct loader *l, int dir_fd, const char *dir)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%.2000s/conf.d", dir);
	int fd = openat(dir_fd, "conf.d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		miss(l, dir_fd, "conf.d", path, true);
		return;
	}
	if (check_owner(l, fd, path, S_IFDIR))
		read_names(l, fd, path);
	close(fd);
}

static void read_all(struct loader *l, const char *file)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(file, '/');
	if (slash == NULL || strlen(file) >= sizeof(dir)) {
		refuse(l, file, -EINVAL, "must be an absolute path");
		return;
	}
	snprintf(dir, sizeof(dir), "%.*s", slash == file ? 1 : (int)(slash - file), file);
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0) {
		miss(l, AT_FDCWD, dir, dir, l->may_be_missing);
		return;
	}
	if (check_owner(l, dir_fd, dir, S_IFDIR)) {
		read_file(l, dir_fd, slash + 1, file, l->may_be_missing);
		read_drop_ins(l, dir_fd, dir);
	}
	close(dir_fd);
}

const char *policy_path(const char *file)
{
	return file[0] != '\0' ? file : POLICY_FILE;
}

int policy_load(const char *file, uid_t owner, struct policy **ret_policy, struct policy_errors *errors)
{
	struct loader l = {.policy = policy_new(), .errors = errors, .owner = owner, .may_be_missing = file[0] == '\0'};
	if (l.policy == NULL)
		return fail(&errors->first, -ENOMEM, "out of memory");
	read_all(&l, policy_path(file));
	if (l.rc == 0)
		l.rc = policy_check(l.policy, errors);
	if (l.rc < 0)
		policy_free(l.policy);
	else
		*ret_policy = l.policy;
	return l.rc;
}
