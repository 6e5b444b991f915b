/* names.c - what numbers of an .mpix are called in tables. */
#include "format/wait_states.h"
#include "reports/export/format.h"

const char *export_state_name(uint8_t state)
{
	static const char *const names[] = {"",
#define ROW(state, name, words, meaning) #name,
					    WAIT_STATE_TABLE(ROW)
#undef ROW
	};
	return state < sizeof(names) / sizeof(*names) ? names[state] : "unknown";
}

const char *export_class_name(uint8_t class)
{
	static const char *const names[MPIX_CLASSES] = {"outside", "p2p", "wait", "collective",
							"sync",	   "rma", "io",	  "other"};
	return class < MPIX_CLASSES ? names[class] : "unknown";
}
