/* sweep_collective.c - who waits for whom in collective operations. See sweep_parts.h. */
#include "postproc/stream/sweep_parts.h"

struct assembly *sweep_assembly(struct sweep *w, const struct action *x)
{
	return assembly_of(&w->assemblies, x, w->st->step->comms.at[x->comm].here);
}

void sweep_leave_behind(struct sweep *w, const struct action *x)
{
	struct assembly *m = sweep_assembly(w, x);
	if (++m->left < m->expected)
		return;
	path_release(w->paths, &m->last_path);
	path_release(w->paths, &m->root_path);
	assembly_forget(&w->assemblies, m);
}

void sweep_enter(struct sweep *w, struct actor *a, const struct action *x, struct assembly *m, int64_t start_ns)
{
	m->entered++;
	m->last = later(m->last, a->now);
	m->step = a->step > m->step ? a->step : m->step;
	if (start_ns > m->last_start_ns) {
		m->last_start_ns = start_ns;
		path_hold(w->paths, &m->last_path, &a->path, start_ns);
	}
	if (x->root) {
		m->root = a->now;
		m->root_step = a->step;
		m->root_entered = true;
		m->root_start_ns = start_ns;
		path_hold(w->paths, &m->root_path, &a->path, start_ns);
	}
	if (x->root || m->entered == m->expected)
		sweep_wake(w, &m->waiters);
}

static bool from_root(uint8_t kind)
{
	return kind == COLL_BCAST || kind == COLL_SCATTER || kind == COLL_SCATTERV;
}

static bool to_root(uint8_t kind)
{
	return kind == COLL_REDUCE || kind == COLL_GATHER || kind == COLL_GATHERV;
}

void sweep_waited_for(struct sweep *w, struct actor *a, double ideal, uint32_t step, int64_t start_ns,
		      const struct snapshot *path)
{
	a->now = later(a->now, ideal);
	a->step = step > a->step ? step : a->step;
	if (w->delays != NULL && path->stretch != NULL)
		delays_matched(w->delays, a->lane->rank, path_rank(path), a->events.at[a->at].end_ns);
	if (start_ns > a->began) {
		a->began = start_ns;
		a->causer = *path;
	}
}

bool sweep_leave(struct sweep *w, struct actor *a, const struct action *x, const struct assembly *m, bool give_up)
{
	if (coll_is_neighborhood(x->coll) || (to_root(x->coll) && !x->root))
		return true;
	if (from_root(x->coll)) {
		if (!m->root_entered && m->entered < m->expected && !give_up)
			return false;
		if (m->root_entered)
			sweep_waited_for(w, a, m->root, m->root_step, m->root_start_ns, &m->root_path);
		return true;
	}
	if (m->entered < m->expected && !give_up)
		return false;
	if (sync_may_leave(x->coll) && m->last_start_ns > a->events.at[a->at].end_ns)
		return true;
	bool scan = x->coll == COLL_SCAN || x->coll == COLL_EXSCAN;
	if (!scan && !to_root(x->coll) && m->expected == w->st->nlanes)
		a->all_inside_ns = m->last_start_ns;
	sweep_waited_for(w, a, m->last, m->step, scan ? INT64_MIN : m->last_start_ns, &m->last_path);
	return true;
}
