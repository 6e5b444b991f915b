/* unrecorded.c - see unrecorded.h. In: lines "<pid> failed <why>" (docs/STEPDIR.md). */
#include "spank/unrecorded.h"

#include "base/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_MS 1000u
#define WHY_MAX 512u

struct question {
	int fd;
	const struct identity *who;
};

/* The first one: whatever else there is, log.txt has it. That a library cannot be read, the task has said (task.c). */
static void answer(const void *question, int to)
{
	const struct question *q = question;
	char line[WHY_MAX + 64];
	int at = 0;
	if (!become(q->who))
		_exit(1);
	FILE *f = fdopen(q->fd, "r");
	while (f != NULL && at == 0 && fgets(line, sizeof(line), f) != NULL)
		if (strstr(line, strerror(EACCES)) == NULL)
			sscanf(line, "%*d failed %n", &at);
	line[strcspn(line, "\n")] = '\0';
	if (at > 0)
		dprintf(to, "%s", line + at);
}

bool unrecorded_why(int ranks_fd, const struct identity *who, char *ret_why, size_t cap_bytes)
{
	_cleanup_buf_ struct buf text = {0};
	struct stat st;
	int fd = openat(ranks_fd, "untraced", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct question q = {fd, who};
	bool there = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
		     ask_in_child(answer, &q, ASK_MS, WHY_MAX + 64, &text);
	if (fd >= 0)
		close(fd);
	buf_u8(&text, '\0');
	if (!there || buf_failed(&text) || text.len_bytes == 1)
		return false;
	snprintf(ret_why, cap_bytes, "%s", (const char *)text.data);
	return true;
}
