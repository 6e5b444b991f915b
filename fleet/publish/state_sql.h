/* state_sql.h - statements as the files state*.c use them. */
#pragma once

#include "fleet/publish/state.h"

/* Run sql with n numbers bound, each an int64_t. Rows, if any, are not wanted. */
int state_run(struct state *s, struct error *e, const char *sql, int n, ...);
/* The same with ?1 a text, ?2 and ?3 numbers. */
int state_run_text(struct state *s, const char *sql, const char *text, int64_t a, int64_t b, struct error *e);
/* The first column of the first row, 0 when there is none; n numbers, each an int64_t. */
int state_number(struct state *s, const char *sql, int64_t *ret_number, struct error *e, int n, ...);
/* All of it or nothing: rc is what the steps since BEGIN said. */
int state_finish(struct state *s, int rc, struct error *e);
