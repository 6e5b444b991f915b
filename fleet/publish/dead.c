/* dead.c - see dead.h. */
#include "fleet/publish/dead.h"

#include "base/atomic_file.h"
#include "base/buf_file.h"
#include "base/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LETTER_BYTES_MAX (1u << 20)

char *dead_text(const char *destination, const char *reason, const char *record)
{
	cJSON *o = cJSON_CreateObject();
	json_put_text(o, "destination", destination);
	json_put_text(o, "reason", reason);
	cJSON_AddItemToObject(o, "record", cJSON_Parse(record));
	char *line = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	return line;
}

int dead_letter(const char *directory, const char *destination, const struct publish_record *r, const char *reason,
		struct error *e)
{
	struct atomic_file f = {0};
	_cleanup_buf_ struct buf path = {0};
	char *text = dead_text(destination, reason, r->text);
	buf_printf(&path, "%s/", directory);
	publish_percent(&path, destination);
	buf_printf(&path, "-%lld.json", (long long)r->id);
	buf_u8(&path, 0);
	int rc = text != NULL && !buf_failed(&path) ? 0 : fail(e, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = atomic_file_open(&f, (const char *)path.data, e);
	if (rc == 0) {
		fprintf(f.stream, "%s\n", text);
		rc = atomic_file_commit(&f, e);
	}
	cJSON_free(text);
	return rc;
}

static bool is_of(int dir, const char *name, const char *user)
{
	_cleanup_buf_ struct buf text = {0};
	struct stat st;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool read = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && buf_read(&text, fd, LETTER_BYTES_MAX) == 0;
	cJSON *letter = read ? cJSON_ParseWithLength((const char *)text.data, text.len_bytes) : NULL;
	bool is = letter != NULL && strcmp(json_text(json_item(letter, "record"), "user", ""), user) == 0;
	cJSON_Delete(letter);
	if (fd >= 0)
		close(fd);
	return is;
}

int dead_forget(const char *directory, const char *user, struct error *e)
{
	DIR *d = opendir(directory);
	int rc = d != NULL || errno == ENOENT ? 0 : fail(e, -errno, "%s: %s", directory, strerror(errno));
	for (struct dirent *x; d != NULL && rc == 0 && (x = readdir(d)) != NULL;)
		if (is_of(dirfd(d), x->d_name, user) && unlinkat(dirfd(d), x->d_name, 0) != 0)
			rc = fail(e, -errno, "%s/%s: %s", directory, x->d_name, strerror(errno));
	if (d != NULL)
		closedir(d);
	return rc;
}
