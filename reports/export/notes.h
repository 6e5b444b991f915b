/* notes.h - notes on events, kept in a file without a name until their cell is read: messages are known only when they
 * are complete, their calls are of earlier cells and other ranks. Memory is bounded, whatever the number of notes. */
#pragma once

#include "reports/export/format.h"

struct notes;

/* directory: where there is room for them. cells: how many. NULL with text. */
struct notes *notes_create(const char *directory, size_t cells, struct error *e);
int notes_add(struct notes *n, size_t cell, const struct export_note *note, struct error *e);
/* All of a cell by (lane, index), in order of addition. They stay until the next call; *ret_count may be 0. */
int notes_take(struct notes *n, size_t cell, const struct export_note **ret_notes, size_t *ret_count, struct error *e);
void notes_done(struct notes *n);
