/* remove.h - take a directory tree away as root although a user may write in it. */
#pragma once

/* Remove name (one component, below the directory at_fd) and everything in it, never following a
 * link and never crossing into another file system. 0, also if it was not there, or the first
 * -errno; goes on after errors. */
int remove_tree(int at_fd, const char *name);
