/* apart.h - reading a module in a process of its own: debug information is a language, its readers have errors, and a
 * trace may name any file. */
#pragma once

#include "postproc/read/step.h"

typedef void apart_fn(struct step *s, uint32_t module);

/* Call resolve for the module in a child with bounds of time and memory, which may neither write nor start anything,
 * and take over what it finds for the sites of this module. If it dies, they have no names. */
void apart_resolve(struct step *s, uint32_t module, apart_fn *resolve);
