/* outbox_file.h - what outbox.c and outbox_alert.c share: writing a file in a directory that others write to. */
#pragma once

#include <stdint.h>

/* Who guesses names could be there first. */
uint64_t outbox_random(void);
/* A new file with text and a line break, whole on disk, mode 0640. 0 or -errno; what was made is left there. */
int outbox_write(int dir_fd, const char *name, const char *text);
