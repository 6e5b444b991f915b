/* link.h - what connects us with a destination: HTTP, or what its kind has in place of it. */
#pragma once

#include "fleet/publish/http.h"
#include "fleet/publish/kind.h"

struct link {
	struct http *http; /* either */
	void *store;
};

/* Nothing is opened for a file. NULL without memory, or when libcurl cannot do what is asked. */
struct link *link_create(const struct destination *d);
void link_destroy(const struct destination *d, struct link *l);
/* Can the server be reached, and is it who it says? status 200 if so. */
int link_reach(const struct destination *d, struct link *l, struct http_answer *ret_a, struct error *e);
