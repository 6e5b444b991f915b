/* outbox.h - the directory where finished steps leave their records, and from where `mpitrace fleet ingest` takes them.
 * Anyone may make files there, and nobody list it but its owner (mode 3733): a service user's, never root's to
 * write. */
#pragma once

#include "base/error.h"

#include <stddef.h>

#define OUTBOX_SUFFIX ".job.json"

/* Leave text in dir_fd as <id>.<random>.job.json: written under another name, fsynced, renamed, mode 0640 (the
 * directory's group reads it). -EPERM for root. 0 or -errno with text; nothing is left behind then. */
int outbox_put(int dir_fd, const char *id, const char *text, struct error *e);
