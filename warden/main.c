/* main.c - `mpitrace-warden step|epilog|sweep`: root's side of a node (warden.h). Not for the hand: the plugin and
 * `mpitrace sweep` start it. */
#include "warden/warden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (geteuid() != 0) {
		fputs("mpitrace-warden: only root can run it\n", stderr);
		return 2;
	}
	if (argc == 5 && strcmp(argv[1], "step") == 0)
		return warden_step(argv[2], argv[4], argv[3]);
	if (argc >= 5 && strcmp(argv[1], "epilog") == 0)
		return warden_epilog(argv[2], argv[3], argv + 4, argc - 4);
	if ((argc == 4 || argc == 6) && strcmp(argv[1], "sweep") == 0)
		return warden_sweep(argv[2], argv[3], argc == 6 ? argv[4] : NULL,
				    argc == 6 ? strtoull(argv[5], NULL, 10) : 0);
	fputs("usage: mpitrace-warden step SPOOL MPITRACE STEPDIR | epilog SPOOL MPITRACE RUN... | sweep SPOOL "
	      "MPITRACE [DIRECTORY RETENTION_SECONDS]\n",
	      stderr);
	return 2;
}
