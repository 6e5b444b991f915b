/* check.h - do the messages of a trace keep to a protocol? In: .mpix, specification (spec.h).  Out: JSON, schema
 * mpitrace/check/1. */
#pragma once

#include "base/json.h"
#include "format/mpix.h"
#include "postproc/protocol/spec.h"

#define CHECK_RESULTS_MAX 10000u /* messages listed: first those that do not conform */

/* level 0 to 3. *ret_conforms: no message that was received is red or orange; member `unreceived` counts the sends of
 * which no receive is known. 0, or -errno with text; -ERANGE: the specification cannot be computed for some message. */
int check_trace(struct mpix_file *f, const char *path, const cJSON *analysis, const struct spec *spec, unsigned level,
		cJSON **ret_result, bool *ret_conforms, struct error *e);
