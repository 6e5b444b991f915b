/* doctor_tracer.c - checks of what is loaded into programs, and of this host: front, tracers,
 * clock, viewer. */
#include "base/tick.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/doctor_elf.h"
#include "reports/text/viewer_file.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRONT "libmpitrace.so"
#define NOBODY 65534
#define NOT_TRIED 125 /* the loader's own failures are 127 */
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

/* Without the steps up that a build tree's has. */
static void tracer_directory(char ret_dir[PATH_MAX])
{
	char real[PATH_MAX];
	snprintf(ret_dir, PATH_MAX, "%s", realpath(tracer_path(), real) != NULL ? real : tracer_path());
	char *slash = strrchr(ret_dir, '/');
	if (slash != NULL)
		*slash = '\0';
}

/* Is it the directory of this mpitrace's own tracer that the plugin is told to preload from? */
static bool is_preloaded_from(const char *dir)
{
	struct plugstack p;
	char named[PATH_MAX], ours[PATH_MAX];
	plugstack_read(&p);
	return p.times > 0 && realpath(dir, ours) != NULL && realpath(p.config.libdir, named) != NULL &&
	       strcmp(ours, named) == 0;
}

/* "libmpitrace-FLAVOUR.so" has the function that the front calls in it; the front has none. */
static bool is_of_flavour(const char *path, const char *name)
{
	char symbol[64];
	const char *dash = strchr(name, '-');
	if (dash == NULL)
		return true;
	snprintf(symbol, sizeof(symbol), "mpitrace_bind_%.*s", (int)strcspn(dash + 1, "."), dash + 1);
	return elf_has(path, symbol);
}

/* What keeps dir/name from programs. roots: it is preloaded into everybody's. */
static bool is_wrong(const char *dir, const char *name, bool roots, struct verdict *v)
{
	char path[PATH_MAX + 64];
	struct hindrance h;
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (path_hinders(path, PATH_READ, &h)) {
		verdict_say(v, h.some ? VERDICT_WARN : VERDICT_BAD, h.next[0] != '\0' ? h.next : INSTALL_AGAIN,
			    "%s: %s is not loaded, nothing is traced", h.what, name);
		return true;
	}
	const char *wrong = elf_wrong(path);
	if (wrong == NULL && roots && stat(path, &st) == 0 && st.st_uid != 0)
		wrong = "is not owned by root, but every traced program loads it";
	if (wrong == NULL && !is_of_flavour(path, name))
		wrong = "is not a tracer for this MPI library";
	if (wrong != NULL) {
		verdict_say(v, VERDICT_BAD, INSTALL_AGAIN, "%s %s: nothing is traced, or by an unknown library", path,
			    wrong);
		return true;
	}
	if (roots && path_is_writable(path, &h)) {
		verdict_say(v, VERDICT_BAD, h.next, "%s: every program that is traced loads %s", h.what, path);
		return true;
	}
	return false;
}

/* The library that is preloaded; the tracers of the MPI families lie beside it. */
static bool front_is_wrong(const char *dir, bool roots, struct verdict *v)
{
	char path[PATH_MAX + 64];
	if (roots && strpbrk(dir, ": ") != NULL) {
		verdict_say(v, VERDICT_BAD, "install in a directory without, and name that",
			    "libdir=%s: LD_PRELOAD ends at a colon", dir);
		return true;
	}
	if (is_wrong(dir, FRONT, roots, v))
		return true;
	snprintf(path, sizeof(path), "%s/" FRONT, dir);
	if (elf_has(path, "MPI_Init"))
		return false;
	verdict_say(v, VERDICT_BAD, INSTALL_AGAIN, "%s has no MPI_Init: it is not a tracer, and nothing is traced",
		    path);
	return true;
}

void check_front(struct verdict *v)
{
	char dir[PATH_MAX];
	tracer_directory(dir);
	if (!front_is_wrong(dir, is_preloaded_from(dir), v))
		verdict_say(v, VERDICT_OK, NULL, "%s", tracer_path());
}

/* What was said of one thing is not said of all that hangs on it. */
static bool follows_from_front(struct verdict *v)
{
	struct verdict front;
	check_front(&front);
	if (front.level != VERDICT_OK)
		verdict_say(v, VERDICT_OK, NULL, "not checked: the tracer itself is BAD");
	return front.level != VERDICT_OK;
}

static bool same_bytes(const char *a, const char *b)
{
	char left[4096], right[4096];
	FILE *f = fopen(a, "re"), *g = fopen(b, "re");
	bool same = f != NULL && g != NULL;
	while (same) {
		size_t n = fread(left, 1, sizeof(left), f);
		same = fread(right, 1, sizeof(right), g) == n && memcmp(left, right, n) == 0;
		if (n < sizeof(left))
			break;
	}
	if (f != NULL)
		fclose(f);
	if (g != NULL)
		fclose(g);
	return same;
}

