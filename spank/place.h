/* place.h - will the results find their directory? */
#pragma once

#include "base/become.h"
#include "base/error.h"

/* As the user, by a child that is given up after a second, without making anything: can the directory of a step be
 * made, as its agent will (collect/output.c)? 0; or -errno with text, which names what is in the way. What cannot be
 * found out in time is no obstacle. */
int place_check(const struct identity *who, const char *path, struct error *e);
