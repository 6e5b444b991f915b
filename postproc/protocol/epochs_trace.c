/* epochs_trace.c - epochs of an .mpix. In: messages and parts of collectives (traffic.h), members of communicators from
 * the analysis object.  Out: events for epochs.h, and what is said of the epochs. */
#include "base/index.h"
#include "base/vec.h"
#include "postproc/protocol/epochs_report.h"
#include "postproc/protocol/traffic.h"

#define AHEAD_MAX (1u << 22) /* collectives of one communicator that some members entered and others did not */

struct open_collective {
	uint32_t id, entered;
};

struct comm {
	uint32_t number, members;
	uint64_t first; /* the operation that open.at[0] is */
	VEC(struct open_collective) open;
	size_t begin; /* of open: those before are over */
};

struct feeding {
	const char *path;
	struct epochs *epochs;
	VEC(struct comm) comms;
	struct index by_number;
};

/* ---- communicators ---- */

static bool has_number(const void *context, uint32_t at)
{
	const struct feeding *f = context;
	return f->comms.at[at].number == f->comms.at[f->comms.n].number;
}

/* The looked for number stands behind the last one. */
static struct comm *find_comm(struct feeding *f, uint32_t number)
{
	if (vec_grow(&f->comms.at, &f->comms.cap, f->comms.n + 1, sizeof(*f->comms.at)) < 0)
		return NULL;
	f->comms.at[f->comms.n] = (struct comm){.number = number};
	uint32_t at = index_find(&f->by_number, index_mix(number, 0), has_number, f);
	if (at != INDEX_NONE)
		return &f->comms.at[at];
	if (index_add(&f->by_number, index_mix(number, 0), (uint32_t)f->comms.n) < 0)
		return NULL;
	return &f->comms.at[f->comms.n++];
}

static uint32_t count_recorded(const cJSON *ranks, const bool *recorded, uint32_t nranks)
{
	uint32_t n = 0;
	for (const cJSON *x = ranks != NULL ? ranks->child : NULL; x != NULL; x = x->next) {
		double rank = json_number_of(x);
		n += rank >= 0 && rank < nranks && recorded[(uint32_t)rank];
	}
	return n;
}

/* Members without a record never come. */
static bool *find_recorded(const cJSON *analysis, uint32_t nranks)
{
	bool *recorded = calloc(nranks + 1u, sizeof(*recorded));
	uint32_t at = 0;
	for (const cJSON *x = json_first(analysis, "per_rank"); x != NULL && recorded != NULL && at < nranks;
	     x = x->next)
		recorded[at++] = strcmp(json_text(x, "state", ""), "missing") != 0;
	return recorded;
}

static int find_members(struct feeding *f, const cJSON *analysis, uint32_t nranks)
{
	bool *recorded = find_recorded(analysis, nranks);
	int code = recorded == NULL ? -ENOMEM : 0;
	for (const cJSON *x = json_first(analysis, "communicators"); x != NULL && code == 0; x = x->next) {
		double number = json_number_or(x, "id", -1);
		struct comm *c = number >= 0 && number <= UINT32_MAX ? find_comm(f, (uint32_t)number) : NULL;
		if (c != NULL)
			c->members = count_recorded(json_item(x, "ranks"), recorded, nranks) +
				     count_recorded(json_item(x, "remote_ranks"), recorded, nranks);
	}
	free(recorded);
	return code;
}

/* ---- events ---- */

static int feed_end(void *context, struct traffic_message *m, bool sends, struct error *e)
{
	struct feeding *f = context;
	int code = m->known ? 0 : epochs_message(f->epochs, m->src, m->dst, m->bytes, &m->id, e);
	m->known = true;
	if (code != 0)
		return code;
	return sends ? epochs_sent(f->epochs, m->id, m->send_ns, e) : epochs_receive(f->epochs, m->id, m->recv_ns, e);
}

static void forget_complete(struct comm *c)
{
	while (c->begin < c->open.n && c->open.at[c->begin].entered == c->members && c->members > 0)
		c->begin++;
	if (c->begin < 1024 || c->begin < c->open.n / 2)
		return;
	c->first += c->begin;
	c->open.n -= c->begin;
	memmove(c->open.at, c->open.at + c->begin, c->open.n * sizeof(*c->open.at));
	c->begin = 0;
}

/* Of a communicator that the analysis does not list nobody knows when all have come: each part is by itself. */
static int feed_alone(struct feeding *f, const struct mpix_collective_part *part, struct error *e)
{
	uint32_t id;
	int code = epochs_collective(f->epochs, 1, &id, e);
	return code == 0 ? epochs_enter(f->epochs, id, part->rank, part->start_ns, e) : code;
}

static int feed_part(void *context, const struct mpix_collective_part *part, struct error *e)
{
	struct feeding *f = context;
	struct comm *c = find_comm(f, part->comm);
	if (c == NULL)
		return -ENOMEM;
	if (c->members == 0 || part->number < c->first + c->begin)
		return feed_alone(f, part, e);
	uint64_t at = part->number - c->first;
	if (at >= c->open.n + AHEAD_MAX)
		return fail(e, -E2BIG, "%s: rank %u is more than %u collectives ahead of others on communicator %u",
			    f->path, part->rank, AHEAD_MAX, part->comm);
	if (vec_reach(&c->open, at) < 0)
		return -ENOMEM;
	struct open_collective *o = &c->open.at[at];
	if (o->entered >= c->members)
		return feed_alone(f, part, e);
	int code = o->entered == 0 ? epochs_collective(f->epochs, c->members, &o->id, e) : 0;
	if (code == 0)
		code = epochs_enter(f->epochs, o->id, part->rank, part->start_ns, e);
	o->entered++;
	forget_complete(c);
	return code;
}

static int feed_trace(struct feeding *f, struct mpix_file *file, const cJSON *analysis, struct error *e)
{
	struct traffic_visitor visitor = {f, feed_end, feed_part};
	int code = find_members(f, analysis, mpix_info(file)->ranks);
	if (code < 0)
		return fail(e, code, "%s: out of memory", f->path);
	code = traffic_read(file, f->path, &visitor, e);
	return code == 0 ? epochs_finish(f->epochs, e) : code;
}

int epochs_of_trace(struct mpix_file *f, const char *path, const cJSON *analysis, const uint64_t *budgets, unsigned n,
		    cJSON **ret_epochs, struct error *e)
{
	struct epochs_report *report = epochs_report_create(budgets, n);
	struct feeding feeding = {.path = path};
	int code = -ENOMEM;
	if (report != NULL)
		feeding.epochs = epochs_create(mpix_info(f)->ranks, 0, epochs_report_add, report);
	e->text[0] = 0;
	if (feeding.epochs != NULL)
		code = feed_trace(&feeding, f, analysis, e);
	if (code == 0 && (*ret_epochs = epochs_report_json(report)) == NULL)
		code = -ENOMEM;
	if (code == -ENOMEM && e->text[0] == 0)
		fail(e, code, "%s: out of memory", path);
	for (size_t i = 0; i < feeding.comms.n; i++)
		vec_done(&feeding.comms.at[i].open);
	vec_done(&feeding.comms);
	index_done(&feeding.by_number);
	epochs_destroy(feeding.epochs);
	epochs_report_destroy(report);
	return code;
}
