/* details.h - what the record of a job has beside the columns of job_list, as columns of the view job_details of the
 * database: the MPI library, what carried messages, environment modules, I/O of MPI. */
#pragma once

#include "fleet/db.h"

#include <cjson/cJSON.h>

/* Of the job with that number in the database; inside of the caller's transaction. 0 or -errno with text. */
int details_put(struct fleet *f, sqlite3_stmt *insert, sqlite3_int64 job, const cJSON *record, struct error *e);
/* "a,b,c" of a list of texts in a record, as far as there is room; NULL where there is no list. */
#define DETAILS_LIST_ROOM 2048
const char *details_joined(const cJSON *record, const char *name, char room[DETAILS_LIST_ROOM]);
/* What details_put() takes. */
#define DETAILS_INSERT "INSERT INTO details VALUES(?,?,?,?,?,?,?,?)"
