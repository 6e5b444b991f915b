/* exits.c - see exits.h. In: "exits" of the nodes (docs/STEPDIR.md).  Out: have_exit, exit_status, exit_tick
 * of processes. */
#include "postproc/read/exits.h"
#include "base/json.h"
#include "base/search.h"
#include "postproc/read/load.h"

#include <signal.h>
#include <sys/wait.h>

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
