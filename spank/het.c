/* het.c - see het.h. */
#include "spank/het.h"

#include <ctype.h>
#include <stdlib.h>

#define NODES_MAX 1000000u
#define TASKS_MAX 100000000u

static uint32_t number_in(spank_t sp, const char *name, uint32_t max)
{
	const char *text = sl_env(sp, name);
	char *end;
	unsigned long value = text != NULL && isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
	return value > 0 && value <= max && *end == '\0' ? (uint32_t)value : 0;
}

void het_join(spank_t sp, const char *node, struct record *rec)
{
	uint32_t parts = number_in(sp, "SLURM_HET_SIZE", NODES_MAX),
		 nnodes = number_in(sp, "SLURM_STEP_NUM_NODES", NODES_MAX);
	uint32_t ntasks = number_in(sp, "SLURM_STEP_NUM_TASKS", TASKS_MAX),
		 job_id = number_in(sp, "SLURM_JOB_ID", UINT32_MAX);
	rec->called = rec->job_id;
	int at = sl_node_index(sl_env(sp, "SLURM_STEP_NODELIST"), node);
	if (parts < 2 || nnodes <= rec->nnodes || rec->nnodes == 0 || job_id == 0 || at < 0)
		return;
	rec->nodeid = (uint32_t)at;
	rec->nnodes = nnodes;
	rec->ntasks = ntasks > rec->ntasks ? ntasks : rec->ntasks;
	rec->called = job_id;
}
