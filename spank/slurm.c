/* slurm.c - see slurm.h. In: Slurm's spank_* functions, resolved in slurmd, slurmstepd, srun,
 * sbatch, salloc. */
#include "spank/slurm.h"

#include <slurm/slurm.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sl_number(spank_t sp, spank_item_t item, uint32_t *ret_value)
{
	uint32_t value;
	if (spank_get_item(sp, item, &value) != ESPANK_SUCCESS)
		return false;
	*ret_value = value;
	return true;
}

uint32_t sl_cpus(spank_t sp)
{
	uint16_t cpus;
	return spank_get_item(sp, S_JOB_NCPUS, &cpus) == ESPANK_SUCCESS ? cpus : 0;
}

bool sl_global_task(spank_t sp, uint32_t local, uint32_t *ret_global)
{
	return spank_get_item(sp, S_JOB_LOCAL_TO_GLOBAL_ID, local, ret_global) == ESPANK_SUCCESS;
}

bool sl_exit_status(spank_t sp, int *ret_status)
{
	return spank_get_item(sp, S_TASK_EXIT_STATUS, ret_status) == ESPANK_SUCCESS;
}

int sl_argv(spank_t sp, char ***ret_argv)
{
	int argc = 0;
	if (spank_get_item(sp, S_JOB_ARGV, &argc, ret_argv) != ESPANK_SUCCESS || *ret_argv == NULL)
		return 0;
	return argc;
}

const char *sl_env(spank_t sp, const char *name)
{
	char **env = NULL;
	size_t len_bytes = strlen(name);
	if (spank_get_item(sp, S_JOB_ENV, &env) != ESPANK_SUCCESS || env == NULL)
		return NULL;
	for (; *env != NULL; env++)
		if (strncmp(*env, name, len_bytes) == 0 && (*env)[len_bytes] == '=')
			return *env + len_bytes + 1;
	return NULL;
}

bool sl_setenv(spank_t sp, const char *name, const char *value)
{
	return spank_setenv(sp, name, value, 1) == ESPANK_SUCCESS;
}

bool sl_unsetenv(spank_t sp, const char *name)
{
	return spank_unsetenv(sp, name) == ESPANK_SUCCESS;
}

int sl_gids(spank_t sp, gid_t **ret_gids)
{
	int count = 0;
	if (spank_get_item(sp, S_JOB_SUPPLEMENTARY_GIDS, ret_gids, &count) != ESPANK_SUCCESS)
		return -1;
	return count;
}

int sl_node_index(const char *list, const char *node)
{
	__auto_type nodes = slurm_hostlist_create(list); /* its type has another name since 23.11 */
	int at = list != NULL && nodes != NULL ? slurm_hostlist_find(nodes, node) : -1;
	if (nodes != NULL)
		slurm_hostlist_destroy(nodes);
	return at;
}

bool sl_first_node(const char *list, char ret_node[256])
{
	__auto_type nodes = list != NULL ? slurm_hostlist_create(list) : NULL;
	char *first = nodes != NULL ? slurm_hostlist_shift(nodes) : NULL;
	if (first != NULL)
		snprintf(ret_node, 256, "%s", first);
	free(first);
	if (nodes != NULL)
		slurm_hostlist_destroy(nodes);
	return first != NULL;
}

const char *sl_version(spank_t sp)
{
	char *version = NULL;
	return spank_get_item(sp, S_SLURM_VERSION, &version) == ESPANK_SUCCESS ? version : NULL;
}

bool sl_register(spank_t sp, const char *name, const char *arginfo, const char *usage, spank_opt_cb_f cb)
{
	/* Slurm keeps pointers into the option but does not write through them. */
	struct spank_option option = {(char *)name, (char *)arginfo, (char *)usage, 2, 0, cb};
	return spank_option_register(sp, &option) == ESPANK_SUCCESS;
}

static void say(void (*how)(const char *fmt, ...), const char *fmt, va_list ap)
{
	char text[1024];
	vsnprintf(text, sizeof(text), fmt, ap);
	how("mpitrace: %s", text);
}

void sl_verbose(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(slurm_verbose, fmt, ap);
	va_end(ap);
}

void sl_error(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(slurm_error, fmt, ap);
	va_end(ap);
}
