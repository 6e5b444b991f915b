/* main.c - `mpitrace SUBCOMMAND ...`: finds the row and runs it. */
#include "base/become.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct command *const commands[] = {
#define ROW(name) &cmd_##name,
	COMMANDS(ROW)
#undef ROW
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int help(FILE *to)
{
	fputs("mpitrace: what MPI cost a program, why, where in the source, and what to do next\n\n", to);
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(to, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n`mpitrace SUBCOMMAND --help` shows its options. Under Slurm: srun --mpitrace ./app\n", to);
	return to == stdout ? EXIT_DONE : EXIT_USAGE;
}

/* `mpitrace --as UID:GID:G,G,... SUBCOMMAND ...`, as root (spank/warden/child.h): the user's from here on, and out
 * of reach of the user's other processes. */
static void become_another(const char *text, bool agent)
{
	struct identity who;
	static gid_t gids[IDENTITY_GROUPS_MAX];
	if (geteuid() != 0 || !identity_parse(text, &who, gids) || !become(&who) || !become_closed())
		_exit(126);
	if (agent)
		become_confined(CONFINED_COUNTERS);
}

/* What a command has printed must be where it went: on a full disk there is nothing. The exit code of a program that
 * was run stays its own. */
static int written(const struct command *c, int code)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || c == &cmd_run)
		return code;
	fprintf(stderr, "mpitrace%s%s: cannot write: %s\n", c != NULL ? " " : "", c != NULL ? c->name : "",
		strerror(errno));
	return code == EXIT_DONE || code == EXIT_ISSUES ? EXIT_PARTIAL : code;
}

/* Whoever starts us without one of the first three descriptors has another file get its number, and our words in it.
 * What we start has none of them, as before. */
static void fill_descriptors(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < STDERR_FILENO)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd > STDERR_FILENO)
		close(fd);
}

typedef void (*handler_t)(int);

static struct {
	mode_t umask;
	handler_t on_limit, on_child;
} given;

/* What we make we read again, whatever a umask takes from others; a file that may not grow is an error to tell, which
 * leaves nothing half written, not a death; and a child whose end is ignored would have no exit code for us. */
static void arrange(void)
{
	given.umask = umask(077);
	umask(given.umask & 077);
	given.on_limit = signal(SIGXFSZ, SIG_IGN);
	given.on_child = signal(SIGCHLD, SIG_DFL);
}

void as_called(void)
{
	umask(given.umask);
	signal(SIGXFSZ, given.on_limit);
	signal(SIGCHLD, given.on_child);
}

int main(int argc, char **argv)
{
	fill_descriptors();
	arrange();
	if (argc > 3 && strcmp(argv[1], "--as") == 0) {
		become_another(argv[2], strcmp(argv[3], "collect") == 0);
		argc -= 2;
		argv += 2;
	}
	if (argc < 2)
		return help(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
		return written(NULL, help(stdout));
	if (strcmp(argv[1], "--version") == 0) {
		puts("mpitrace " MPITRACE_VERSION);
		return written(NULL, EXIT_DONE);
	}
	const struct command *c = command_find(argv[1]);
	if (c == NULL) {
		fprintf(stderr, "mpitrace: no subcommand \"%.64s\"; `mpitrace --help` lists them\n", argv[1]);
		return EXIT_USAGE;
	}
	if (argc == 3 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
		printf("usage: mpitrace %s\n\n%s\n", c->usage, c->summary);
		return written(c, EXIT_DONE);
	}
	return written(c, c->run(argc - 1, argv + 1));
}
