/* cmd_doctor.c - is this installation right, and if not, what to do. */
#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

static int doctor(int argc, char **argv)
{
	(void)argv;
	if (argc != 1)
		return usage_error("doctor", "takes no arguments");
	int ok = access(MPITRACE_PKGLIBDIR "/libmpitrace.so", R_OK) == 0;
	printf("%s tracer %s\n", ok ? "ok " : "BAD", MPITRACE_PKGLIBDIR "/libmpitrace.so");
	return ok ? EXIT_DONE : EXIT_FINDINGS;
}

const struct command cmd_doctor = {"doctor", doctor, "is this installation right, and if not, what to do",
				   "doctor"};
