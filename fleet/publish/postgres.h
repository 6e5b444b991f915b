/* postgres.h - one connection to a PostgreSQL, opened when it is needed; the only user of libpq in the project. Nothing
 * waits longer than the destination's timeout. Answers are those of http.h, as far as send.c judges by them: status 200
 * it did, 422 what was sent is at fault, 0 no server, 503 anything else, with text for people. */
#pragma once

#include "fleet/answer.h"
#include "fleet/publish/http.h"

/* NULL without memory, or in a build without libpq. */
struct postgres *postgres_create(const struct destination *d);
void postgres_destroy(struct postgres *p);
/* One statement, of which values are $1 and so on. The schema is there then, and of this version. ret_a->body: the
 * first column of the first row. */
void postgres_ask(struct postgres *p, const char *sql, int n, const char *const *values, struct http_answer *ret_a);
/* A question of somebody's, which can only read. It may take as long as it takes. 0 or -errno with text. */
int postgres_query(struct postgres *p, const char *sql, enum query_form form, FILE *out, struct error *e);
