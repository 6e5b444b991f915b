/* json.c - see snapshot.h: schema mpitrace/live/1 (docs/LIVE.md). */
#include "postproc/live/snapshot.h"

#include "base/json.h"

#include <math.h>

#define SCHEMA "mpitrace/live/1"
#define MEMBERS_MAX 64	  /* of a deadlock's core */
#define DEADLOCKS_MAX 256 /* the smallest */

static void put_job(cJSON *o, const cJSON *meta, double ranks, double nodes)
{
	static const char *const texts[] = {"cluster", "job_id", "step_id", "account", "partition", "program"};
	cJSON *job = json_object(o, "job");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		json_put_text(job, texts[i], json_text(meta, texts[i], ""));
	json_put(job, "restart", json_number_or(meta, "restart", 0));
	json_put(job, "ranks", ranks);
	json_put(job, "nodes", nodes);
}

static void put_nodes(cJSON *o, const struct snapshot *l)
{
	static const char *const states[] = {[NODE_SAMPLED] = "sampled",
					     [NODE_LAGS] = "lags",
					     [NODE_ENDED] = "ended",
					     [NODE_WITHOUT] = "no samples"};
	cJSON *missing = json_array(o, "nodes_missing"), *nodes = json_array(o, "nodes");
	for (size_t i = 0; i < l->missing.n; i++)
		json_push_text(missing, l->missing.at[i]);
	for (size_t i = 0; i < l->nodes.n; i++) {
		const struct live_node *n = &l->nodes.at[i];
		cJSON *row = json_row(nodes);
		json_put_text(row, "node", l->step.nodes.at[i].name);
		json_put_text(row, "state", states[l->node_states.at[i]]);
		json_put(row, "sample", (double)n->seq);
		json_put_null_or(row, "time", n->samples > 0 ? (double)n->realtime_ns / 1e9 : NAN);
		json_put(row, "gap_s", (double)n->gap_ns / 1e9);
		json_put(row, "samples_unreadable", n->bad);
		bool limited = n->memory_limit_bytes > 0;
		json_put_null_or(row, "memory_used_bytes", limited ? (double)n->memory_used_bytes : NAN);
		json_put_null_or(row, "memory_limit_bytes", limited ? (double)n->memory_limit_bytes : NAN);
	}
}

static void put_call(cJSON *row, const struct snapshot *l, const struct sig *sig)
{
	char place[512];
	const struct comm *c = sig->comm != NONE ? &l->step.comms.at[sig->comm] : NULL;
	const struct site *site = sig->site != NONE ? &l->step.sites.at[sig->site] : NULL;
	bool message = sig->call.shape == SIG_SEND || sig->call.shape == SIG_RECV || sig->call.shape == SIG_SENDRECV ||
		       sig->call.shape == SIG_PROBE;
	json_put_text(row, "op", sig->op != NONE ? l->step.ops.at[sig->op] : NULL);
	int32_t peer = live_peer(sig);
	json_put_null_or(row, "peer", message && peer >= 0 ? peer : NAN);
	json_put_null_or(row, "tag", message && (sig->call.flags & SIG_ANY_TAG) == 0 ? sig->call.tag : NAN);
	bool world = c != NULL && c->name == NULL && c->parent == NONE && c->size == l->step.nranks;
	json_put_text(row, "comm", c == NULL ? NULL : world ? "MPI_COMM_WORLD" : c->name);
	json_put_null_or(row, "comm_size", c != NULL ? c->size : NAN);
	json_put_text(row, "callsite", live_place(l, sig, place, sizeof(place)) ? place : NULL);
	json_put_text(row, "function", site != NULL ? site->function : NULL);
}

static void put_ranks(cJSON *o, const struct snapshot *l)
{
	static const char *const states[] = {"silent", "useful", "mpi", "ended"};
	cJSON *ranks = json_array(o, "ranks");
	for (uint32_t r = 0; r < l->ranks.n; r++) {
		const struct live_rank *x = &l->ranks.at[r];
		const struct process *p = l->step.ranks[r];
		cJSON *row = json_row(ranks);
		json_put(row, "rank", r);
		json_put_text(row, "node", p != NULL ? l->step.nodes.at[p->node].name : NULL);
		json_put_text(row, "state", states[x->state]);
		if (x->sig != NULL)
			put_call(row, l, x->sig);
		else if (x->state == LIVE_MPI)
			json_put_text(row, "op", "MPI_Init");
		json_put_null_or(row, "since_s", x->since_s);
		json_put_null_or(row, "useful", x->useful);
		json_put_null_or(row, "mpi", x->mpi);
		json_put_null_or(row, "on_processor", x->on_processor);
		json_put_null_or(row, "off_processor", x->off_processor);
		json_put_null_or(row, "resident_bytes", x->resident_bytes);
		json_put_null_or(row, "frequency_hz", x->frequency_hz);
		json_put_null_or(row, "instructions_per_cycle", x->instructions_per_cycle);
		cJSON_AddBoolToObject(row, "stopped", x->stopped);
	}
}

