/* account.h - what Slurm's own account says of jobs (sacct), joined to their records: fleet/fields.h has the fields. */
#pragma once

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stddef.h>

#define ACCOUNT_JOBS_MAX 200u /* of one question */

struct account;

/* What is done each few seconds while sacct is waited for. */
struct account_wait {
	void (*go_on)(void *context);
	void *context;
};

/* Ask sacct of n jobs, by their numbers; what is no number is passed over. wait: or NULL. 0, or -errno with text: there
 * is no sacct, or it does not answer within a minute (-ETIMEDOUT). */
int account_ask(const char *const *jobs, size_t n, const struct account_wait *wait, struct account **ret_a,
		struct error *e);
/* NULL is fine. */
void account_free(struct account *a);

enum account_fate {
	ACCOUNT_NONE,  /* no step of Slurm's, or of another user */
	ACCOUNT_LATER, /* it is not there yet, or not over there */
	ACCOUNT_JOINED,
};

/* Put what is known of the record's step into it, and its core-hours anew. */
enum account_fate account_join(const struct account *a, cJSON *record);
