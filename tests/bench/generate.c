/* generate.c - traces of any size: the .mpic files of a simulated program (synth.h), in DIR/n<node>.mpic. Prints one
 * JSON object: {ranks, nodes, events, calls: {operation: calls}, length_s, faults: [{kind, rank}]}. */
#include "patterns.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct pattern {
	const char *name, *what;
	uint32_t min_ranks;
	void (*run)(struct synth *s, uint64_t events);
} patterns[] = {
#define ROW(name, min_ranks, what) {#name, what, min_ranks, pattern_##name},
	PATTERN_TABLE(ROW)
#undef ROW
};

#define PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

static void usage(FILE *to)
{
	fputs("usage: generate --pattern NAME --ranks N --nodes M --events-per-rank E [--clock steps|noise]\n"
	      "                [--threads-per-rank 1] [--seed S] [--without N]... -o DIR\n\n"
	      "  E is the least on average; patterns end with a whole iteration\n",
	      to);
	for (size_t i = 0; i < PATTERNS; i++)
		fprintf(to, "  %-10s %s\n", patterns[i].name, patterns[i].what);
}

static const struct pattern *find_pattern(const char *name)
{
	for (size_t i = 0; i < PATTERNS; i++)
		if (strcmp(patterns[i].name, name) == 0)
			return &patterns[i];
	return NULL;
}

/* A number from min to max; what is none ends the program. */
static uint64_t number(const char *text, const char *name, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && *end == '\0' && n >= min && n <= max)
		return n;
	fprintf(stderr, "--%s %s: not a number from %llu to %llu\n", name, text, (unsigned long long)min,
		(unsigned long long)max);
	exit(2);
}

struct wanted {
	struct synth_options o;
	const struct pattern *pattern;
	uint64_t events;
};

static bool parse(int argc, char **argv, struct wanted *w)
{
	static const struct option options[] = {
		{"pattern", 1, NULL, 'p'}, {"ranks", 1, NULL, 'r'},	      {"nodes", 1, NULL, 'n'},
		{"clock", 1, NULL, 'c'},   {"events-per-rank", 1, NULL, 'e'}, {"threads-per-rank", 1, NULL, 't'},
		{"seed", 1, NULL, 's'},	   {"without", 1, NULL, 'w'},	      {"help", 0, NULL, 'h'},
		{NULL, 0, NULL, 0}};
	int got, which = 0;
	*w = (struct wanted){.o = {.ranks = 4, .nodes = 1, .seed = 1}, .events = 1000};
	while ((got = getopt_long(argc, argv, "o:h", options, &which)) != -1) {
		if (got == 'h')
			usage(stdout), exit(0);
		if (got == 'p' && (w->pattern = find_pattern(optarg)) == NULL)
			return false;
		if (got == 'c' && strcmp(optarg, "steps") != 0 && strcmp(optarg, "noise") != 0)
			return false;
		if (got == 'r')
			w->o.ranks = (uint32_t)number(optarg, "ranks", 1, RANKS_MAX);
		else if (got == 'n')
			w->o.nodes = (uint32_t)number(optarg, "nodes", 1, 100000);
		else if (got == 'e')
			w->events = number(optarg, "events-per-rank", 1, UINT32_MAX);
		else if (got == 't')
			number(optarg, "threads-per-rank", 1, 1);
		else if (got == 's')
			w->o.seed = number(optarg, "seed", 0, UINT64_MAX);
		else if (got == 'w')
			w->o.without |= 1u << number(optarg, "without", 0, SYNTH_FAULTS_MAX - 1);
		else if (got == 'c')
			w->o.noise = strcmp(optarg, "noise") == 0;
		else if (got == 'o')
			w->o.dir = optarg;
		else if (got == '?')
			return false;
	}
	if (w->pattern != NULL && w->o.ranks < w->pattern->min_ranks)
		return false;
	return optind == argc && w->pattern != NULL && w->o.dir != NULL && w->o.nodes <= w->o.ranks;
}

static void print_calls(const struct synth *s)
{
	static const char *const names[SYNTH_OP_COUNT] = {
#define OP(name) "MPI_" #name,
		SYNTH_OPS(OP)
#undef OP
	};
	printf("{\"ranks\":%u,\"nodes\":%u,\"events\":%llu,\"calls\":{", s->options.ranks, s->options.nodes,
	       (unsigned long long)s->events);
	const char *between = "";
	for (uint32_t i = 0; i < SYNTH_OP_COUNT; i++) {
		if (s->op_calls[i] == 0)
			continue;
		printf("%s\"%s\":%llu", between, names[i], (unsigned long long)s->op_calls[i]);
		between = ",";
	}
	printf("},\"length_s\":%.9f,\"faults\":[", (double)(s->last_ps - s->begun_ps) * 1e-12);
	for (uint32_t i = 0; i < s->nfaults; i++)
		printf("%s{\"kind\":\"%s\",\"rank\":%u}", i > 0 ? "," : "", s->faults[i].kind, s->faults[i].rank);
	puts("]}");
}

int main(int argc, char **argv)
{
	struct wanted w;
	if (!parse(argc, argv, &w)) {
		usage(stderr);
		return 2;
	}
	w.o.program = w.pattern->name;
	struct synth *s = synth_create(&w.o);
	synth_init(s);
	w.pattern->run(s, (w.events - 1) * w.o.ranks); /* the last one of each is MPI_Finalize */
	synth_finalize(s);
	print_calls(s);
	return synth_end(s) < 0 ? 3 : 0;
}
