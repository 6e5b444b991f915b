/* outcome.c - see outcome.h. In: "outcome" of the nodes' METAs (collect/meta.c); the file `mpitrace-outcome`. */
#include "postproc/read/outcome.h"
#include "postproc/read/step.h"

#include "base/regular.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOME_LINES_MAX 32

static const char *const names[] = {
#define ROW(name, words) #name,
	OUTCOMES(ROW)
#undef ROW
};
static const char *const said[] = {
#define ROW(name, words) words,
	OUTCOMES(ROW)
#undef ROW
};

static void set_field(struct outcome *o, const char *word, const char *value)
{
	if (strcmp(word, "signal") == 0)
		o->signal = atoi(value);
	if (strcmp(word, "by") == 0)
		o->by = strtoll(value, NULL, 10);
	if (strcmp(word, "launcher") == 0) {
		o->have_launcher = true;
		o->launcher_status = atoi(value);
	}
	for (int i = 0; i < OUTCOME_STATES && strcmp(word, "state") == 0; i++)
		if (strcmp(names[i], value) == 0)
			o->state = (enum outcome_state)i;
}

static void read_file(struct outcome *o, const char *trace)
{
	char path[4096 + 32], line[128], word[32], value[64];
	const char *slash = strrchr(trace, '/');
	int dir = slash != NULL ? (int)(slash - trace) + 1 : 0;
	if (snprintf(path, sizeof(path), "%.*smpitrace-outcome", dir, trace) >= (int)sizeof(path))
		return;
	FILE *f = regular_stream(path, NULL);
	for (int i = 0; f != NULL && i < OUTCOME_LINES_MAX && fgets(line, sizeof(line), f) != NULL; i++)
		if (sscanf(line, "%31s %63s", word, value) == 2)
			set_field(o, word, value);
	if (f != NULL)
		fclose(f);
}

void outcome_read(struct step *s)
{
	struct outcome *o = &s->outcome;
	*o = (struct outcome){.by = -1};
	for (size_t i = 0; i < s->nodes.n; i++) {
		const cJSON *of_node = cJSON_GetObjectItemCaseSensitive(s->nodes.at[i].meta, "outcome"), *x;
		cJSON_ArrayForEach(x, of_node)
		{
			if (cJSON_IsString(x) && x->string != NULL)
				set_field(o, x->string, x->valuestring);
		}
	}
	if (s->nodes.n > 0 && s->nodes.at[0].file.path != NULL)
		read_file(o, s->nodes.at[0].file.path);
	if (o->state == OUTCOME_UNKNOWN && o->signal != 0)
		o->state = OUTCOME_STOPPED;
	else if (o->state == OUTCOME_UNKNOWN && o->have_launcher)
		o->state = o->launcher_status == 0 ? OUTCOME_COMPLETED : OUTCOME_FAILED;
}

bool outcome_is_stop(const struct outcome *o)
{
	return o->state == OUTCOME_STOPPED || o->state == OUTCOME_CANCELLED || o->state == OUTCOME_TIMEOUT ||
	       o->state == OUTCOME_PREEMPTED || o->state == OUTCOME_REQUEUED || o->state == OUTCOME_NODE_FAIL;
}

bool outcome_is_failure(const struct outcome *o)
{
	return o->state == OUTCOME_FAILED && o->signal == 0;
}

const char *outcome_name(const struct outcome *o)
{
	return names[o->state];
}

const char *outcome_text(const struct outcome *o, char ret_text[64])
{
	ret_text[0] = '\0';
	if (o->state == OUTCOME_STOPPED)
		snprintf(ret_text, 64, " (signal %d to its launcher)", o->signal);
	else if (o->state == OUTCOME_CANCELLED && o->by >= 0)
		snprintf(ret_text, 64, " (cancelled by user %lld)", (long long)o->by);
	else if (said[o->state][0] != '\0')
		snprintf(ret_text, 64, " (%s)", said[o->state]);
	return ret_text;
}
