/* fabric_read.c - the file that says how nodes are connected: where it is, and which reader takes it. */
#include "topology/fabric_build.h"

#include "base/buf_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int fabric_parse(const char *name, const char *text, size_t len_bytes, bool yaml, struct fabric **ret_fabric,
		 struct error *e)
{
	struct fabric *f = calloc(1, sizeof(*f));
	if (f == NULL)
		return fail(e, -ENOMEM, "out of memory");
	f->file = name;
	int code;
	if (memchr(text, '\0', len_bytes) != NULL)
		code = fail(e, -EBADMSG, "%s: not a text", name);
	else
		code = yaml ? fabric_from_yaml(f, text, len_bytes, e) : fabric_from_conf(f, text, len_bytes, e);
	if (code == 0)
		code = fabric_finish(f, e);
	f->file = NULL;
	if (code == 0)
		*ret_fabric = f;
	else
		fabric_free(f);
	return code;
}

static bool is_yaml(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

int fabric_read(const char *path, struct fabric **ret_fabric, struct error *e)
{
	_cleanup_buf_ struct buf text = {0};
	int code = buf_text(&text, path, FABRIC_BYTES_MAX, e);
	if (code < 0)
		return code;
	return fabric_parse(path, (const char *)text.data, text.len_bytes - 1, is_yaml(path), ret_fabric, e);
}

/* topology.yaml comes first, as for Slurm; the last directory is where slurmd keeps what slurmctld sent it. */
bool fabric_find(char *ret_path, size_t cap_bytes)
{
	static const char *const places[] = {"/etc/slurm", "/etc/slurm-llnl", "/run/slurm/conf"};
	static const char *const names[] = {"topology.yaml", "topology.conf"};
	const char *conf = getenv("SLURM_CONF"), *slash = conf != NULL ? strrchr(conf, '/') : NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) + 1; i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
			int dir_len = i > 0 ? (int)strlen(places[i - 1]) : slash != NULL ? (int)(slash - conf) : -1;
			if (dir_len < 0)
				continue;
			int n = snprintf(ret_path, cap_bytes, "%.*s/%s", dir_len, i > 0 ? places[i - 1] : conf,
					 names[k]);
			if (n > 0 && (size_t)n < cap_bytes && access(ret_path, R_OK) == 0)
				return true;
		}
	return false;
}

/* ---- asking ---- */
