/* record.c - see record.h. */
#include "spank/record.h"
#include "format/layout.h"
#include "spank/spool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(gid_t) == sizeof(uint32_t), "groups are written and read as a list of numbers");

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
	layout_set_number(l, LAYOUT_JOB_ID, r->job_id);
	layout_set_number(l, LAYOUT_RESTART, r->restart);
	layout_set(l, LAYOUT_STEP_ID, step);
	layout_set_number(l, LAYOUT_NODEID, r->nodeid);
	layout_set_number(l, LAYOUT_NNODES, r->nnodes);
	layout_set_number(l, LAYOUT_NTASKS, r->ntasks);
	layout_set_list(l, LAYOUT_TASKS, r->tasks, r->ntasks_here);
}

static void put_request(struct layout *l, const struct request *r)
{
	layout_set(l, LAYOUT_MODE, r->profile ? "profile" : "events");
	layout_set_number(l, LAYOUT_BUDGET, r->budget_bytes);
	layout_set_number(l, LAYOUT_STACK, r->stack);
	layout_set(l, LAYOUT_REPORT, request_report_name(r->report));
	layout_set(l, LAYOUT_NAME, r->name);
}

int record_write(int step_fd, const struct record *r, struct error *e)
{
	struct layout l = {0};
	put_identity(&l, r);
	put_step(&l, r);
	put_request(&l, r->request);
	layout_set(&l, LAYOUT_OUT, r->out);
	layout_set(&l, LAYOUT_CLUSTER, r->cluster);
	layout_set(&l, LAYOUT_NODE, r->node);
	layout_set(&l, LAYOUT_NODELIST, r->nodelist);
	layout_set(&l, LAYOUT_SWITCHES, r->switches);
	layout_set(&l, LAYOUT_SLURM, r->slurm);
	layout_set(&l, LAYOUT_SUBMIT, r->submit);
	layout_set_argv(&l, r->argv, r->argc);
	int rc = layout_write(step_fd, &l, e);
	layout_done(&l);
	return rc;
}

static bool get_number(const struct layout *l, enum layout_key key, uint32_t *ret_value)
{
	uint64_t value = layout_number(l, key, UINT64_MAX);
	*ret_value = (uint32_t)value;
	return value < UINT32_MAX;
}

static int get_brief(const struct layout *l, struct record_brief *b)
{
	const char *out = layout_text(l, LAYOUT_OUT);
	memset(b, 0, sizeof(*b));
	b->ngids = layout_list(l, LAYOUT_GIDS, b->gids, LAYOUT_GIDS_MAX);
	if (!get_number(l, LAYOUT_UID, &b->uid) || !get_number(l, LAYOUT_GID, &b->gid) || b->ngids < 0 ||
	    !get_number(l, LAYOUT_NODEID, &b->nodeid) || !get_number(l, LAYOUT_NNODES, &b->nnodes) ||
	    !layout_has(l, LAYOUT_GIDS) || !layout_has(l, LAYOUT_REPORT) || !layout_has(l, LAYOUT_OUT) ||
	    (size_t)snprintf(b->out, sizeof(b->out), "%s", out) >= sizeof(b->out))
		return -EBADMSG;
	b->report = strcmp(layout_text(l, LAYOUT_REPORT), "none") != 0;
	return 0;
}

int record_read(int step_fd, struct record_brief *ret_brief)
{
	struct layout l;
	int rc = layout_read(step_fd, true, &l, NULL);
	if (rc < 0)
		return rc;
	rc = get_brief(&l, ret_brief);
	layout_done(&l);
	return rc;
}