bool tracer_elsewhere(const struct plugstack *p, struct verdict *v)
{
	static const char *const names[] = {FRONT, "libmpitrace-openmpi.so", "libmpitrace-mpich.so",
					    "libmpitrace-abi.so"};
	char dir[PATH_MAX], ours[PATH_MAX + 64], theirs[PATH_MAX + 64];
	tracer_directory(dir);
	if (is_preloaded_from(dir))
		return false;
	if (front_is_wrong(p->config.libdir, true, v))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(ours, sizeof(ours), "%s/%s", dir, names[i]);
		snprintf(theirs, sizeof(theirs), "%s/%s", p->config.libdir, names[i]);
		if (access(ours, F_OK) != 0)
			continue;
		if (is_wrong(p->config.libdir, names[i], true, v))
			return true;
		if (!same_bytes(ours, theirs)) {
			verdict_say(v, VERDICT_WARN, "set libdir= to where this mpitrace is installed, or take it out",
				    "%s, named by libdir=, is not of the build of this mpitrace", theirs);
			return true;
		}
	}
	return false;
}

/* One MPI family: its tracer beside the front, its library as LD_LIBRARY_PATH (modules set it) or the linker knows it
 * (pattern of its name). package: NULL where none is needed to build it. */
static void check_family(struct verdict *v, const char *tracer, const char *pattern, const char *package)
{
	char dir[PATH_MAX], path[PATH_MAX + 64], command[512], library[512], next[256];
	if (follows_from_front(v))
		return;
	tracer_directory(dir);
	snprintf(path, sizeof(path), "%s/%s", dir, tracer);
	snprintf(command, sizeof(command),
		 "{ set -f; IFS=:; for d in $LD_LIBRARY_PATH; do set +f; ls -d \"$d\"/lib*; set -f; done; "
		 "PATH=$PATH:/sbin:/usr/sbin ldconfig -p; } 2>/dev/null | sed -nE 's/^[[:space:]]*(([^ ]*\\/)?(%s))( "
		 ".*|$)/\\1/p'",
		 pattern);
	snprintf(next, sizeof(next), "%s%s%s", package != NULL ? "install " : INSTALL_AGAIN,
		 package != NULL ? package : "", package != NULL ? ", then build and install mpitrace again" : "");
	bool there = access(path, F_OK) == 0;
	bool installed = first_line_of(command, library, sizeof(library));
	if (there && is_wrong(dir, tracer, is_preloaded_from(dir), v))
		return;
	if (there && installed)
		verdict_say(v, VERDICT_OK, NULL, "%s is traced by %s", library, path);
	else if (there)
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
	check_family(
		v, "libmpitrace-mpich.so",
		"libmpich\\.so\\.[0-9]+|libmpi\\.so\\.12|libmpi(ch)?_(gnu|cray|intel|amd|nvidia|aocc)[^ ]*\\.so[^ ]*",
		"libmpich-dev");
}

/* The standard's: its tracer needs no MPI when it is built. */
void check_abi(struct verdict *v)
{
	check_family(v, "libmpitrace-abi.so", "libmpi_abi\\.so\\.[0-9]+", NULL);
}

/* In the child: /bin/true with the front preloaded, all symbols bound at once; never as root. */
static void exec_true(const char *front, int output)
{
	if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
		_exit(NOT_TRIED); /* as in a container without privileges */
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	setenv("LD_PRELOAD", front, 1);
	setenv("LD_BIND_NOW", "1", 1);
	unsetenv("MPITRACE_DIR");
	alarm(SELF_TEST_SECONDS);
	execl("/bin/true", "true", (char *)NULL);
	_exit(NOT_TRIED);
}

/* Somebody preloads the tracer of one MPI family by hand: it has none of MPI's calls, and only the front asks it. */
static bool preloads_family(struct verdict *v)
{
	const char *at = getenv("LD_PRELOAD");
	for (size_t len; at != NULL && *at != '\0'; at += len + (at[len] != '\0')) {
		len = strcspn(at, ": ");
		const char *slash = memrchr(at, '/', len);
		const char *name = slash != NULL ? slash + 1 : at;
		if (strncmp(name, "libmpitrace-", strlen("libmpitrace-")) != 0)
			continue;
		verdict_say(v, VERDICT_WARN, "take it out of LD_PRELOAD; mpitrace run preloads " FRONT,
			    "LD_PRELOAD names %.*s, which by itself traces nothing", (int)len, at);
		return true;
	}
	return false;
}

void check_preload(struct verdict *v)
{
	char said[256] = "";
	char front[PATH_MAX], real[PATH_MAX];
	int ends[2], status = -1;
	snprintf(front, sizeof(front), "%s", realpath(tracer_path(), real) != NULL ? real : tracer_path());
	if (follows_from_front(v) || preloads_family(v))
		return;
	fflush(stdout);
	pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
	if (pid == 0)
		exec_true(front, ends[1]);
	if (pid < 0) {
		verdict_say(v, VERDICT_WARN, NULL, "cannot start a process for the self-test");
		return;
	}
	close(ends[1]);
	ssize_t n = read(ends[0], said, sizeof(said) - 1);
	close(ends[0]);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_TRIED)
		verdict_say(v, VERDICT_WARN, "ask as an ordinary user, outside of containers",
			    "/bin/true cannot be started here as an ordinary user: not checked");
	else if (status == 0 && n == 0)
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
	char path[PATH_MAX];
	if (viewer_file(path, sizeof(path)) == 0)
		verdict_say(v, VERDICT_OK, NULL, "%s", path);
	else
		verdict_say(v, VERDICT_WARN, "install nodejs, npm, clang and lld, then build and install again",
			    "%s is not there: `mpitrace view` cannot show traces, reports work", path);
}
