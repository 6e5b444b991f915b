/* verdict.c - see verdict.h. A line is a word and the rest; nothing of it need be true. */
#include "postproc/read/verdict.h"
#include "postproc/read/step.h"

#include "base/regular.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 3 /* of the first deadlock */

static void take_ranks(struct live_verdict *v, const char *rest, uint32_t nranks)
{
	char *end;
	for (unsigned long rank = strtoul(rest, &end, 10); end != rest && v->nranks < VERDICT_RANKS_MAX;
	     rank = strtoul(rest, &end, 10)) {
		if (rank < nranks)
			v->ranks[v->nranks++] = (uint32_t)rank;
		rest = end;
	}
}

static void parse_line(struct live_verdict *v, char *line, uint32_t nranks)
{
	char *rest = strchr(line, ' ');
	line[strcspn(line, "\n")] = '\0';
	if (rest == NULL)
		return;
	*rest++ = '\0';
	if (strcmp(line, "deadlock") == 0) {
		v->deadlock = true;
		v->since_s = strtod(rest, NULL);
	}
	if (strcmp(line, "ranks") == 0)
		take_ranks(v, rest, nranks);
	if (strcmp(line, "why") == 0)
		snprintf(v->why, sizeof(v->why), "%s", rest);
}

void verdict_read(struct step *s)
{
	const char *trace = s->nodes.n > 0 ? s->nodes.at[0].file.path : NULL;
	char path[4096 + 32], line[4096];
	const char *slash = trace != NULL ? strrchr(trace, '/') : NULL;
	int dir = slash != NULL ? (int)(slash - trace) + 1 : 0;
	s->verdict = (struct live_verdict){.deadlock = false};
	if (trace == NULL || snprintf(path, sizeof(path), "%.*smpitrace-verdict", dir, trace) >= (int)sizeof(path))
		return;
	FILE *f = regular_stream(path, NULL);
	for (int i = 0; f != NULL && i < LINES_MAX && fgets(line, sizeof(line), f) != NULL; i++)
		parse_line(&s->verdict, line, s->nranks);
	if (f != NULL)
		fclose(f);
	s->verdict.deadlock &= s->verdict.why[0] != '\0';
}
