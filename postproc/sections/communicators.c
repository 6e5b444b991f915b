/* communicators.c - "communicators": those that calls were made on; for an inter-communicator
 * both groups. */
#include "postproc/analysis.h"
#include "postproc/read/comms.h"

#define ROWS_MAX 4096u
#define MEMBERS_MAX (1u << 20) /* of all rows: a list of members is whole, or its communicator is left out */

static void mark_used(const struct step *s, uint64_t *calls)
{
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++)
			if (p->sigs.at[i].comm != NONE)
				calls[s->comms.at[p->sigs.at[i].comm].same] += p->sigs.at[i].calls;
	}
}

static void put_ranks(cJSON *row, const char *name, const int32_t *ranks, uint32_t n)
{
	cJSON *list = json_array(row, name);
	for (uint32_t i = 0; i < n; i++)
		json_push(list, ranks[i]);
}

static void put_comm(const struct step *s, cJSON *list, uint32_t id, uint64_t calls)
{
	const struct comm *c = &s->comms.at[id];
	cJSON *row = json_row(list);
	json_put(row, "id", id);
	json_put_text(row, "name", comms_shown_name(s, c));
	json_put(row, "size", c->size);
	put_ranks(row, "ranks", c->group, c->size);
	if (c->inter) {
		json_put(row, "remote_size", c->remote_size);
		put_ranks(row, "remote_ranks", c->remote, c->remote_size);
	}
	if (c->parent == NONE)
		cJSON_AddNullToObject(row, "parent");
	else
		json_put(row, "parent", s->comms.at[c->parent].same);
	json_put_text(row, "created_by", c->created_by == NONE ? NULL : s->ops.at[c->created_by]);
	json_put(row, "calls", (double)calls);
}

int analysis_communicators(struct analysis *a)
{
	const struct step *s = a->step;
	uint64_t *calls = calloc(s->comms.n + 1, sizeof(*calls));
	uint32_t rows = 0, left_out = 0;
	uint64_t members = 0;
	if (calls == NULL)
		return -ENOMEM;
	mark_used(s, calls);
	cJSON *list = json_array(a->root, "communicators");
	for (uint32_t i = 0; i < s->comms.n; i++) {
		if (calls[i] == 0)
			continue;
		const struct comm *c = &s->comms.at[i];
		uint64_t more = (uint64_t)c->size + (c->inter ? c->remote_size : 0);
		if (rows == ROWS_MAX || members + more > MEMBERS_MAX) {
			left_out++;
			continue;
		}
		put_comm(s, list, i, calls[i]);
		members += more;
		rows++;
	}
	json_put(a->root, "communicators_left_out", left_out);
	free(calls);
	return 0;
}
