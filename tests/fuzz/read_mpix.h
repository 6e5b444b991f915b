/* read_mpix.h - all that can be asked of an .mpix. */
#pragma once

#include "format/mpix.h"

void read_mpix(const char *path);
