/* main.c - mpitrace-web, which `mpitrace` runs for those subcommands that serve pages: finds the row and runs it. */
#include "base/command.h"
#include "reports/web/programs.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
#define ROW(name) &cmd_##name,
	WEB_PROGRAMS(ROW)
#undef ROW
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *c = argc > 1 ? command_find(argv[1]) : NULL;
	if (c == NULL) {
		fputs("mpitrace-web: `mpitrace view` and others like it run this\n", stderr);
		return EXIT_USAGE;
	}
	return c->run(argc - 1, argv + 1);
}
