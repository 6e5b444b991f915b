/* slurm_empty.c - a plugin whose prolog and epilog do nothing, for tests/slurm/bench.sh: what Slurm takes to start them
 * is not ours. */
#include <slurm/spank.h>

SPANK_PLUGIN(empty, 1)

int slurm_spank_job_prolog(spank_t sp, int argc, char **argv)
{
	(void)sp, (void)argc, (void)argv;
	return 0;
}

int slurm_spank_job_epilog(spank_t sp, int argc, char **argv)
{
	(void)sp, (void)argc, (void)argv;
	return 0;
}
