/* doctor_tracer.c - checks of what is loaded into programs, and of this host: front, tracers,
 * clock, viewer. */
#include "base/tick.h"
#include "cli/cli.h"
#include "cli/doctor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SELF_TEST_SECONDS 10
#define INSTALL_AGAIN "install mpitrace again: meson install -C build"

bool first_line_of(const char *command, char *ret_line, size_t cap_bytes)
{
	FILE *f = popen(command, "re");
	bool got = f != NULL && fgets(ret_line, (int)cap_bytes, f) != NULL;
	if (got)
		ret_line[strcspn(ret_line, "\n")] = '\0';
	return f != NULL && pclose(f) != -1 && got;
}

void check_front(struct verdict *v)
{
	const char *path = tracer_path();
	void *front = access(path, R_OK) == 0 ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
	if (access(path, R_OK) != 0)
		verdict_say(v, VERDICT_BAD, INSTALL_AGAIN, "%s: cannot be read; nothing will be traced", path);
	else if (front == NULL)
		verdict_say(v, VERDICT_BAD, INSTALL_AGAIN, "%s: cannot be loaded: %s", path, dlerror());
	else if (dlsym(front, "MPI_Init") == NULL)
		verdict_say(v, VERDICT_BAD, INSTALL_AGAIN, "%s: has no MPI_Init", path);
	else
		verdict_say(v, VERDICT_OK, NULL, "%s", path);
	if (front != NULL)
		dlclose(front);
}

/* One MPI family: its tracer beside the front, its library as the linker knows it (pattern of
 * ldconfig -p). */
static void check_family(struct verdict *v, const char *tracer, const char *pattern, const char *package)
{
	char path[PATH_MAX + 64], command[256], library[512], next[256];
	const char *front = tracer_path(), *slash = strrchr(front, '/');
	snprintf(path, sizeof(path), "%.*s/%s", slash != NULL ? (int)(slash - front) : 0, front, tracer);
	snprintf(command, sizeof(command),
		 "PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | sed -nE "
		 "'s/^[[:space:]]*(%s).*/\\1/p'",
		 pattern);
	snprintf(next, sizeof(next), "install %s, then build and install mpitrace again", package);
	bool traced = access(path, R_OK) == 0;
	bool installed = first_line_of(command, library, sizeof(library));
	if (traced && installed)
		verdict_say(v, VERDICT_OK, NULL, "%s is traced by %s", library, path);
	else if (traced)
		verdict_say(v, VERDICT_OK, NULL,
			    "%s is there; the linker knows no such library here (modules may bring "
			    "one)",
			    path);
	else if (installed)
		verdict_say(v, VERDICT_BAD, next, "%s is installed, but %s is missing: its programs run untraced",
			    library, path);
	else
		verdict_say(v, VERDICT_WARN, next, "%s is missing: programs of this family would run untraced", path);
}

void check_openmpi(struct verdict *v)
{
	check_family(v, "libmpitrace-openmpi.so", "libmpi\\.so\\.[24]0|libmpi_ompi\\.so[^ ]*", "libopenmpi-dev");
}

void check_mpich(struct verdict *v)
{
	check_family(v, "libmpitrace-mpich.so", "libmpich\\.so\\.[0-9]+|libmpi\\.so\\.12", "libmpich-dev");
}

/* In the child: /bin/true with the front preloaded, all symbols bound at once. */
static void exec_true(int output)
{
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	setenv("LD_PRELOAD", tracer_path(), 1);
	setenv("LD_BIND_NOW", "1", 1);
	unsetenv("MPITRACE_DIR");
	alarm(SELF_TEST_SECONDS);
	execl("/bin/true", "true", (char *)NULL);
	_exit(127);
}

void check_preload(struct verdict *v)
{
	char said[256] = "";
	int ends[2], status = -1;
	fflush(stdout);
	pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
	if (pid == 0)
		exec_true(ends[1]);
	if (pid < 0) {
		verdict_say(v, VERDICT_WARN, NULL, "cannot start a process for the self-test");
		return;
	}
	close(ends[1]);
	ssize_t n = read(ends[0], said, sizeof(said) - 1);
	close(ends[0]);
	waitpid(pid, &status, 0);
	if (status == 0 && n == 0)
		verdict_say(v, VERDICT_OK, NULL, "a program without MPI runs unchanged under the tracer");
	else
		verdict_say(v, VERDICT_BAD, "do not use this build; check that it was built on a system like this one",
			    "/bin/true with the tracer preloaded: wait status %d, printed \"%s\"", status, said);
}

void check_clock(struct verdict *v)
{
	tick_choose();
	if (tick_is_tsc)
		verdict_say(v, VERDICT_OK, NULL, "invariant time stamp counter");
	else
		verdict_say(v, VERDICT_WARN, "in a virtual machine: let it show the host's invariant TSC",
			    "no invariant time stamp counter: CLOCK_MONOTONIC costs some 20 ns "
			    "more a call");
}

void check_viewer(struct verdict *v)
{
	static const char *const beside[] = {"/../reports/viewer/viewer.html", "/../share/mpitrace/viewer.html"};
	char exe[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(exe, '/');
	if (slash != NULL)
		*slash = '\0';
	bool found = false;
	for (size_t i = 0; i < 2 && !found; i++) {
		snprintf(path, sizeof(path), "%s%s", exe, beside[i]);
		found = access(path, R_OK) == 0;
	}
	if (!found)
		snprintf(path, sizeof(path), "%s", MPITRACE_DATADIR "/viewer.html");
	if (access(path, R_OK) == 0)
		verdict_say(v, VERDICT_OK, NULL, "%s", path);
	else
		verdict_say(v, VERDICT_WARN, "install nodejs and npm, then build and install again",
			    "%s is not there: `mpitrace view` cannot show traces, reports work", path);
}
