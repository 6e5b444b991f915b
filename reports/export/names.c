/* names.c - what numbers of an .mpix are called in tables. */
#include "reports/export/format.h"

const char *export_state_name(uint8_t state)
{
	static const char *const names[] = {
		"",
		"late_sender",
		"late_sender_wrong_order",
		"late_receiver",
		"wait_at_barrier",
		"barrier_completion",
		"wait_at_nxn",
		"nxn_completion",
		"late_broadcast",
		"early_reduce",
		"early_scan",
		"late_reduce",
		"wait_at_create",
		"wait_at_fence",
		"wait_at_free",
		"late_post",
		"early_wait",
		"late_complete",
		"early_transfer",
		"lock_contention",
		"wait_for_progress",
		"wait_at_collective_io",
	};
	return state < sizeof(names) / sizeof(*names) ? names[state] : "unknown";
}

const char *export_class_name(uint8_t class)
{
	static const char *const names[MPIX_CLASSES] = {"outside", "p2p", "wait", "collective",
							"sync",	   "rma", "io",	  "other"};
	return class < MPIX_CLASSES ? names[class] : "unknown";
}
