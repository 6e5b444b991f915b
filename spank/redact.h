/* redact.h - what a site does not want in traces is left out where the step is described. */
#pragma once

#include "format/layout.h"

/* Take arguments, directories and names of hosts out of the record, as `what` (enum policy_redact) says. `job` makes
 * the stand-ins of hosts differ between jobs. */
void redact_layout(struct layout *l, unsigned what, uint32_t job);
/* "arguments,paths": for the layout and the tracer. */
const char *redact_names(unsigned what, char ret_text[64]);
