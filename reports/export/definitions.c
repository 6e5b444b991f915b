/* definitions.c - see definitions.h. */
#include "reports/export/definitions.h"

#include "base/path.h"
#include "base/vec.h"

#include <stdio.h>

#define IDS_MAX (1u << 24)

/* Elements of an array member by their "id" (or place). */
static int index_list(struct definition_list *list, const cJSON *analysis, const char *key, const char *id)
{
	size_t n = 0, at = 0;
	for (const cJSON *x = json_first(analysis, key); x != NULL; x = x->next, at++) {
		double number = json_number_or(x, id, (double)at);
		if (number >= (double)n && number < IDS_MAX)
			n = (size_t)number + 1;
	}
	at = 0;
	list->at = calloc(n + 1, sizeof(*list->at));
	if (list->at == NULL)
		return -ENOMEM;
	list->n = (uint32_t)n;
	for (const cJSON *x = json_first(analysis, key); x != NULL; x = x->next) {
		double number = json_number_or(x, id, (double)at++);
		if (number >= 0 && number < (double)n)
			list->at[(size_t)number] = x;
	}
	return 0;
}

static int make_labels(struct definitions *d)
{
	d->labels = calloc(d->callsites.n + 1u, sizeof(*d->labels));
	if (d->labels == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->callsites.n; i++) {
		const cJSON *x = d->callsites.at[i];
		const char *function = json_text(x, "function", NULL);
		const char *file = json_text(x, "file", NULL);
		const char *where =
			file != NULL ? path_name(file) : json_text(x, "module_short", json_text(x, "module", "?"));
		if (function == NULL)
			function = json_text(x, "address", "?");
		int n = file != NULL
				? asprintf(&d->labels[i], "%s (%s:%.0f)", function, where, json_number_or(x, "line", 0))
				: asprintf(&d->labels[i], "%s (%s)", function, where);
		if (n < 0) {
			d->labels[i] = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

/* World ranks of one communicator; processes of other worlds stay DEFINITION_NONE. */
static int make_members(struct comm_members *m, const cJSON *comm, uint32_t nranks)
{
	const cJSON *list = json_item(comm, "ranks");
	uint32_t n = (uint32_t)json_count(comm, "ranks"), i = 0;
	bool plain = true;
	m->ranks = calloc(n + 1u, sizeof(*m->ranks));
	if (m->ranks == NULL)
		return -ENOMEM;
	m->n = n;
	m->inter = json_item(comm, "remote_ranks") != NULL;
	for (const cJSON *x = list != NULL ? list->child : NULL; x != NULL && i < n; x = x->next, i++) {
		double rank = json_number_of(x);
		m->ranks[i] = rank >= 0 && rank < nranks ? (uint32_t)rank : DEFINITION_NONE;
		plain = plain && m->ranks[i] == i;
	}
	if (plain)
		return 0;
	m->rank_of = malloc(nranks * sizeof(*m->rank_of));
	if (m->rank_of == NULL)
		return -ENOMEM;
	memset(m->rank_of, 0xff, nranks * sizeof(*m->rank_of));
	for (i = 0; i < n; i++)
		if (m->ranks[i] != DEFINITION_NONE)
			m->rank_of[m->ranks[i]] = i;
	return 0;
}

/* Names of nodes stand with the ranks that ran there. */
static int make_nodes(struct definitions *d, const struct mpix_info *info)
{
	d->nplaces = info->places > 0 ? info->places : 1;
	d->nodes = calloc(d->nplaces, sizeof(*d->nodes));
	if (d->nodes == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < info->ranks; r++) {
		uint32_t place = definitions_place(info, r);
		const char *name = json_text(definition(&d->ranks, r), "node", NULL);
		if (d->nodes[place] == NULL && name != NULL && (d->nodes[place] = strdup(name)) == NULL)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < d->nplaces; i++)
		if (d->nodes[i] == NULL && asprintf(&d->nodes[i], "node %u", i) < 0) {
			d->nodes[i] = NULL;
			return -ENOMEM;
		}
	return 0;
}

int definitions_read(struct definitions *d, const struct mpix_file *f, struct error *e)
{
	const struct mpix_info *info = mpix_info(f);
	*d = (struct definitions){.analysis = cJSON_Parse(mpix_analysis(f)), .nranks = info->ranks};
	if (d->analysis == NULL)
		return fail(e, -EBADMSG, "its analysis is not JSON; analyse again");
	const struct {
		struct definition_list *list;
		const char *key, *id;
	} lists[] = {{&d->callsites, "callsites", "id"}, {&d->comms, "communicators", "id"},
		     {&d->windows, "windows", "id"},	 {&d->files, "files", "id"},
		     {&d->frames, "frames", "id"},	 {&d->stacks, "stacks", "id"},
		     {&d->ranks, "per_rank", "rank"}};
	int rc = 0;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && rc == 0; i++)
		rc = index_list(lists[i].list, d->analysis, lists[i].key, lists[i].id);
	if (rc == 0)
		rc = make_labels(d);
	if (rc == 0)
		rc = make_nodes(d, info);
	if (rc == 0 && (d->members = calloc(d->comms.n + 1u, sizeof(*d->members))) == NULL)
		rc = -ENOMEM;
	for (uint32_t i = 0; i < d->comms.n && rc == 0; i++)
		rc = make_members(&d->members[i], d->comms.at[i], info->ranks);
	return rc == -ENOMEM ? fail(e, rc, "out of memory for what the trace names") : rc;
}

void definitions_done(struct definitions *d)
{
	for (uint32_t i = 0; d->labels != NULL && i < d->callsites.n; i++)
		free(d->labels[i]);
	for (uint32_t i = 0; d->members != NULL && i < d->comms.n; i++) {
		free(d->members[i].ranks);
		free(d->members[i].rank_of);
	}
	for (uint32_t i = 0; d->nodes != NULL && i < d->nplaces; i++)
		free(d->nodes[i]);
	free(d->labels);
	free(d->members);
	free(d->nodes);
	free(d->callsites.at);
	free(d->comms.at);
	free(d->windows.at);
	free(d->files.at);
	free(d->ranks.at);
	free(d->frames.at);
	free(d->stacks.at);
	cJSON_Delete(d->analysis);
	*d = (struct definitions){0};
}

const cJSON *definition(const struct definition_list *list, uint32_t id)
{
	return id < list->n ? list->at[id] : NULL;
}

const char *definitions_label(const struct definitions *d, uint32_t callsite)
{
	return callsite < d->callsites.n ? d->labels[callsite] : "";
}

const char *definitions_node(const struct definitions *d, uint32_t place)
{
	return place < d->nplaces ? d->nodes[place] : "?";
}

uint32_t definitions_place(const struct mpix_info *info, uint32_t rank)
{
	uint32_t place = info->place_of_rank != NULL ? info->place_of_rank[rank] : 0;
	return place < info->places ? place : 0;
}

uint32_t definitions_comm_rank(const struct definitions *d, uint32_t comm, uint32_t world_rank)
{
	if (comm >= d->comms.n || world_rank >= d->nranks)
		return DEFINITION_NONE;
	const struct comm_members *m = &d->members[comm];
	if (m->rank_of != NULL)
		return m->rank_of[world_rank];
	return world_rank < m->n ? world_rank : DEFINITION_NONE;
}

uint32_t definitions_comm_size(const struct definitions *d, uint32_t comm)
{
	return comm < d->comms.n ? d->members[comm].n : 0;
}
