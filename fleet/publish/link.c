/* link.c - see link.h. */
#include "fleet/publish/link.h"

#include <stdlib.h>

struct link *link_create(const struct destination *d)
{
	struct link *l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	if (d->kind->store != NULL)
		l->store = d->kind->store->create(d);
	else if (d->kind->append == NULL)
		l->http = http_create(d);
	if (l->store != NULL || l->http != NULL || d->kind->append != NULL)
		return l;
	free(l);
	return NULL;
}

void link_destroy(const struct destination *d, struct link *l)
{
	if (l != NULL && l->store != NULL)
		d->kind->store->destroy(l->store);
	if (l != NULL)
		http_destroy(l->http);
	free(l);
}

int link_reach(const struct destination *d, struct link *l, struct http_answer *ret_a, struct error *e)
{
	if (l->store == NULL)
		return http_reach(l->http, ret_a, e);
	d->kind->store->reach(l->store, ret_a);
	return 0;
}
