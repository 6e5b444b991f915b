/* place.h - will the results find their directory? */
#pragma once

#include "base/become.h"
#include "base/error.h"

#include <stdbool.h>

/* By a child that becomes who (NULL: as we are) and is given up after a second: can the directory of a step be made, as
 * its agent will (collect/output.c)? 0; or -errno with text, which names what is in the way. What cannot be found out
 * in time is no obstacle. tries: also by making one of another name and removing it; else nothing is made. */
int place_check(const struct identity *who, const char *path, bool tries, struct error *e);
