/* epochs_super.c - see epochs_super.h. The run at hand is known as a curve of how many messages are in flight; an epoch
 * is a curve too, and their sum shows whether it still fits. */
#include "postproc/protocol/epochs_super.h"

#include "base/search.h"

struct edge {
	int64_t ns;
	bool begins;
};

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (int)x->begins - (int)y->begins;
}

/* The curve of one epoch. */
static int draw(struct super_epochs *s, const struct epoch *epoch)
{
	VEC(struct edge) edges = {0};
	uint64_t level = 0;
	int code = 0;
	s->fresh.n = 0;
	for (uint32_t i = 0; i < epoch->nmessage && code == 0; i++) {
		code = vec_push(&edges, (struct edge){epoch->message[i].from_ns, true});
		if (code == 0)
			code = vec_push(&edges, (struct edge){epoch->message[i].to_ns, false});
	}
	vec_sort(&edges, by_time);
	for (size_t i = 0; i < edges.n && code == 0; i++) {
		level += edges.at[i].begins ? 1u : -(uint64_t)1;
		if (i + 1 == edges.n || edges.at[i + 1].ns != edges.at[i].ns)
			code = vec_push(&s->fresh, (struct super_turn){edges.at[i].ns, level});
	}
	vec_done(&edges);
	return code;
}

/* The sum of the run's curve and the epoch's, from turn `from` of the run on, and its largest level. */
static int add_curves(struct super_epochs *s, size_t from, uint64_t *ret_most)
{
	size_t i = from, k = 0;
	uint64_t a = from > 0 ? s->turns.at[from - 1].level : 0, b = 0;
	*ret_most = 0;
	s->merged.n = 0;
	while (i < s->turns.n || k < s->fresh.n) {
		bool old = k == s->fresh.n || (i < s->turns.n && s->turns.at[i].ns <= s->fresh.at[k].ns);
		bool both = old && k < s->fresh.n && s->turns.at[i].ns == s->fresh.at[k].ns;
		int64_t ns = old ? s->turns.at[i].ns : s->fresh.at[k].ns;
		if (old)
			a = s->turns.at[i++].level;
		if (!old || both)
			b = s->fresh.at[k++].level;
		if (vec_push(&s->merged, (struct super_turn){ns, a + b}) < 0)
			return -ENOMEM;
		*ret_most = a + b > *ret_most ? a + b : *ret_most;
	}
	return 0;
}

/* The older half becomes one turn with its largest level: too much rather than too little. */
static void shorten(struct super_epochs *s)
{
	size_t half = s->turns.n / 2;
	uint64_t most = 0;
	if (s->turns.n <= SUPER_TURNS_MAX)
		return;
	for (size_t i = 0; i < half; i++)
		most = s->turns.at[i].level > most ? s->turns.at[i].level : most;
	s->turns.at[half - 1] = (struct super_turn){INT64_MIN, most};
	s->turns.n -= half - 1;
	memmove(s->turns.at, s->turns.at + half - 1, s->turns.n * sizeof(*s->turns.at));
}

/* The first turn that is not before ns. */
static size_t find_turn(const struct super_epochs *s, int64_t ns)
{
	return search_first(0, s->turns.n, i, s->turns.at[i].ns < ns);
}

static int splice(struct super_epochs *s, size_t from)
{
	s->turns.n = from;
	for (size_t i = 0; i < s->merged.n; i++)
		if (vec_push(&s->turns, s->merged.at[i]) < 0)
			return -ENOMEM;
	shorten(s);
	return 0;
}

static int begin_run(struct super_epochs *s, const struct epoch *epoch, struct super_run *ret_before)
{
	bool first = s->count == 0;
	*ret_before = s->run;
	s->run = (struct super_run){epoch->number, epoch->number};
	s->need = epoch->total.messages;
	s->over += !epoch->single || s->need > s->budget;
	s->count++;
	s->turns.n = 0;
	s->merged.n = 0;
	for (size_t i = 0; i < s->fresh.n; i++)
		if (vec_push(&s->merged, s->fresh.at[i]) < 0)
			return -ENOMEM;
	int code = splice(s, 0);
	return code < 0 ? code : !first;
}

int super_add(struct super_epochs *s, const struct epoch *epoch, struct super_run *ret_before)
{
	uint64_t most = 0;
	if (draw(s, epoch) < 0)
		return -ENOMEM;
	size_t from = s->fresh.n > 0 ? find_turn(s, s->fresh.at[0].ns) : s->turns.n;
	bool fits = s->count > 0 && epoch->single && s->need <= s->budget && epoch->total.messages <= s->budget;
	if (fits && add_curves(s, from, &most) < 0)
		return -ENOMEM;
	if (!fits || most > s->budget)
		return begin_run(s, epoch, ret_before);
	s->run.last = epoch->number;
	s->need = most > s->need ? most : s->need;
	return splice(s, from);
}

void super_done(struct super_epochs *s)
{
	vec_done(&s->turns);
	vec_done(&s->merged);
	vec_done(&s->fresh);
}
