/* slurm_plugin.c - what Slurm sees of a plugin before it runs any of it: for installations that the doctor is shown.
 * As in slurm/spank.h, without Slurm. */
#include <stdint.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN extern const char plugin_name[], plugin_type[];
SHOWN extern const uint32_t plugin_version;

SHOWN const char plugin_name[] = NAME;
SHOWN const char plugin_type[] = TYPE;
#ifdef SERIES
SHOWN const uint32_t plugin_version = SERIES << 8;
#endif
