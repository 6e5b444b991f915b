/* postgres_none.c - postgres.h in a build without libpq: kind_postgresql.c says so before any of this is called. */
#include "fleet/publish/postgres.h"

#include <errno.h>

struct postgres *postgres_create(const struct destination *d)
{
	(void)d;
	return NULL;
}

void postgres_destroy(struct postgres *p)
{
	(void)p;
}

void postgres_ask(struct postgres *p, const char *sql, int n, const char *const *values, struct http_answer *ret_a)
{
	(void)p, (void)sql, (void)n, (void)values;
	*ret_a = (struct http_answer){.body = ""};
}

int postgres_query(struct postgres *p, const char *sql, enum query_form form, FILE *out, struct error *e)
{
	(void)p, (void)sql, (void)form, (void)out;
	return fail(e, -ENOSYS, "this mpitrace was built without libpq");
}
