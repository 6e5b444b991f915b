/* record.c - see record.h. */
#include "spank/record.h"
#include "format/layout.h"
#include "spank/loaded.h"
#include "spank/redact.h"
#include "spank/warden/spool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUDGET_TASKS_UNKNOWN 64u
#define BUDGET_LEAST_BYTES (1ull << 20)

static void put_identity(struct layout *l, const struct record *r)
{
	int ngids = r->ngids < LAYOUT_GIDS_MAX ? r->ngids : LAYOUT_GIDS_MAX;
	layout_set_number(l, LAYOUT_UID, r->uid);
	layout_set_number(l, LAYOUT_GID, r->gid);
	layout_set_list(l, LAYOUT_GIDS, r->gids, ngids > 0 ? (size_t)ngids : 0);
}

static void put_step(struct layout *l, const struct record *r)
{
	char step[SPOOL_NAME_MAX];
	spool_step_name(r->step_id, step);
	layout_set_number(l, LAYOUT_JOB_ID, r->called);
	layout_set_number(l, LAYOUT_RESTART, r->restart);
	layout_set(l, LAYOUT_STEP_ID, step);
	layout_set_number(l, LAYOUT_NODEID, r->nodeid);
	layout_set_number(l, LAYOUT_NNODES, r->nnodes);
	layout_set_number(l, LAYOUT_NTASKS, r->ntasks);
	layout_set_list(l, LAYOUT_TASKS, r->tasks, r->ntasks_here);
}

/* What a step may record on this node, shared by its tasks; nobody knows how many mpirun starts. */
static uint64_t default_budget(const struct record *r)
{
	uint64_t each = r->config->budget_bytes / (r->ntasks_here > 0 ? r->ntasks_here : BUDGET_TASKS_UNKNOWN);
	uint64_t cap = r->request->site.max_budget_bytes;
	if (each != 0 && each < BUDGET_LEAST_BYTES)
		each = BUDGET_LEAST_BYTES;
	return cap != 0 && (each == 0 || each > cap) ? cap : each;
}

static const char *report_name(const struct record *r)
{
	if (r->request->report == REPORT_NONE)
		return "none";
	return r->request->report == REPORT_SRUN && r->srun_reports ? "srun" : "node";
}

static void put_request(struct layout *l, const struct record *r)
{
	const struct request *q = r->request;
	layout_set(l, LAYOUT_MODE, q->profile ? "profile" : "events");
	layout_set_number(l, LAYOUT_BUDGET, q->budget_bytes > 0 ? q->budget_bytes : default_budget(r));
	layout_set_number(l, LAYOUT_STACK, q->stack);
	if (q->sample[0] != '\0')
		layout_set(l, LAYOUT_SAMPLE, q->sample);
	layout_set(l, LAYOUT_REPORT, report_name(r));
	layout_set_number(l, LAYOUT_BUDGET_S, r->config->report_seconds);
	layout_set_number(l, LAYOUT_TRACE, r->config->trace_bytes);
	layout_set_number(l, LAYOUT_RESERVE, r->config->reserve_bytes);
	layout_set(l, LAYOUT_UMASK, r->umask);
	layout_set(l, LAYOUT_NAME, q->name);
}

/* Only what a policy said: without one the file is as it always was. */
static void put_site(struct layout *l, const struct request_site *s)
{
	char names[64], mask[16];
	if (s->why[0] != '\0')
		layout_set(l, LAYOUT_POLICY, s->why);
	if (s->redact != 0)
		layout_set(l, LAYOUT_REDACT, redact_names(s->redact, names));
	snprintf(mask, sizeof(mask), "%03o", s->umask & 0777);
	if ((s->umask & REQUEST_UMASK_GIVEN) != 0)
		layout_set(l, LAYOUT_UMASK, mask);
	if (s->readers[0] != '\0')
		layout_set(l, LAYOUT_READERS, s->readers);
	if (s->page[0] != '\0')
		layout_set(l, LAYOUT_PAGE, s->page);
	if (s->finish[0] != '\0')
		layout_set(l, LAYOUT_FINISH, s->finish);
	if (s->account[0] != '\0')
		layout_set(l, LAYOUT_ACCOUNT, s->account);
	if (s->partition[0] != '\0')
		layout_set(l, LAYOUT_PARTITION, s->partition);
	if (s->alert_s != 0)
		layout_set_number(l, LAYOUT_ALERT, s->alert_s);
}

static void put_modules(struct layout *l, const struct record *r)
{
	char names[LOADED_TEXT_MAX];
	if (!r->request->site.modules)
		return;
	loaded_names(r->loaded, names);
	layout_set(l, LAYOUT_MODULES, names);
}

int record_write(int step_fd, const struct record *r, struct error *e)
{
	struct layout l = {0};
	put_identity(&l, r);
	put_step(&l, r);
	put_request(&l, r);
	layout_set(&l, LAYOUT_OUT, r->out);
	layout_set(&l, LAYOUT_CLUSTER, r->cluster);
	layout_set(&l, LAYOUT_NODE, r->node);
	layout_set(&l, LAYOUT_NODELIST, r->nodelist);
	layout_set(&l, LAYOUT_SWITCHES, r->switches);
	layout_set(&l, LAYOUT_SLURM, r->slurm);
	layout_set(&l, LAYOUT_SUBMIT, r->submit);
	layout_set_argv(&l, r->argv, r->argc);
	put_site(&l, &r->request->site);
	put_modules(&l, r);
	layout_set_number(&l, LAYOUT_PARENT, (uint64_t)getpid());
	redact_layout(&l, r->request->site.redact, r->job_id);
	int rc = layout_write(step_fd, &l, e);
	layout_done(&l);
	return rc;
}
