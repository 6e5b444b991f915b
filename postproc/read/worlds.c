/* worlds.c - which process is which rank. A step may hold several MPI_COMM_WORLDs: programs started
 * one after the other by a script, singletons, spawned programs. The analysis is of one of them:
 * the one with the most processes, the earliest if equal; the others are counted and said. */
#include "base/json.h"
#include "base/units.h"
#include "postproc/read/ends.h"
#include "postproc/read/exits.h"
#include "postproc/read/load.h"

#define MISSING_RANKS_MAX (1u << 17) /* of one world, or so many for each rank that is recorded: */
#define MISSING_RANKS_SHARE 64u

/* Processes of one world: another namespace (where the launcher gave one), a second claim to a rank, another size, or
 * one that began when another of its node was over, begins another world. */
struct placing {
	uint32_t size, seen;
	const char *job_namespace;
	uint32_t node; /* of the one that came last; by its clock: */
	int64_t last_start, first_end;
	struct process **ranks;
};

struct worlds {
	VEC(struct placing) list;
	struct budget kept; /* their ranks */
};

static void worlds_done(struct worlds *w)
{
	for (size_t i = 0; i < w->list.n; i++)
		free(w->list.at[i].ranks);
	vec_done(&w->list);
}

static const char *namespace_of(const struct process *p)
{
	const char *text = json_text(p->meta, "namespace", NULL);
	return text != NULL && text[0] != '\0' ? text : NULL;
}

/* As ticks; INT64_MAX: nobody knows. Who died inside of MPI_Init may have been over before another rank of its world
 * came there: where there is a namespace, that decides. */
static int64_t over_at(const struct process *p)
{
	const int64_t known[] = {json_tick(p->meta, "end_tick"), p->exit_tick, json_tick(p->meta, "gone_tick")};
	bool ended = p->lost || p->finalized || p->aborted, started = p->init_exit_ns != 0;
	if (!ended || (!started && namespace_of(p) != NULL))
		return INT64_MAX;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] != 0)
			return known[i];
	return INT64_MAX;
}

static int64_t began_at(const struct process *p)
{
	return json_tick(p->meta, "start_tick");
}

/* Ranks of one world are there at one time; another node has another clock. */
static bool is_beside(const struct placing *w, const struct process *p)
{
	return w->seen == 0 || w->node != p->node || (began_at(p) < w->first_end && over_at(p) > w->last_start);
}

static void put_beside(struct placing *w, const struct process *p)
{
	bool same = w->seen > 0 && w->node == p->node;
	w->last_start = same && w->last_start > began_at(p) ? w->last_start : began_at(p);
	w->first_end = same && w->first_end < over_at(p) ? w->first_end : over_at(p);
	w->node = p->node;
}

static bool may_belong(const struct placing *w, const struct process *p, const char *job_namespace)
{
	return w->size == p->world_size && w->ranks[p->rank] == NULL &&
	       (w->job_namespace == NULL || job_namespace == NULL || strcmp(w->job_namespace, job_namespace) == 0) &&
	       is_beside(w, p);
}

/* The first world that has this rank free. Processes come node by node in order of start, so
 * programs that ran one after the other stay apart. -EBADMSG: their sizes are beyond what the files can tell of. */
static int world_for(struct worlds *w, const struct process *p, struct placing **ret_home)
{
	const char *job_namespace = namespace_of(p);
	for (size_t i = 0; i < w->list.n; i++)
		if (may_belong(&w->list.at[i], p, job_namespace)) {
			*ret_home = &w->list.at[i];
			return 0;
		}
	if (budget_take(&w->kept, p->world_size * sizeof(struct process *)) < 0)
		return -EBADMSG;
	struct placing fresh = {.size = p->world_size,
				.job_namespace = job_namespace,
				.ranks = calloc(p->world_size, sizeof(struct process *))};
	if (fresh.ranks == NULL || vec_push(&w->list, fresh) < 0) {
		free(fresh.ranks);
		return -ENOMEM;
	}
	*ret_home = &w->list.at[w->list.n - 1];
	return 0;
}

static bool has_rank(const struct process *p)
{
	return p->rank != NONE && p->world_size > 0 && p->rank < p->world_size;
}

/* A process's META may be missing, in a file that was cut; then the largest communicator without a
 * parent that it defined is its MPI_COMM_WORLD. */
static void rank_from_world(struct process *p)
{
	uint32_t size = 0;
	for (size_t i = 0; i < p->defs.n; i++) {
		const struct mpic_def *d = &p->defs.at[i];
		if (d->type != MPIC_DEF_COMM || d->parent != MPIC_NO_COMM || d->inter || d->my_rank < 0 ||
		    d->size <= size || d->size > RANKS_MAX)
			continue;
		size = d->size;
		p->world_size = d->size;
		p->rank = (uint32_t)d->my_rank;
	}
}

