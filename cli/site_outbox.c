/* site_outbox.c - see site_outbox.h. */
#include "cli/site_outbox.h"
#include "cli/doctor.h"
#include "spank/policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USERS_NAME, USERS_HASH, USERS_NONE }; /* places in the policy's table */

static void say_error(void *context, const char *text)
{
	(void)context;
	fprintf(stderr, "mpitrace: policy: %s\n", text);
}

static int apply_policy(const struct policy_decision *d, struct site_outbox *o, struct error *e)
{
	o->how = policy_number(d, POLICY_RECORD_USERS);
	o->without_paths = o->how != USERS_NAME;
	o->path = strdup(policy_text(d, POLICY_OUTBOX));
	o->key_file = strdup(policy_text(d, POLICY_SITE_KEY));
	if (o->path == NULL || o->key_file == NULL)
		return fail(e, -ENOMEM, "out of memory");
	if (o->path[0] == '\0')
		return 0;
	o->fd = open(o->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return o->fd >= 0 ? 0 : fail(e, -errno, "outbox %s: %s", o->path, strerror(errno));
}

int site_outbox_open(const char *policy_file, struct site_outbox *ret_o, struct error *e)
{
	struct policy_errors errors = {.say = say_error};
	struct policy_facts nothing = {0};
	struct policy *p = NULL;
	struct plugstack stack;
	*ret_o = (struct site_outbox){.fd = -1};
	*e = (struct error){""};
	plugstack_read(&stack);
	int rc = policy_load(policy_file != NULL ? policy_file : stack.config.policy,
			     policy_file != NULL ? geteuid() : 0, &p, &errors);
	if (rc < 0)
		return rc;
	struct policy_decision d = policy_decide(p, &nothing);
	rc = apply_policy(&d, ret_o, e);
	policy_free(p);
	return rc;
}

int site_outbox_user(struct site_outbox *o, struct error *e)
{
	char name[USER_TEXT_MAX];
	const struct passwd *p = getpwuid(geteuid());
	o->user[0] = '\0';
	if (p != NULL)
		snprintf(name, sizeof(name), "%s", p->pw_name);
	else
		snprintf(name, sizeof(name), "%u", (unsigned)geteuid());
	if (o->how == USERS_HASH)
		return user_hash_by(o->key_file, name, o->user, e);
	if (o->how == USERS_NAME)
		snprintf(o->user, sizeof(o->user), "%s", name);
	return 0;
}

void site_outbox_done(struct site_outbox *o)
{
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o->key_file);
	o->path = o->key_file = NULL;
	o->fd = -1;
}
