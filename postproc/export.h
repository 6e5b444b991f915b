/* export.h - the analysed step as a .mpix. */
#pragma once

#include "postproc/analysis.h"

/* Write path with events, messages and json; nothing is left behind on failure. 0, or -errno with
 * text. */
int export_mpix(const struct analysis *a, const char *path, const char *json, struct error *e);
