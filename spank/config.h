/* config.h - what the administrator wrote behind the plugin's path in plugstack.conf. */
#pragma once

#include <limits.h>
#include <stdbool.h>

struct config {
	char spool[PATH_MAX];  /* spool=DIR; %n = this host's name */
	char libdir[PATH_MAX]; /* libdir=DIR, where libmpitrace.so is */
	char bindir[PATH_MAX]; /* bindir=DIR, where mpitrace is */
	bool default_on;       /* default=on: trace also without --mpitrace */
};

/* Fill *ret_config from the arguments, defaults for the rest. An argument that is not understood is
 * skipped and returned, so that the caller can say so: a bad plugstack.conf must not stop jobs.
 * NULL if all is well. */
const char *config_parse(int argc, char **argv, struct config *ret_config);
