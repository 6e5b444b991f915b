/* report.h - a fleet's pages: static, with no server, no network, and one script, which sorts, filters and
 * exports tables. */
#pragma once

#include "fleet/db.h"
#include "fleet/leads.h"

#include <stdio.h>

struct fleet_report {
	const char *directory;	   /* is made if it is not there */
	unsigned days;		   /* so many of the last days have a page with all of their jobs */
	unsigned jobs;		   /* so many of those that lost most are on a page, and have one of their own */
	const char *user;	   /* pages of this one alone, which name nobody else; NULL: of all */
	const struct leads *leads; /* accounts whose jobs this user sees as well, or NULL */
	unsigned public_least;	   /* figures for anybody alone, each of at least so many users; 0: pages as above */
	bool timing;		   /* say on standard error how long each page took */
};

/* One page or table by its name in that directory ("index.html", "jobs.csv", "" for the first page) into out, as
 * the database is now; of r, `user`, `leads`, `days` and `jobs` count. Each job has a page. 0; -ENOENT: nothing of that
 * name, or none that this user may see; -ESRCH: no such user; or -errno with text. */
int fleet_page(struct fleet *f, const struct fleet_report *r, const char *name, FILE *out, struct error *e);
/* Write all pages; each appears whole. fleet_estimate() comes first. 0 or -errno with text. */
int fleet_report(struct fleet *f, const struct fleet_report *r, struct error *e);
