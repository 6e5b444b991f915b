/* elsewhere.c - see elsewhere.h. The namespace comes as a descriptor: no path of it is to be seen from here. */
#include "spank/warden/elsewhere.h"
#include "spank/warden/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNMOUNT_SECONDS 2.0

union control {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(sizeof(int))];
};

bool elsewhere_send(int socket_fd, int namespace_fd)
{
	char byte = 0;
	union control control = {.bytes = {0}};
	struct iovec text = {&byte, 1};
	struct msghdr message = {
		.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &namespace_fd, sizeof(int));
	return sendmsg(socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

bool elsewhere_receive(int socket_fd, int *ret_fd)
{
	char byte;
	union control control;
	struct iovec text = {&byte, 1};
	struct msghdr message = {
		.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	*ret_fd = -1;
	ssize_t n = recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Only what is no part of the file system above: another's mount stays. */
static void unmount_there(int namespace_fd, const char *dir)
{
	char ranks[PATH_MAX + 8];
	struct stat above, here;
	snprintf(ranks, sizeof(ranks), "%s/ranks", dir);
	if (!detach_self(&namespace_fd, 1)) /* nothing of the warden's, its lock above all */
		_exit(126);
	if (setns(3, CLONE_NEWNS) == 0 && lstat(dir, &above) == 0 && lstat(ranks, &here) == 0 &&
	    above.st_dev != here.st_dev)
		umount2(ranks, MNT_DETACH | UMOUNT_NOFOLLOW);
	_exit(0);
}

void elsewhere_unmount(int namespace_fd, const char *dir)
{
	pid_t pid = namespace_fd >= 0 ? fork() : -1;
	if (pid == 0)
		unmount_there(namespace_fd, dir);
	if (pid > 0)
		child_wait(pid, UNMOUNT_SECONDS);
}
