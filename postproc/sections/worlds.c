/* worlds.c - "worlds": every MPI_COMM_WORLD of the step, who spawned it, and which of them this analysis is
 * of. Ranks of the others are never taken for ranks of the analysed one. */
#include "postproc/analysis.h"

#define ROWS_MAX 4096u

/* The world that spawned w: by its namespace; where no launcher gives one, the only other world of the right size. */
static const struct world *parent_of(const struct step *s, const struct world *w)
{
	const struct world *found = NULL;
	uint32_t n = 0;
	bool named = w->parent_namespace != NULL && w->parent_namespace[0] != '\0';
	for (size_t i = 0; i < s->worlds.n; i++) {
		const struct world *v = &s->worlds.at[i];
		if (v == w ||
		    (named && (v->job_namespace == NULL || strcmp(v->job_namespace, w->parent_namespace) != 0)) ||
		    (!named && v->size < w->parents))
			continue;
		found = v;
		n++;
	}
	return n == 1 ? found : NULL;
}

static void put_world(const struct step *s, cJSON *list, const struct world *w)
{
	cJSON *row = json_row(list);
	json_put(row, "id", (double)(w - s->worlds.at));
	json_put(row, "size", w->size);
	json_put(row, "ranks_seen", w->seen);
	json_put_text(row, "program", json_text(w->first->meta, "exe", NULL));
	cJSON_AddBoolToObject(row, "analysed", w->analysed);
	cJSON_AddBoolToObject(row, "spawned", w->parents > 0);
	json_put(row, "spawned_by_ranks", w->parents);
	const struct world *parent = w->parents > 0 ? parent_of(s, w) : NULL;
	if (parent == NULL)
		cJSON_AddNullToObject(row, "parent"); /* nobody, or not known */
	else
		json_put(row, "parent", (double)(parent - s->worlds.at));
}

int analysis_worlds(struct analysis *a)
{
	cJSON *list = json_array(a->root, "worlds");
	for (size_t i = 0; i < a->step->worlds.n && i < ROWS_MAX; i++)
		put_world(a->step, list, &a->step->worlds.at[i]);
	return 0;
}
