/* namespace.h - jobs with mounts of their own (job_container/tmpfs): the step's file system is mounted there as well.
 * Where propagation into them is private they do not see what is mounted after they began, and the steps are later. */
#pragma once

/* A mount of the file system on <step>/ranks that is nowhere yet, or -1: nothing is mounted there, or the kernel is
 * older than 5.2. */
int namespace_prepare(int step_fd);
/* In a task's process, which is root's still and has joined the job's namespaces: if <dir>/ranks is not that file
 * system here, mount it, and hand the namespace to the step's warden, which unmounts it when the step is over. */
void namespace_enter(int mount_fd, const char *dir, int warden_fd);
