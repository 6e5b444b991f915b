/* switches.c - the switches above a node, from what slurmstepd tells a task (srun(1):
 * SLURM_TOPOLOGY_ADDR). */
#include "base/json.h"
#include "topology/topology.h"

#include <string.h>

#define NAME_BYTES 256
#define DEPTH_MAX 32

/* Copy the part of *text before the next dot (or all of it, if last) and step over it. */
static int next_part(const char **text, int last, char ret_part[NAME_BYTES])
{
	size_t len_bytes = last ? strlen(*text) : strcspn(*text, ".");
	if ((last && len_bytes == 0) || len_bytes >= NAME_BYTES)
		return 0;
	memcpy(ret_part, *text, len_bytes);
	ret_part[len_bytes] = '\0';
	*text += len_bytes;
	*text += **text == '.';
	return 1;
}

/* The last part is the node, whose name may itself hold dots. */
static int walk(cJSON *result, cJSON *path, cJSON *kinds, const char *addr, const char *pattern)
{
	char part[NAME_BYTES], kind[NAME_BYTES];
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		int last = strchr(pattern, '.') == NULL;
		if (!next_part(&pattern, last, kind) || !next_part(&addr, last, part))
			return 0;
		if (last)
			return strcmp(kind, "node") == 0 && (json_put_text(result, "node", part), 1);
		if (part[0] == '\0') /* Slurm leaves out the levels that a branch of an uneven tree does not have */
			continue;
		json_push_text(path, part);
		json_push_text(kinds, kind);
	}
	return 0;
}

cJSON *topo_switches(const char *addr, const char *pattern)
{
	if (addr == NULL || pattern == NULL)
		return NULL;
	cJSON *result = cJSON_CreateObject();
	cJSON *path = json_array(result, "path"), *kinds = json_array(result, "kinds");
	if (walk(result, path, kinds, addr, pattern))
		return result;
	cJSON_Delete(result);
	return NULL;
}
