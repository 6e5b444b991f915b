/* record_after.h - the job record of a step whose analysis is ready, into the outbox of the site's policy. */
#pragma once

/* Does nothing where the policy, the one of plugstack.conf or built in, names no outbox. What fails is said on standard
 * error and changes nothing. policy_file: another policy, or NULL. */
void record_after(const char *step_dir, const char *policy_file);
