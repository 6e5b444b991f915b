/* exits.c - see exits.h. In: "exits" of the nodes (docs/STEPDIR.md).  Out: have_exit, exit_status, exit_tick
 * of processes. */
#include "postproc/read/exits.h"
#include "base/json.h"
#include "base/search.h"
#include "postproc/read/load.h"

#include <signal.h>
#include <sys/wait.h>

/* Between two deaths: some rounds of an agent. */
#define DEATH_GAP_NS 100000000

static int by_pid(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;
	if (x->node != y->node)
		return (x->node > y->node) - (x->node < y->node);
	if (x->pid != y->pid)
		return (x->pid > y->pid) - (x->pid < y->pid);
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

struct by_pid {
	VEC(struct process *) list;
};

/* Numbers of processes are used again: the last one that had begun by then. */
static struct process *find(const struct by_pid *all, uint32_t node, int64_t pid, int64_t tick)
{
	const struct process wanted = {.node = node, .pid = pid, .start_ns = tick};
	const struct process *key = &wanted;
	size_t next = search_first(0, all->list.n, i, by_pid(&all->list.at[i], &key) <= 0);
	struct process *p = next > 0 ? all->list.at[next - 1] : NULL;
	return p != NULL && p->node == node && p->pid == pid ? p : NULL;
}

static void note(struct process *p, const cJSON *item, uint32_t order)
{
	if (p == NULL)
		return;
	p->have_exit = true;
	p->exit_status = (int)json_int(item, "status", 0);
	p->exit_order = order;
	p->exit_tick = json_tick(item, "tick");
}

/* Slurm's task of that number; NULL: it is no rank, as a script that calls mpirun, or mpirun itself. */
static struct process *of_task(const struct step *s, const struct node *n, int64_t task)
{
	struct process *p = task >= 0 && task < s->nranks ? s->ranks[task] : NULL;
	int64_t ntasks = json_int(n->meta, "ntasks", 0);
	bool launched = strcmp(json_text(n->meta, "step_id", ""), "batch") == 0 ||
			(p != NULL && ntasks > 0 && ntasks < p->world_size);
	return launched ? NULL : p;
}

uint32_t exits_unrecorded(const struct step *s, int64_t *ret_rank, int *ret_status)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		const struct node *node = &s->nodes.at[i];
		const cJSON *list = cJSON_GetObjectItemCaseSensitive(node->meta, "exits"), *item;
		if (strcmp(json_text(node->meta, "step_id", ""), "batch") == 0 ||
		    json_int(node->meta, "ntasks", 0) != s->nranks)
			continue;
		cJSON_ArrayForEach(item, list)
		{
			int64_t task = json_int(item, "task", -1), status = json_int(item, "status", 0);
			if (task < 0 || task >= s->nranks || s->ranks[task] != NULL || status == 0 || n++ > 0)
				continue;
			*ret_rank = task;
			*ret_status = (int)status;
		}
	}
	return n;
}

int exits_read(struct step *s)
{
	struct by_pid all = {0};
	uint32_t order = 0;
	for (size_t i = 0; i < s->processes.n; i++)
		if (s->processes.at[i]->pid > 0 && vec_push(&all.list, s->processes.at[i]) < 0)
			return -ENOMEM;
	vec_sort(&all.list, by_pid);
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		const cJSON *list = cJSON_GetObjectItemCaseSensitive(s->nodes.at[i].meta, "exits"), *item;
		cJSON_ArrayForEach(item, list)
		{
			int64_t task = json_int(item, "task", -1), pid = json_int(item, "pid", -1);
			if (task >= 0)
				note(of_task(s, &s->nodes.at[i], task), item, order++);
			else if (pid > 0)
				note(find(&all, i, pid, json_tick(item, "tick")), item, order++);
		}
	}
	vec_done(&all.list);
	return 0;
}

static bool is_own(int signal_number)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP, SIGPIPE};
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i] == signal_number)
			return true;
	return false;
}

bool exits_early(const struct process *p)
{
	if (p->finalized)
		return false;
	return p->aborted || p->lost || (p->have_exit && p->exit_status != 0);
}

bool exits_before_finalize(const struct process *p)
{
	return exits_early(p) && p->finalize_enter_ns == TIME_ABSENT;
}

bool exits_by_itself(const struct process *p)
{
	if (!exits_early(p) || p->gave_up)
		return false;
	return p->aborted || (p->have_exit && (WIFEXITED(p->exit_status) || is_own(WTERMSIG(p->exit_status))));
}

/* A timer that it had set itself, for whatever it waited: nobody ends others by one. */
bool exits_by_timer(const struct process *p)
{
	static const int timers[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU};
	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
		if (p->have_exit && WIFSIGNALED(p->exit_status) && WTERMSIG(p->exit_status) == timers[i])
			return true;
	return false;
}

