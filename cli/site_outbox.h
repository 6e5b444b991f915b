/* site_outbox.h - the outbox that the site's policy names, opened, and what may be said of users in it. */
#pragma once

#include "base/error.h"
#include "fleet/user.h"

#include <stdbool.h>

struct site_outbox {
	char *path;
	int fd;			  /* O_PATH; -1: the policy names none */
	char user[USER_TEXT_MAX]; /* ourselves, as records name users; after site_outbox_user() */
	bool without_paths;	  /* directories would tell the name */
	unsigned long long how;	  /* record_users */
	char *key_file;
};

/* Of policy_file, or NULL: of the one of plugstack.conf, else of the built-in place. 0, also when there is none; -errno
 * with text, empty when the policy has said it itself. site_outbox_done() in any case. */
int site_outbox_open(const char *policy_file, struct site_outbox *ret_o, struct error *e);
int site_outbox_user(struct site_outbox *o, struct error *e);
void site_outbox_done(struct site_outbox *o);
