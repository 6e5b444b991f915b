/* outbox.h - the directory where finished steps leave their records, and from where `mpitrace fleet ingest` takes them.
 * Anyone may make files there, and nobody list it but its owner (mode 3733): a service user's, never root's to
 * write. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

#define OUTBOX_SUFFIX ".job.json"

/* Alerts of steps that hang have names that bound how many there are: alert-<day>-u<uid>-<number>, beside empty files
 * alert-<day>-n<node>-<number>. Who reads takes no other names, and removes them when that day is long over. */
#define OUTBOX_ALERT_SUFFIX ".alert.json"
#define OUTBOX_SLOT_SUFFIX ".alert.slot"
#define OUTBOX_ALERTS_USER 8u  /* of a user and day */
#define OUTBOX_ALERTS_NODE 16u /* of steps whose first node it is, and day */
#define OUTBOX_ALERT_DAYS 2    /* for so long a file stays, so that its number is not free again */

/* An empty file of this name stands for a record that had no room. */
#define OUTBOX_FULL_SUFFIX ".job.full"
/* Full is a file system with less than this free, or than this part of it where that is less. */
#define OUTBOX_FREE_BYTES (64u << 20)
#define OUTBOX_FREE_PART 20

/* Is there no room for records any more? Also O_PATH. */
bool outbox_is_full(int dir_fd);
/* Leave an alert of a step whose first node that is. -EDQUOT: this user or node has left as many today as it may;
 * -EPERM for root. 0 or -errno with text; nothing is left behind then. */
int outbox_put_alert(int dir_fd, const char *node, const char *text, struct error *e);
/* May a file of that name be an alert, now? */
bool outbox_is_alert(const char *name, const struct stat *st, time_t now);
/* Leave an empty file that says so, once for each `what`: whoever collects counts them. Always -errno, with what there
 * is to say. */
int outbox_put_full(int dir_fd, const char *what, struct error *e);
/* Leave text in dir_fd as j<id>.<number of the text>.job.json: written under another name, fsynced, renamed, mode 0640
 * (the directory's group reads it). The same text twice is one file. -EPERM for root. 0 or -errno with text; nothing is
 * left behind then. */
int outbox_put(int dir_fd, const char *id, const char *text, struct error *e);