/* ---- who was first ---- */

/* By itself; by a timer, outside of MPI, or in a call: there it may have waited for who is outside. */
static int own_part(const struct process *p)
{
	if (exits_by_itself(p))
		return 3;
	return !exits_by_timer(p) ? 0 : p->open.n > 0 ? 1 : 2;
}

/* Who died by itself before who was ended by a timer, and both before who was ended by others: a launcher may hear of
 * them in any order. Then by time; then as it was told. */
static bool is_before(const struct process *a, const struct process *b)
{
	int own_a = own_part(a), own_b = own_part(b);
	if (own_a != own_b)
		return own_a > own_b;
	if (a->have_exit != b->have_exit)
		return a->have_exit;
	if (a->end_ns != TIME_ABSENT && b->end_ns != TIME_ABSENT && a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns;
	return a->exit_order < b->exit_order;
}

/* One that came to MPI_Finalize and returned an error ends the others too. */
static bool ended_badly(const struct process *p)
{
	return exits_early(p) || (p->finalized && p->have_exit && p->exit_status != 0);
}

static int signal_of(const struct process *p)
{
	return p->have_exit && WIFSIGNALED(p->exit_status) ? WTERMSIG(p->exit_status) : 0;
}

/* Did only what followed end that other one? Nothing was told of it, or that it had another signal; or it lived on: if
 * the launcher was not ended itself, then any time is long enough. */
static bool followed(const struct step *s, const struct process *other, const struct process *first)
{
	bool launcher_lived = s->outcome.have_launcher && WIFEXITED(s->outcome.launcher_status);
	if (!other->have_exit || signal_of(other) != signal_of(first))
		return true;
	return other->end_ns != TIME_ABSENT && first->end_ns != TIME_ABSENT &&
	       other->end_ns - first->end_ns > (launcher_lived ? 0 : DEATH_GAP_NS);
}

bool exits_killed_alone(const struct step *s)
{
	const struct outcome *o = &s->outcome;
	uint32_t killed = 0;
	if (o->have_launcher && !(WIFEXITED(o->launcher_status) && WEXITSTATUS(o->launcher_status) == 128 + SIGKILL))
		return false;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && exits_early(s->ranks[r]))
			killed += !s->ranks[r]->have_exit || signal_of(s->ranks[r]) == SIGKILL;
	return killed == 1;
}

/* One that others ended was the first of all, and alone, or whoever ended it ended all: then it is not to blame. Nor is
 * it where a rank is not in the record, because of which all may have been ended. */
static bool is_to_blame(const struct step *s, uint32_t rank)
{
	static const int polite[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	const struct process *p = s->ranks[rank];
	if (exits_by_itself(p) || exits_by_timer(p) || p->finalized)
		return true;
	bool alone = signal_of(p) != 0 && !outcome_is_stop(&s->outcome);
	for (size_t i = 0; i < sizeof(polite) / sizeof(polite[0]); i++)
		alone &= signal_of(p) != polite[i];
	for (uint32_t r = 0; r < s->nranks && alone; r++)
		if (s->ranks[r] == NULL)
			alone = false;
		else if (r != rank && exits_early(s->ranks[r]))
			alone = followed(s, s->ranks[r], p);
	return alone;
}

uint32_t exits_first(const struct step *s, uint32_t *ret_early)
{
	uint32_t first = NONE;
	*ret_early = 0;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		if (p == NULL)
			continue;
		*ret_early += exits_early(p);
		if (ended_badly(p) && (first == NONE || is_before(p, s->ranks[first])))
			first = r;
	}
	return first != NONE && is_to_blame(s, first) ? first : NONE;
}

/* Nobody else died of this signal, which the launcher then says is what ended the run. */
static bool was_killed_alone(const struct step *s, const struct process *p)
{
	const struct outcome *o = &s->outcome;
	uint32_t killed = 0;
	for (size_t i = 0; i < s->processes.n; i++)
		killed += signal_of(s->processes.at[i]) == signal_of(p);
	return signal_of(p) != 0 && killed == 1 && o->have_launcher && WIFEXITED(o->launcher_status) &&
	       WEXITSTATUS(o->launcher_status) == 128 + signal_of(p);
}

const struct process *exits_elsewhere(const struct step *s)
{
	const struct process *first = NULL;
	for (size_t i = 0; i < s->processes.n; i++) {
		const struct process *p = s->processes.at[i];
		bool died = exits_by_itself(p) || (exits_early(p) && was_killed_alone(s, p));
		if (died && p->rank != NONE && !step_has_rank(s, p) && (first == NULL || is_before(p, first)))
			first = p;
	}
	return first;
}