static int sort_into_worlds(struct step *s, struct worlds *w, uint32_t *ret_without)
{
	for (size_t i = 0; i < s->processes.n; i++) {
		struct process *p = s->processes.at[i];
		if (p->meta == NULL)
			rank_from_world(p);
		if (!has_rank(p)) {
			++*ret_without;
			continue;
		}
		struct placing *home = NULL;
		int code = world_for(w, p, &home);
		if (code == -ENOMEM)
			return code;
		if (code < 0)
			continue; /* of another world, and left out as such */
		home->ranks[p->rank] = p;
		put_beside(home, p);
		home->seen++;
	}
	return 0;
}

static void count_nodes(struct step *s)
{
	for (size_t i = 0; i < s->nodes.n; i++) {
		int64_t n = json_int(s->nodes.at[i].meta, "nnodes", 0);
		if (n > s->nnodes && n < RANKS_MAX)
			s->nnodes = (uint32_t)n;
	}
	if (s->nodes.n > s->nnodes)
		s->nnodes = (uint32_t)s->nodes.n;
}

static struct process *first_of(const struct placing *w)
{
	struct process *first = NULL;
	for (uint32_t r = 0; r < w->size && first == NULL; r++)
		first = w->ranks[r];
	return first;
}

/* Keep what is known of every world, also of those that are not analysed. */
static int note_worlds(struct step *s, const struct worlds *w, const struct placing *best)
{
	for (size_t i = 0; i < w->list.n; i++) {
		const struct placing *from = &w->list.at[i];
		struct world to = {.size = from->size,
				   .seen = from->seen,
				   .first = first_of(from),
				   .job_namespace = from->job_namespace,
				   .analysed = from == best};
		to.parents = (uint32_t)json_int(to.first->meta, "parents", 0);
		to.parent_namespace = json_text(to.first->meta, "parent_namespace", NULL);
		if (vec_push(&s->worlds, to) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Each rank costs the analysis some KiB, also one that is not in the record. */
static bool is_too_sparse(const struct placing *w)
{
	return w->size > MISSING_RANKS_MAX && w->size / MISSING_RANKS_SHARE > w->seen;
}

/* Files of processes may be found in any order: what was spawned comes behind who spawned it. */
static bool is_rather(const struct placing *w, const struct placing *best)
{
	if (best == NULL || w->seen != best->seen)
		return best == NULL || w->seen > best->seen;
	return json_int(first_of(w)->meta, "parents", 0) == 0 && json_int(first_of(best)->meta, "parents", 0) > 0;
}

int step_place_ranks(struct step *s, struct error *e)
{
	struct worlds w = {.kept.max_bytes = s->kept.max_bytes};
	uint32_t without = 0;
	int code = exits_read(s); /* of processes; of tasks when ranks are known */
	if (code == 0)
		code = sort_into_worlds(s, &w, &without);
	struct placing *best = NULL;
	for (size_t i = 0; i < w.list.n && code == 0; i++)
		if (is_rather(&w.list.at[i], best))
			best = &w.list.at[i];
	if (code == 0 && best == NULL)
		code = fail(e, -EBADMSG,
			    "%s: %s recorded, but none says which rank it is: MPI_Init failed, or the record was cut "
			    "before it had ended",
			    s->nodes.at[0].file.path, fmt_many((double)s->processes.n, "process").s);
	else if (code < 0)
		fail(e, code, "out of memory");
	else if (is_too_sparse(best))
		code = fail(e, -EBADMSG, "%s: of an MPI_COMM_WORLD of %u ranks %u are recorded: too few to analyse it",
			    s->nodes.at[0].file.path, best->size, best->seen);
	if (code == 0)
		code = note_worlds(s, &w, best);
	if (code == 0) {
		s->ranks = best->ranks;
		s->nranks = best->size;
		s->other_worlds = (uint32_t)s->processes.n - without - best->seen;
		best->ranks = NULL;
		count_nodes(s);
		code = exits_read(s);
		ends_decide(s);
		outcome_read(s);
		verdict_read(s);
	}
	if (code < 0 && s->ranks != NULL)
		fail(e, code, "out of memory");
	if (code == 0 && without > 0)
		step_reason(s, "left out, as recorded without a rank: %s", fmt_many(without, "process").s);
	if (code == 0 && s->other_worlds > 0)
		step_reason(s, "left out, as of other MPI_COMM_WORLDs of the step: %s",
			    fmt_many(s->other_worlds, "process").s);
	worlds_done(&w);
	return code;
}
