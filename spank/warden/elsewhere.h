/* elsewhere.h - the mount namespace of a job in which the step's file system was mounted too (spank/namespace.h). */
#pragma once

#include <stdbool.h>

/* Hand a namespace over a socket of type SOCK_SEQPACKET. */
bool elsewhere_send(int socket_fd, int namespace_fd);
/* True as long as the other end may say something more; *ret_fd >= 0 when a namespace came. */
bool elsewhere_receive(int socket_fd, int *ret_fd);
/* Unmount <dir>/ranks there. */
void elsewhere_unmount(int namespace_fd, const char *dir);
