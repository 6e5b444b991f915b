/* live_alert.h - `mpitrace live DIR --alert SECONDS`: an alert in the site's outbox when the step hangs. */
#pragma once

/* Look at the step as long as somebody in it stands still. policy_file: another policy than the site's, or NULL. An
 * exit code: EXIT_ISSUES when an alert was left, EXIT_DONE when there is none to leave, else there can be none. */
int live_alert(const char *what, double after_s, const char *policy_file);
