/* directories.h - a directory and those above it. */
#pragma once

/* Make path, and what is missing above it. 0, also when it is there, or -errno. */
int directories_make(const char *path);
