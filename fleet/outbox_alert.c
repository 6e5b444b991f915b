/* outbox_alert.c - alerts in an outbox, see outbox.h: as many as there are names for. A name that somebody else took is
 * passed over. */
#include "fleet/outbox.h"
#include "fleet/outbox_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DAY_BYTES 9 /* 20261126 */
#define SECONDS_PER_DAY 86400
#define NAME_ROOM 200
#define WHO_ROOM 130

static void day_of(time_t t, char ret_day[DAY_BYTES])
{
	struct tm tm;
	if (gmtime_r(&t, &tm) == NULL || strftime(ret_day, DAY_BYTES, "%Y%m%d", &tm) == 0)
		ret_day[0] = '\0';
}

static void make_name(const char *day, const char *who, unsigned number, const char *suffix, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, "alert-%s-%s-%u%s", day, who, number, suffix);
}

/* "n" and the node's name, with nothing in it that a name of a file cannot have. */
static void node_part(const char *node, char who[WHO_ROOM])
{
	size_t n = 0;
	who[n++] = 'n';
	for (; *node != '\0' && n + 1 < WHO_ROOM; node++)
		who[n++] = (char)(isalnum((unsigned char)*node) || strchr("._-", *node) != NULL ? *node : '_');
	who[n] = '\0';
}

/* An empty file that says that the node has left one more; ret_name: which. */
static int claim_node(int dir_fd, const char *day, const char *node, char ret_name[NAME_ROOM])
{
	char who[WHO_ROOM];
	node_part(node, who);
	for (unsigned i = 0; i < OUTBOX_ALERTS_NODE; i++) {
		make_name(day, who, i, OUTBOX_SLOT_SUFFIX, ret_name);
		int fd = openat(dir_fd, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
		if (fd >= 0)
			close(fd);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? 0 : -errno;
	}
	return -EDQUOT;
}

/* The file `temporary` gets the first name that is free. */
static int name_alert(int dir_fd, const char *day, const char *temporary)
{
	char name[NAME_ROOM], who[24];
	snprintf(who, sizeof(who), "u%u", (unsigned)geteuid());
	for (unsigned i = 0; i < OUTBOX_ALERTS_USER; i++) {
		make_name(day, who, i, OUTBOX_ALERT_SUFFIX, name);
		if (linkat(dir_fd, temporary, dir_fd, name, 0) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EDQUOT;
}

int outbox_put_alert(int dir_fd, const char *node, const char *text, struct error *e)
{
	char day[DAY_BYTES], slot[NAME_ROOM], temporary[NAME_ROOM];
	if (geteuid() == 0)
		return fail(e, -EPERM, "root's own steps leave no alert: root writes nothing where others may");
	day_of(time(NULL), day);
	int rc = claim_node(dir_fd, day, node, slot);
	if (rc < 0)
		return fail(e, rc, "outbox: %s",
			    rc == -EDQUOT ? "this node has left its alerts of today" : strerror(-rc));
	snprintf(temporary, sizeof(temporary), ".alert-%016llx.tmp", (unsigned long long)outbox_random());
	rc = outbox_write(dir_fd, temporary, text);
	if (rc == 0)
		rc = name_alert(dir_fd, day, temporary);
	if (rc != -EEXIST) /* somebody else's, under our name */
		unlinkat(dir_fd, temporary, 0);
	if (rc == 0)
		return 0;
	unlinkat(dir_fd, slot, 0);
	return fail(e, rc, "outbox: %s", rc == -EDQUOT ? "this user has left the alerts of today" : strerror(-rc));
}

/* Is it that day, or one so near that clocks or time may have moved? */
static bool is_near(const char *day, time_t now)
{
	char near[DAY_BYTES];
	for (int d = -1; d <= OUTBOX_ALERT_DAYS; d++) {
		day_of(now - d * SECONDS_PER_DAY, near);
		if (strcmp(near, day) == 0)
			return true;
	}
	return false;
}

bool outbox_is_alert(const char *name, const struct stat *st, time_t now)
{
	char day[DAY_BYTES], again[NAME_ROOM], who[24];
	unsigned uid, number;
	int n = 0;
	if (sscanf(name, "alert-%8[0-9]-u%u-%u%n", day, &uid, &number, &n) != 3 || number >= OUTBOX_ALERTS_USER)
		return false;
	snprintf(who, sizeof(who), "u%u", uid);
	make_name(day, who, number, OUTBOX_ALERT_SUFFIX, again);
	bool owned = st->st_uid == uid || st->st_uid == 0 || st->st_uid == geteuid();
	return owned && strcmp(again, name) == 0 && is_near(day, now);
}
