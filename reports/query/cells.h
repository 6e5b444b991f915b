/* cells.h - what one group of ranks has of one window, as rows of a table: decoded once, kept while it is used and
 * for a while after.
 * In: format/mpix.h.  Out: rows in the order of `export --to sqlite`. */
#pragma once

#include "reports/export/tables.h"

#include <stdbool.h>

/* A group's part of a window. Samples have no groups: group 0, windows are their places. */
struct cell {
	enum table_id table;
	uint32_t group, window;
	bool waits; /* of events: with their wait states, which also say how many bytes came */
	struct row *rows;
	size_t n;
	unsigned users;
	uint64_t used;
};

struct cells;

/* NULL with text. f and opens stay the caller's. */
struct cells *cells_create(struct mpix_file *f, const struct opens *opens, struct error *e);
void cells_free(struct cells *c);
/* How many groups and windows a table has. */
uint32_t cells_groups(const struct cells *c, enum table_id table);
uint32_t cells_windows(const struct cells *c, enum table_id table);
/* How many rows it has, about: of wait states and samples rather what reading them costs. */
uint64_t cells_rows(const struct cells *c, enum table_id table);
/* Which cell has the event or message of an id. */
bool cells_of_id(const struct cells *c, enum table_id table, int64_t id, uint32_t *ret_group, uint32_t *ret_window);
/* Can a cell have something of [from_ns, to_ns], both inclusive: an event that begins in it; a message that is sent or
 * received in it? */
bool cells_may_have(const struct cells *c, enum table_id table, uint32_t group, uint32_t window, int64_t from_ns,
		    int64_t to_ns);
/* The cell; it stays until cells_put(). */
int cells_get(struct cells *c, enum table_id table, uint32_t group, uint32_t window, bool waits, struct cell **ret_cell,
	      struct error *e);
void cells_put(struct cells *c, struct cell *cell);
