/* sites.h - call sites: where in the program's files a call stands, and where its callers. Equal on all ranks, whatever
 * their addresses. */
#pragma once

#include "postproc/read/step.h"

/* Number of a module of the step, added if new; NONE when out of memory. */
uint32_t sites_module(struct step *s, struct span path, struct span build_id);
/* Set sig->site and sig->stack. 0 or -ENOMEM. */
int sites_add(struct step *s, const struct process *p, struct sig *sig);
/* Call sites, then frames of callers: all that has a module and an offset. */
size_t sites_places(const struct step *s);
struct site *sites_place(struct step *s, size_t i);
void sites_done(struct step *s);