static void put_member(cJSON *list, const struct snapshot *l, const struct core_member *m)
{
	const struct state *t = &l->states.out.threads.at[m->thread];
	const struct sig at = {.site = t->site};
	char place[512], *until = live_until(l, m);
	cJSON *row = json_row(list);
	json_put(row, "rank", m->rank);
	json_put(row, "thread", t->thread);
	json_put_text(row, "op", t->op);
	json_put_text(row, "callsite", live_place(l, &at, place, sizeof(place)) ? place : NULL);
	json_put_null_or(row, "since_s", t->since_s);
	json_put_null_or(row, "needs", m->needs != STATE_NONE ? m->needs : NAN);
	json_put_text(row, "until", until);
	free(until);
}

static void put_waiters(cJSON *list, const struct snapshot *l, const struct core_waiters *w)
{
	const struct sig at = {.site = w->site};
	char place[512];
	cJSON *row = json_row(list);
	json_put_text(row, "op", w->op);
	json_put_text(row, "callsite", live_place(l, &at, place, sizeof(place)) ? place : NULL);
	json_put(row, "ranks", w->count);
	json_put(row, "first", w->first);
}

/* The core, then all who can never go on because of it. */
static void put_deadlock(cJSON *list, const struct snapshot *l, const struct core *c)
{
	cJSON *row = json_row(list), *core = json_array(row, "core"), *waiting = json_array(row, "waiting");
	cJSON *ranks = json_array(row, "ranks");
	char *why = live_why(l, c);
	for (size_t i = 0; i < c->members.n && i < MEMBERS_MAX; i++)
		put_member(core, l, &c->members.at[i]);
	json_put(row, "core_ranks", c->nranks);
	json_put_null_or(row, "ended", c->over != STATE_NONE ? c->over : NAN);
	for (size_t i = 0; i < c->waiters.n; i++)
		put_waiters(waiting, l, &c->waiters.at[i]);
	for (size_t i = 0; i < c->members.n; i++)
		if (i == 0 || c->members.at[i].rank != c->members.at[i - 1].rank)
			json_push(ranks, c->members.at[i].rank);
	for (size_t i = 0; i < c->waiting.n; i++)
		json_push(ranks, c->waiting.at[i]);
	json_put_text(row, "why", why);
	free(why);
}

char *live_json(const struct snapshot *l)
{
	cJSON *o = cJSON_CreateObject();
	json_put_text(o, "schema", SCHEMA);
	put_job(o, l->step.nodes.n > 0 ? l->step.nodes.at[0].meta : NULL, l->step.nranks, l->step.nnodes);
	json_put(o, "sample", (double)l->sample);
	json_put(o, "time", (double)l->realtime_ns / 1e9);
	put_nodes(o, l);
	put_ranks(o, l);
	cJSON_AddBoolToObject(o, "ended", l->over);
	cJSON_AddBoolToObject(o, "stuck", l->stuck);
	cJSON *deadlock = json_array(o, "deadlock"), *possible = json_array(o, "deadlock_possible");
	cJSON *waited = json_array(o, "waited_for");
	for (size_t i = 0; i < l->cores.at.n && i < DEADLOCKS_MAX; i++)
		put_deadlock(deadlock, l, &l->cores.at.at[i]);
	for (size_t i = 0; i < l->possible.at.n && i < DEADLOCKS_MAX; i++)
		put_deadlock(possible, l, &l->possible.at.at[i]);
	for (size_t i = 0; i < l->waited_for.n; i++) {
		const struct live_group *x = &l->waited_for.at[i];
		cJSON *row = json_row(waited);
		json_put(row, "rank", x->rank);
		cJSON *ranks = json_array(row, "ranks");
		for (size_t k = 0; k < x->ranks.n; k++)
			json_push(ranks, x->ranks.at[k]);
	}
	char *text = json_print(o);
	cJSON_Delete(o);
	return text;
}

char *live_json_of_job(const struct node *n, const struct starting *x)
{
	cJSON *o = cJSON_CreateObject();
	json_put_text(o, "schema", SCHEMA);
	put_job(o, n->meta, x->wanted, json_number_or(n->meta, "nnodes", 1));
	json_put(o, "time", x->now);
	char *text = json_print(o);
	cJSON_Delete(o);
	return text;
}
