/* lock.h - who sees to a step: the process that holds the lock on the file `warden` in its directory. */
#pragma once

/* Take it, waiting at most so many seconds. A descriptor to keep open, or -EBUSY, -errno. */
int lock_take(int step_fd, double seconds);
/* The same, and whoever is stopped is sent on meanwhile; who still holds it then is ended (with its children: they die
 * with it). A descriptor or -errno. */
int lock_take_over(int step_fd, double seconds);
