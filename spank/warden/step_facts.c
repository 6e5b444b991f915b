/* step_facts.c - see step_facts.h. */
#include "spank/warden/step_facts.h"
#include "format/layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(gid_t) == sizeof(uint32_t), "groups are written and read as a list of numbers");
_Static_assert(LAYOUT_GIDS_MAX <= IDENTITY_GROUPS_MAX, "all of them can be handed on");

static bool get_number(const struct layout *l, enum layout_key key, uint32_t *ret_value)
{
	uint64_t value = layout_number(l, key, UINT64_MAX);
	*ret_value = (uint32_t)value;
	return value < UINT32_MAX;
}

static enum step_facts_report report_of(const char *text)
{
	return strcmp(text, "none") == 0   ? STEP_REPORT_NONE
	       : strcmp(text, "srun") == 0 ? STEP_REPORT_SRUN
					   : STEP_REPORT_NODE;
}

static bool is_left(enum step_facts_report report, const char *finish)
{
	return strcmp(finish, "leave") == 0 || (report == STEP_REPORT_SRUN && strcmp(finish, "queue") == 0);
}

static int get(const struct layout *l, struct step_facts *b)
{
	const char *out = layout_text(l, LAYOUT_OUT);
	memset(b, 0, sizeof(*b));
	b->who.gids = b->gids;
	b->who.ngids = layout_list(l, LAYOUT_GIDS, b->gids, LAYOUT_GIDS_MAX);
	if (!get_number(l, LAYOUT_UID, &b->who.uid) || !get_number(l, LAYOUT_GID, &b->who.gid) || b->who.ngids < 0 ||
	    !get_number(l, LAYOUT_NODEID, &b->nodeid) || !get_number(l, LAYOUT_NNODES, &b->nnodes) ||
	    !layout_has(l, LAYOUT_GIDS) || !layout_has(l, LAYOUT_REPORT) || !layout_has(l, LAYOUT_OUT) ||
	    (size_t)snprintf(b->out, sizeof(b->out), "%s", out) >= sizeof(b->out))
		return -EBADMSG;
	b->report = out[0] == '/' ? report_of(layout_text(l, LAYOUT_REPORT)) : STEP_REPORT_NONE;
	b->report_seconds = layout_number(l, LAYOUT_BUDGET_S, 0);
	b->alert_seconds = out[0] == '/' && b->nodeid == 0 ? layout_number(l, LAYOUT_ALERT, 0) : 0;
	b->leave = is_left(b->report, layout_text(l, LAYOUT_FINISH));
	return 0;
}

int step_facts_read(int step_fd, struct step_facts *ret_step_facts)
{
	struct layout l;
	int rc = layout_read(step_fd, true, &l, NULL);
	if (rc < 0)
		return rc;
	rc = get(&l, ret_step_facts);
	layout_done(&l);
	return rc;
}
