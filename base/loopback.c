/* loopback.c - see loopback.h. */
#include "base/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

int loopback_listen(uint16_t port, uint16_t *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	socklen_t len = sizeof(address);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
		int code = -errno;
		close(fd);
		return code;
	}
	*ret_port = ntohs(address.sin_port);
	return fd;
}

int loopback_token(char *ret_token, size_t digits)
{
	for (size_t i = 0; i < digits; i += 2) {
		unsigned char byte;
		if (getrandom(&byte, sizeof(byte), 0) != (ssize_t)sizeof(byte))
			return -EIO;
		snprintf(ret_token + i, 3, "%02x", byte);
	}
	return 0;
}
