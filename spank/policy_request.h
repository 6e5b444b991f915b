/* policy_request.h - what the site's decision makes of the user's wishes. */
#pragma once

#include "spank/policy/policy.h"
#include "spank/request.h"

/* The user's side of it. */
struct policy_wish {
	bool asked;	/* --mpitrace was given, with what the request says */
	bool opted_out; /* MPITRACE=off in the job's environment */
};

/* Shall the job be traced? Changes r into what it gets; r->site.why says what was done. default_on: a job that does not
 * ask gets events where no file says a level. */
bool policy_combine(const struct policy_decision *d, bool default_on, const struct policy_wish *wish,
		    struct request *r);
