/* plugin.c - the entry points that Slurm calls, each handed to the file of its context:
 *
 *   srun, sbatch, salloc   submit.c   refuse a bad request; srun: make the report
 *   slurmstepd (root)      step.c     spool, layout, warden; exits; done
 *   a task (user)          task.c     environment; what the user should know (notice.c)
 *   prolog (root)          policy.c   what the credential says of the job
 *   epilog (root)          epilog.c   a warden for what is left
 *
 * Whether a job is traced, and how, the site's policy says: policy.c is asked first in each context.
 * Only the check of the option at submit ever returns non-zero: elsewhere that would drain nodes.
 * Listed twice in plugstack.conf the plugin is called twice, with the same variables; each callback
 * acts once. */
#include "spank/config.h"
#include "spank/epilog.h"
#include "spank/policy.h"
#include "spank/request.h"
#include "spank/slurm.h"
#include "spank/step.h"
#include "spank/submit.h"
#include "spank/task.h"

#include <pthread.h>

#define PUBLIC __attribute__((visibility("default")))

#pragma GCC visibility push(default)
SPANK_PLUGIN(mpitrace, 1)
#pragma GCC visibility pop

static struct {
	struct config config;
	struct request request;
	bool asked; /* --mpitrace was given, here or by the job around us */
	bool inert; /* a copy of us under another path is at work */
	struct step step;
	struct notice notice;
} plugin;

/* True the first time a callback comes. */
static bool first(bool *seen)
{
	bool is_first = !*seen && !plugin.inert;
	*seen = true;
	return is_first;
}

static int on_option(int val, const char *optarg, int remote)
{
	struct error e = {""};
	(void)val;
	if (request_parse(optarg, &plugin.request, &e) == 0) {
		plugin.asked = true;
		return remote || policy_submit(&plugin.config, &plugin.request) ? 0 : -1;
	}
	if (remote)
		return 0;
	sl_error("%s", e.text);
	return -1;
}

static void read_config(int argc, char **argv)
{
	const char *bad = config_parse(argc, argv, &plugin.config);
	if (bad != NULL)
		sl_verbose("plugstack.conf: \"%s\" is not understood; known: " CONFIG_KEYS, bad);
	request_parse("", &plugin.request, NULL);
}

PUBLIC int slurm_spank_init(spank_t sp, int argc, char **argv)
{
	static bool seen;
	if (!first(&seen))
		return 0;
	read_config(argc, argv);
	submit_forget_outer();
	plugin.inert = !sl_register(sp, "mpitrace", "[key=value,...]",
				    "trace MPI calls and make a report; keys:" REQUEST_KEYS, on_option);
	return 0;
}

PUBLIC int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv)
{
	static bool seen;
	(void)argc, (void)argv;
	if (!first(&seen))
		return 0;
	notice_begin(&plugin.notice, &plugin.request, plugin.asked);
	if (spank_context() == S_CTX_REMOTE) {
		plugin.notice.wanted &= sl_env(sp, SUBMIT_UNHEARD) == NULL;
		bool on = policy_apply(sp, &plugin.config, plugin.asked, &plugin.request, &plugin.notice);
		step_begin(sp, &plugin.config, &plugin.request, on, &plugin.notice, &plugin.step);
	}
	if (spank_context() == S_CTX_LOCAL)
		submit_prepare(&plugin.request, policy_may_trace(&plugin.config, plugin.asked, &plugin.request),
			       &plugin.notice);
	return 0;
}

/* Of a heterogeneous step each part has its thread, and all one environment: whoever comes second waits for it. */
PUBLIC int slurm_spank_local_user_init(spank_t sp, int argc, char **argv)
{
	static bool seen;
	static pthread_mutex_t one_part = PTHREAD_MUTEX_INITIALIZER;
	(void)argc, (void)argv;
	pthread_mutex_lock(&one_part);
	if (first(&seen) && policy_expect(sp, &plugin.config, plugin.asked, &plugin.request))
		submit_step_known(sp, &plugin.request, plugin.notice.wanted);
	pthread_mutex_unlock(&one_part);
	return 0;
}

PUBLIC int slurm_spank_task_init_privileged(spank_t sp, int argc, char **argv)
{
	static bool seen;
	(void)sp, (void)argc, (void)argv;
	if (first(&seen))
		step_task_enter(&plugin.step);
	return 0;
}

PUBLIC int slurm_spank_task_init(spank_t sp, int argc, char **argv)
{
	static bool seen; /* one task a process */
	(void)argc, (void)argv;
	if (first(&seen))
		task_environment(sp, &plugin.config, &plugin.request, &plugin.step, &plugin.notice);
	return 0;
}

PUBLIC int slurm_spank_task_exit(spank_t sp, int argc, char **argv)
{
	static uint32_t last = UINT32_MAX; /* called twice, it is for the same task in a row */
	uint32_t task;
	(void)argc, (void)argv;
	if (plugin.inert || !sl_number(sp, S_TASK_GLOBAL_ID, &task) || task == last)
		return 0;
	last = task;
	step_task_exit(sp, &plugin.step, &plugin.notice);
	return 0;
}

PUBLIC int slurm_spank_exit(spank_t sp, int argc, char **argv)
{
	static bool seen;
	(void)sp, (void)argc, (void)argv;
	if (!first(&seen))
		return 0;
	if (spank_context() == S_CTX_REMOTE)
		step_end(&plugin.step);
	else if (spank_context() == S_CTX_LOCAL)
		submit_finish(&plugin.config, &plugin.notice);
	return 0;
}

PUBLIC int slurm_spank_job_prolog(spank_t sp, int argc, char **argv)
{
	static bool seen;
	if (!first(&seen))
		return 0;
	read_config(argc, argv);
	policy_job_begin(sp, &plugin.config);
	return 0;
}

PUBLIC int slurm_spank_job_epilog(spank_t sp, int argc, char **argv)
{
	static bool seen;
	uint32_t job_id;
	if (!first(&seen))
		return 0;
	read_config(argc, argv); /* slurm_spank_init is not called in this context */
	if (!sl_number(sp, S_JOB_ID, &job_id))
		return 0;
	epilog_begin(&plugin.config, job_id);
	policy_job_end(&plugin.config, job_id);
	return 0;
}
