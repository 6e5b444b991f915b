/* locate.c - see snapshot.h. */
#include "postproc/live/snapshot.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static bool is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The entry of the directory that begins so and was changed last is put behind path; false: there is none, or no
 * room. */
static bool descend(char path[PATH_MAX], const char *prefix)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	char best[PATH_MAX] = "";
	struct timespec newest = {0};
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		struct stat st;
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0) != 0 || !S_ISDIR(st.st_mode))
			continue;
		bool newer = st.st_mtim.tv_sec > newest.tv_sec ||
			     (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec >= newest.tv_nsec);
		if (best[0] != '\0' && !newer)
			continue;
		newest = st.st_mtim;
		snprintf(best, sizeof(best), "%s", entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	size_t len = strlen(path);
	return best[0] != '\0' && snprintf(path + len, PATH_MAX - len, "/%s", best) < (int)(PATH_MAX - len);
}

static int find_job(const char *number, char ret_path[PATH_MAX], struct error *e)
{
	char prefix[64], name[64];
	snprintf(name, sizeof(name), "mpitrace-%s", number);
	snprintf(prefix, sizeof(prefix), "mpitrace-%s.", number); /* of one that was requeued */
	snprintf(ret_path, PATH_MAX, ".");
	if (descend(ret_path, prefix))
		return 0;
	snprintf(ret_path, PATH_MAX, "./%s", name);
	if (is_directory(ret_path))
		return 0;
	return fail(e, -ENOENT,
		    "job %s: no %s in this directory; go to the one the job was submitted from, or name the "
		    "job's directory",
		    number, name);
}

int find_step(const char *job_or_path, char *ret_path, struct error *e)
{
	struct stat st;
	bool number = job_or_path[0] != '\0' && strlen(job_or_path) < 20 &&
		      strspn(job_or_path, "0123456789") == strlen(job_or_path);
	if (number && stat(job_or_path, &st) != 0) {
		int code = find_job(job_or_path, ret_path, e);
		if (code < 0)
			return code;
	} else if (stat(job_or_path, &st) != 0) {
		return fail(e, -errno, "%s: %s", job_or_path, strerror(errno));
	} else if (snprintf(ret_path, PATH_MAX, "%s", job_or_path) >= PATH_MAX) {
		return fail(e, -ENAMETOOLONG, "%.64s...: name too long", job_or_path);
	}
	if (is_directory(ret_path))
		descend(ret_path, "step-");
	return 0;
}
