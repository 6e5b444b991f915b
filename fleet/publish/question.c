/* question.c - see question.h. */
#include "fleet/publish/question.h"
#include "fleet/publish/kind.h"
#include "fleet/publish/postgres.h"

#include <errno.h>

int publish_question(const struct destinations *all, const char *sql, enum query_form form, FILE *out, struct error *e)
{
	const struct destination *d = NULL;
	for (size_t i = all->all.n; i-- > 0;)
		if (all->all.at[i].kind == &publish_postgresql)
			d = &all->all.at[i];
	if (d == NULL)
		return fail(e, -ENOENT,
			    "no destination has type = postgresql; --db FILE asks a database of `fleet ingest`");
	struct postgres *p = postgres_create(d);
	int rc = p != NULL ? postgres_query(p, sql, form, out, e) : fail(e, -ENOMEM, "out of memory");
	postgres_destroy(p);
	return rc;
}
