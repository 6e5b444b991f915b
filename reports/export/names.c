/* names.c - what numbers of an .mpix are called in tables. */
#include "reports/export/format.h"

#include "format/waits.h"

const char *export_state_name(uint8_t state)
{
	return state <= WAIT_KINDS ? wait_kinds[state].name : "unknown";
}

const char *export_class_name(uint8_t class)
{
	static const char *const names[MPIX_CLASSES] = {"outside", "p2p", "wait", "collective",
							"sync",	   "rma", "io",	  "other"};
	return class < MPIX_CLASSES ? names[class] : "unknown";
}
