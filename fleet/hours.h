/* hours.h - what a record's core-hours went into. A core-hour is an allocated processor for an hour, as far as they are
 * known; else a rank counts as one. */
#pragma once

#include <cjson/cJSON.h>

/* (Re)place core_hours, hours, hung_core_hours, and what each issue cost, by what the record says of processors, time
 * and shares. Who adds to what is known of a job calls it again. */
void record_put_hours(cJSON *record);
