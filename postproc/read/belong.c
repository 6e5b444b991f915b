/* belong.c - do the files belong to one step, and each to another node of it?
 * In: nodes as load.c opened them.  Out: the same, or one of each node and a reason; or an error. */
#include "postproc/read/load.h"

#include <inttypes.h>

/* What differs between two files of different steps; NULL: they are of one. */
static const char *differs(const struct node *a, const struct node *b)
{
	static const char *const keys[] = {"cluster", "job_id", "restart", "step_id"};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && a->meta != NULL && b->meta != NULL; i++) {
		const cJSON *x = cJSON_GetObjectItemCaseSensitive(a->meta, keys[i]);
		const cJSON *y = cJSON_GetObjectItemCaseSensitive(b->meta, keys[i]);
		if (x != NULL && y != NULL && !cJSON_Compare(x, y, true))
			return keys[i];
	}
	return NULL;
}

static bool are_of_one_node(const struct node *a, const struct node *b)
{
	return a->meta != NULL && b->meta != NULL && strcmp(a->name, b->name) == 0;
}

static int check_steps(const struct step *s, struct error *e)
{
	for (size_t i = 1; i < s->nodes.n; i++) {
		const char *key = differs(&s->nodes.at[0], &s->nodes.at[i]);
		if (key != NULL)
			return fail(e, -EINVAL,
				    "%s and %s are of different steps (%s differs); analyse them separately",
				    s->nodes.at[0].file.path, s->nodes.at[i].file.path, key);
	}
	return 0;
}

/* One that has its end, else the longer one: an agent that was ended and started again wrote both. */
static bool is_better(const struct mpic_file *a, const struct mpic_file *b)
{
	return a->finished != b->finished     ? a->finished
	       : a->len_bytes != b->len_bytes ? a->len_bytes > b->len_bytes
					      : strlen(a->path) < strlen(b->path);
}

static void leave_out(struct step *s, size_t i)
{
	s->damaged_bytes -= s->nodes.at[i].file.damaged_bytes;
	s->unfinished_files -= !s->nodes.at[i].file.finished;
	s->files_left_out++;
	node_done(&s->nodes.at[i]);
	s->nodes.n--;
	memmove(&s->nodes.at[i], &s->nodes.at[i + 1], (s->nodes.n - i) * sizeof(s->nodes.at[0]));
}

/* The worse one of files i and j. */
static void leave_out_one(struct step *s, size_t i, size_t j)
{
	bool later = is_better(&s->nodes.at[i].file, &s->nodes.at[j].file);
	const struct mpic_file *kept = &s->nodes.at[later ? i : j].file, *other = &s->nodes.at[later ? j : i].file;
	if (s->files_left_out < LEFT_OUT_NAMED_MAX)
		step_reason(s,
			    "%s (%" PRIu64 " bytes%s) is of node %s, too, and left out: %s (%" PRIu64
			    " bytes%s) is read; what only the first has is missing",
			    other->path, other->len_bytes, other->finished ? "" : ", without its end",
			    s->nodes.at[i].name, kept->path, kept->len_bytes,
			    kept->finished ? "" : ", without its end");
	leave_out(s, later ? j : i);
}

int step_belong(struct step *s, bool named, struct error *e)
{
	int code = check_steps(s, e);
	for (size_t i = 1; i < s->nodes.n && code == 0;) {
		size_t j = 0;
		while (j < i && !are_of_one_node(&s->nodes.at[j], &s->nodes.at[i]))
			j++;
		if (j == i)
			i++;
		else if (named)
			code = fail(e, -EINVAL, "%s and %s are both of node %s; give only one of them",
				    s->nodes.at[j].file.path, s->nodes.at[i].file.path, s->nodes.at[i].name);
		else
			leave_out_one(s, i, j); /* the next stands at i then, whichever it was */
	}
	return code;
}
