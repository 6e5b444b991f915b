/* outbox.h - the directory where finished steps leave their records, and from where `mpitrace fleet ingest` takes them.
 * Anyone may make files there, and nobody list it but its owner (mode 3733): a service user's, never root's to
 * write. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define OUTBOX_SUFFIX ".job.json"

/* An empty file of this name stands for a record that had no room. */
#define OUTBOX_FULL_SUFFIX ".job.full"
/* Full is a file system with less than this free, or than this part of it where that is less. */
#define OUTBOX_FREE_BYTES (64u << 20)
#define OUTBOX_FREE_PART 20

/* Is there no room for records any more? Also O_PATH. */
bool outbox_is_full(int dir_fd);
/* Leave an empty file that says so, once for each `what`: whoever collects counts them. Always -errno, with what there
 * is to say. */
int outbox_put_full(int dir_fd, const char *what, struct error *e);
/* Leave text in dir_fd as j<id>.<number of the text>.job.json: written under another name, fsynced, renamed, mode 0640
 * (the directory's group reads it). The same text twice is one file. -EPERM for root. 0 or -errno with text; nothing is
 * left behind then. */
int outbox_put(int dir_fd, const char *id, const char *text, struct error *e);
