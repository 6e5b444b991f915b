/* section.h - the sections of the page. Adding one = one file sec_<name>.c and one row here; the
 * order here is the order on the page. */
#pragma once

#include "reports/html/html.h"
#include "reports/html/page.h"

struct section {
	const char *id;			    /* anchor */
	const char *title;		    /* NULL: no frame and no entry in the contents; the section draws itself
			      whole */
	const char *how;		    /* one or two sentences: how to read it */
	bool (*has)(const struct model *m); /* is there something to show; NULL: always */
	void (*result)(
		struct page *p); /* what its heading says while it is folded, some words without a period; NULL: it
					   is never folded */
	void (*write)(struct page *p);
};

#define SECTIONS(ROW) \
	ROW(totals) \
	ROW(verdict) \
	ROW(trust) \
	ROW(answers) \
	ROW(issues) \
	ROW(efficiency) \
	ROW(time) \
	ROW(timeline) \
	ROW(phases) \
	ROW(strip) \
	ROW(ranks) \
	ROW(profile) \
	ROW(threads) \
	ROW(matrix) \
	ROW(traffic) \
	ROW(windows) \
	ROW(files) \
	ROW(waits) \
	ROW(collectives) \
	ROW(delays) \
	ROW(correctness) \
	ROW(callsites) \
	ROW(communicators) \
	ROW(topology) \
	ROW(job) \
	ROW(diff) \
	ROW(method) \
	ROW(next) \
	ROW(data)

#define DECLARE(name) extern const struct section section_##name;
SECTIONS(DECLARE)
#undef DECLARE
