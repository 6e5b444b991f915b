/* otf2_started.c - operations that were begun and are not complete, by number: a table with open addressing, of which
 * what is taken leaves no trace. */
#include "reports/export/otf2.h"

static size_t home(const struct otf2_table *t, uint64_t number)
{
	return index_mix(number, 0) & (t->cap - 1);
}

static void put(struct otf2_table *t, const struct otf2_started *s)
{
	size_t i = home(t, s->number);
	while (t->at[i].number != 0)
		i = (i + 1) & (t->cap - 1);
	t->at[i] = *s;
	t->n++;
}

int otf2_started_add(struct otf2_table *t, const struct otf2_started *s)
{
	if (2 * t->n >= t->cap) {
		struct otf2_table larger = {.cap = t->cap > 0 ? 2 * t->cap : 64};
		larger.at = calloc(larger.cap, sizeof(*larger.at));
		if (larger.at == NULL)
			return -ENOMEM;
		for (size_t i = 0; i < t->cap; i++)
			if (t->at[i].number != 0)
				put(&larger, &t->at[i]);
		free(t->at);
		*t = larger;
	}
	put(t, s);
	return 0;
}

/* What stands behind moves up, as far as it may stand there. */
static void close_gap(struct otf2_table *t, size_t gap)
{
	size_t mask = t->cap - 1;
	for (size_t i = (gap + 1) & mask; t->at[i].number != 0; i = (i + 1) & mask)
		if (((i - home(t, t->at[i].number)) & mask) >= ((i - gap) & mask)) {
			t->at[gap] = t->at[i];
			gap = i;
		}
	t->at[gap].number = 0;
}

bool otf2_started_take(struct otf2_table *t, uint64_t number, struct otf2_started *ret_started)
{
	if (t->n == 0)
		return false;
	for (size_t i = home(t, number); t->at[i].number != 0; i = (i + 1) & (t->cap - 1))
		if (t->at[i].number == number) {
			*ret_started = t->at[i];
			t->n--;
			close_gap(t, i);
			return true;
		}
	return false;
}

void otf2_started_done(struct otf2_table *t)
{
	free(t->at);
	*t = (struct otf2_table){0};
}

void otf2_lane_done(struct otf2_lane *l)
{
	for (size_t i = 0; i < l->windows.n; i++)
		vec_done(&l->windows.at[i].transfers);
	vec_done(&l->windows);
	vec_done(&l->splits);
}
