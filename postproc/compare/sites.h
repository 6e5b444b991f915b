/* sites.h - which call site of one run is which of another: functions keep their names while lines move. */
#pragma once

#include "postproc/compare/parts.h"

struct site {
	size_t run, order; /* order: in its run's list */
	const cJSON *row;
	char *key;	  /* sites of one key are the same, or stand in one function and call the same */
	const char *file; /* without its folder; "" when unknown */
	double line, address, id;
	char slot[32]; /* with the key: what is compared with what */
};

struct matched_sites {
	VEC(struct site) list; /* by key, run, and place in the source */
	VEC(const struct site *) by_id;
};

/* All call sites of both sides, with their slots. 0 or -ENOMEM; matched_sites_done() after both. */
int matched_sites_make(const struct sides *s, struct matched_sites *ret_sites);
void matched_sites_done(struct matched_sites *x);
/* The site that this run's lists call by that id, or NULL. */
const struct site *matched_sites_find(const struct matched_sites *x, size_t run, double id);
