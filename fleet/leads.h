/* leads.h - who leads which accounts, as a file of the site says: a user and an account on each line, # for what is
 * none. A lead sees the account's jobs, whoever ran them. */
#pragma once

#include "base/error.h"

#include <stddef.h>

#define LEADS_MOST 64

struct leads {
	char *accounts[LEADS_MOST]; /* ours to free */
	size_t n;
};

/* Accounts that user leads. The file is root's or ours, and nobody else may write it. 0 or -errno with text; then there
 * are none. */
int leads_read(const char *path, const char *user, struct leads *ret_l, struct error *e);
void leads_done(struct leads *l);
