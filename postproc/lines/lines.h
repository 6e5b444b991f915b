/* lines.h - from module and offset to function, file and line. */
#pragma once

#include "postproc/read/step.h"

/* Fill file, line and function of all sites and callers as far as the modules are still there, are the same
 * (build id) and have debug information or symbols. What cannot be found stays NULL. */
void lines_resolve(struct step *s);
