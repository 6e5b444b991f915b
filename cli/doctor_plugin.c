/* doctor_plugin.c - is the file that plugstack.conf names a plugin that Slurm takes? In: its bytes, which are read and
 * not run (doctor_elf.h), and the version that Slurm says it is.  Out: a verdict, what Slurm itself says to nobody: an
 * optional plugin that it refuses is passed over without a word. */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/doctor_elf.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 64
#define REFUSED "Slurm ignores it, and srun has no --mpitrace"
#define BUILD_AGAIN "build against the headers of this Slurm, and install again"

/* Slurm looks at the first two numbers only, of a SPANK plugin. */
struct series {
	unsigned major, minor;
};

static bool series_of_plugin(const char *path, struct series *ret_s)
{
	uint32_t version; /* SLURM_VERSION_NUMBER */
	if (!elf_data(path, "plugin_version", &version, sizeof(version)))
		return false;
	*ret_s = (struct series){version >> 16, version >> 8 & 255};
	return true;
}

static bool series_of_slurm(struct series *ret_s, char *ret_line, size_t cap_bytes)
{
	if (!slurm_version(ret_line, cap_bytes))
		return false;
	const char *digits = strpbrk(ret_line, "0123456789");
	return digits != NULL && sscanf(digits, "%u.%u", &ret_s->major, &ret_s->minor) == 2;
}

static const char *no_plugin(const char *path)
{
	char type[NAME_BYTES], name[NAME_BYTES];
	const char *wrong = elf_wrong(path);
	if (wrong != NULL)
		return wrong;
	if (!elf_data(path, "plugin_type", type, sizeof(type)) || strncmp(type, "spank", sizeof(type)) != 0)
		return "is not a SPANK plugin";
	if (!elf_data(path, "plugin_name", name, sizeof(name)) || strncmp(name, "mpitrace", sizeof(name)) != 0)
		return "is not the plugin of mpitrace";
	return NULL;
}

static void check_series(struct verdict *v, const char *path)
{
	struct series built, here;
	char line[256];
	if (!series_of_plugin(path, &built))
		verdict_say(v, VERDICT_BAD, BUILD_AGAIN, "%s does not name its Slurm version: " REFUSED, path);
	else if (!series_of_slurm(&here, line, sizeof(line)))
		verdict_say(v, VERDICT_OK, NULL, "%s, for Slurm %u.%02u", path, built.major, built.minor);
	else if (built.major != here.major || built.minor != here.minor)
		verdict_say(v, VERDICT_BAD, BUILD_AGAIN, "%s is for Slurm %u.%02u, but this host runs %s: " REFUSED,
			    path, built.major, built.minor, line);
	else
		verdict_say(v, VERDICT_OK, NULL, "%s, built for Slurm %u.%02u as on this host", path, built.major,
			    built.minor);
}

static void check_plugin_file(struct verdict *v, const char *path)
{
	struct hindrance h;
	struct stat st;
	if (path_hinders(path, PATH_READ, &h)) {
		verdict_say(v, h.some ? VERDICT_WARN : VERDICT_BAD,
			    h.next[0] != '\0' ? h.next : "install it there, or name the right path in plugstack.conf",
			    "%s: " REFUSED, h.what);
		return;
	}
	const char *wrong = no_plugin(path);
	if (wrong != NULL)
		verdict_say(v, VERDICT_BAD, "install it again: meson install -C build", "%s %s: " REFUSED, path, wrong);
	else if (path_is_writable(path, &h))
		verdict_say(v, VERDICT_BAD, h.next, "%s: root's slurmstepd loads %s", h.what, path);
	else if (stat(path, &st) == 0 && st.st_uid != 0)
		verdict_say(v, VERDICT_BAD, "install as root",
			    "%s is not owned by root, but root's slurmstepd loads it", path);
	else
		check_series(v, path);
}

void check_plugin(struct verdict *v)
{
	struct plugstack p;
	char line[256];
	plugstack_read(&p);
	bool named = p.plugin[0] != '\0', there = access(plugin_path(&p), F_OK) == 0;
	if (named && p.plugin[0] != '/')
		verdict_say(v, VERDICT_WARN, "write the whole path: optional " PLUGIN_PATH,
			    "%s names it without its directory: Slurm looks in its PluginDir only", p.path);
	else if (named)
		check_plugin_file(v, plugin_path(&p));
	else if (there)
		verdict_say(v, VERDICT_OK, NULL, "%s is installed, but plugstack.conf does not name it",
			    plugin_path(&p));
	else if (slurm_version(line, sizeof(line)))
		verdict_say(v, VERDICT_WARN, "meson install -C build (with libslurm-dev installed when it was set up)",
			    "%s does not exist: srun has no --mpitrace", plugin_path(&p));
	else
		verdict_say(v, VERDICT_OK, NULL, "not installed, not needed without Slurm");
}
