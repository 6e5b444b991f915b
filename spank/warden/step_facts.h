/* step_facts.h - what root needs of a step's record (format/layout.h), which only root can have written. */
#pragma once

#include "base/become.h"
#include "format/limits.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum step_facts_report { STEP_REPORT_NONE, STEP_REPORT_SRUN, STEP_REPORT_NODE };

struct step_facts {
	struct identity who; /* points into gids */
	gid_t gids[LAYOUT_GIDS_MAX];
	uint32_t nodeid, nnodes;
	enum step_facts_report report;
	uint64_t report_seconds;
	uint64_t alert_seconds; /* a step that hangs for so long leaves an alert; 0: never, or not from this node */
	bool leave; /* a report that takes too long is nobody's: its user makes it, or a job that srun has queued */
	char out[PATH_MAX];
};

/* 0, or -errno: the record is not root's (our own), or not complete. The struct must not be moved afterwards. */
int step_facts_read(int step_fd, struct step_facts *ret_step_facts);
