/* loopback.h - serving on this machine only, and to those who know a number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Listen on 127.0.0.1; port 0: any that is free. The socket, which does not block, or -errno. */
int loopback_listen(uint16_t port, uint16_t *ret_port);
/* So many random hexadecimal digits (an even number), and a 0. 0 or -EIO. */
int loopback_token(char *ret_token, size_t digits);
