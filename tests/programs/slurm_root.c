/* slurm_root.c - a plugin as those that put a container around a task: gives it a root (root=DIR in plugstack.conf)
 * with little more than /usr in it. */
#define _GNU_SOURCE
#include <sched.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

SPANK_PLUGIN(root, 1)

static int bind(const char *from, const char *root)
{
	char to[4096];
	snprintf(to, sizeof(to), "%s%s", root, from);
	return mount(from, to, NULL, MS_BIND | MS_REC, NULL);
}

int slurm_spank_task_init_privileged(spank_t sp, int argc, char **argv)
{
	static const char *const shown[] = {"/usr", "/etc", "/proc", "/dev", "/lib", "/lib64", "/bin"};
	(void)sp;
	if (argc < 1 || strncmp(argv[0], "root=", 5) != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		bind(shown[i], argv[0] + 5);
	return chroot(argv[0] + 5) == 0 && chdir("/") == 0 ? 0 : -1;
}
