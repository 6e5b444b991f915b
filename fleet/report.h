/* report.h - a fleet's pages: static, with no server, no network, and one script, which only sorts and filters
 * tables. */
#pragma once

#include "fleet/db.h"

struct fleet_report {
	const char *directory; /* is made if it is not there */
	unsigned days;	       /* so many of the last days have a page with all of their jobs */
	unsigned jobs;	       /* so many of those that lost most are on a page, and have one of their own */
	const char *user;      /* pages of this one alone, which name nobody else; NULL: of all */
	bool timing;	       /* say on standard error how long each page took */
};

/* Write all pages; each appears whole. fleet_estimate() comes first. 0 or -errno with text. */
int fleet_report(struct fleet *f, const struct fleet_report *r, struct error *e);
