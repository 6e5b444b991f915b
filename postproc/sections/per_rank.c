/* per_rank.c - "per_rank": one row a rank of MPI_COMM_WORLD, also for ranks that are not in
 * the record. */
#include "postproc/read/exits.h"
#include "postproc/analysis.h"

#include <math.h>
#include <sys/wait.h>

#define THREADS_MAX 64u /* of a rank, that are listed */

/* As a shell would tell it: 128 + signal for a killed one. */
static double shell_status(const struct process *p)
{
	if (p == NULL || !p->have_exit)
		return NAN;
	return WIFSIGNALED(p->exit_status) ? 128 + WTERMSIG(p->exit_status) : WEXITSTATUS(p->exit_status);
}

static void put_counts(cJSON *row, const struct rank_totals *t, bool unrecorded)
{
	json_put(row, "messages_out", (double)t->messages_out);
	json_put(row, "messages_in", (double)t->messages_in);
	json_put(row, "bytes_out", (double)t->bytes_out);
	json_put(row, "bytes_in", (double)t->bytes_in);
	json_put(row, "collective_bytes_out", (double)t->coll_bytes_out);
	json_put(row, "collective_bytes_in", (double)t->coll_bytes_in);
	json_put(row, "peers", (double)t->peers);
	json_put_null_or(row, "completions", unrecorded ? NAN : (double)t->completions);
	json_put(row, "barriers", (double)t->barriers);
	json_put(row, "collectives", (double)t->collectives);
	json_put(row, "calls", (double)t->calls);
}

static const char *state_of(const struct process *p)
{
	return p == NULL      ? "missing"
	       : p->finalized ? "finalized"
	       : p->aborted   ? "aborted"
	       : p->lost      ? "lost"
			      : "running";
}

/* The end of its last event; 0: it has none. */
static double last_event_s(const struct process *p, const struct thread *t)
{
	int64_t ns = t->last_sig == 0 ? TIME_ABSENT : t->last_ns != TIME_ABSENT ? t->last_ns : p->last_ns;
	return ns == TIME_ABSENT ? 0 : fmax(0, (double)ns / 1e9);
}

/* From when on single calls of a thread are missing: those that it lost, those behind a hole, those of which only the
 * totals tell; NAN: none are. */
static double thread_recorded_until_s(const struct process *p, const struct thread *t)
{
	bool ends_early = t->gap || t->written > t->read || t->not_written > 0;
	double until_s = ends_early ? last_event_s(p, t) : NAN;
	if (t->lost > 0)
		until_s = fmin(until_s, t->lost_from_ns == TIME_ABSENT ? 0 : fmax(0, (double)t->lost_from_ns / 1e9));
	return t->totals_wanted && !isnan(until_s) ? 0 : until_s;
}

/* The earliest of its threads. */
static double recorded_until_s(const struct process *p)
{
	double until_s = NAN;
	for (size_t i = 0; i < p->threads.n; i++)
		until_s = fmin(until_s, thread_recorded_until_s(p, &p->threads.at[i]));
	return until_s;
}

/* The first of many; the others are counted. */
static int put_threads(const struct step *s, cJSON *row, const struct process *p, const struct rank_totals *t)
{
	static const char *const names[] = {"one_thread", "all_threads", "first_thread"};
	struct thread_totals *of = threads_of(s, p, t->region_ns);
	uint32_t listed = 0;
	if (of == NULL)
		return -ENOMEM;
	json_put_text(row, "time_of", names[t->time_of]);
	json_put(row, "threads_s", t->threads_ns / 1e9);
	cJSON *list = json_array(row, "threads");
	for (uint32_t i = 0; i < p->threads.n; i++) {
		const struct thread_totals *x = &of[i];
		if (!x->called || listed++ >= THREADS_MAX)
			continue;
		cJSON *one = json_row(list);
		json_put(one, "thread", i);
		json_put_text(one, "role", x->progress ? "progress" : "worker");
		json_put(one, "calls", (double)x->calls);
		json_put_null_or(one, "span_s", x->known ? x->span_ns / 1e9 : NAN);
		json_put_null_or(one, "useful_s", x->known ? x->useful_ns / 1e9 : NAN);
		json_put(one, "mpi_s", x->mpi_ns / 1e9);
		json_put(one, "wait_s", x->wait_ns / 1e9);
		if (!s->totals)
			json_put_null_or(one, "recorded_until_s", thread_recorded_until_s(p, &p->threads.at[i]));
	}
	json_put(row, "threads_left_out", listed > THREADS_MAX ? listed - THREADS_MAX : 0);
	free(of);
	return 0;
}

static void put_usage(cJSON *row, const struct rank_usage *u)
{
	json_put_null_or(row, "resident_max_bytes", u->resident_max_bytes > 0 ? u->resident_max_bytes : NAN);
	json_put_null_or(row, "off_processor_s", u->known ? u->off_processor_ns / 1e9 : NAN);
	json_put_null_or(row, "frequency_hz", usage_frequency_hz(u->cycles, u->user_ns));
	json_put_null_or(row, "instructions_per_cycle", u->cycles > 0 ? u->instructions / u->cycles : NAN);
}

/* The calls that it never came back from, to its end. */
static void put_open(const struct step *s, cJSON *row, const struct process *p)
{
	cJSON *list = json_array(row, "open");
	for (size_t i = 0; i < p->open.n && i < THREADS_MAX; i++) {
		const struct open_sig *o = &p->open.at[i];
		const struct sig *sig = &p->sigs.at[o->sig];
		bool known = o->enter_ns != TIME_ABSENT && p->end_ns != TIME_ABSENT;
		cJSON *one = json_row(list);
		json_put(one, "thread", o->thread);
		json_put_text(one, "op", sig_op_or(s, sig, NULL));
		json_put(one, "class", step_class(s, sig));
		json_put_null_or(one, "callsite", sig->site != NONE ? sig->site : (double)NAN);
		json_put_null_or(one, "communicator", sig->comm != NONE ? s->comms.at[sig->comm].same : (double)NAN);
		json_put_null_or(one, "from_s", known ? (double)o->enter_ns / 1e9 : (double)NAN);
		json_put_null_or(one, "to_s", known ? (double)p->end_ns / 1e9 : (double)NAN);
		if (s->totals)
			continue;
		cJSON_AddBoolToObject(one, "waits", o->waits);
		json_put_null_or(one, "needs", o->waits && o->needs != NONE ? o->needs : (double)NAN);
	}
}

/* Of its calls only totals tell: whether it waited nobody knows. */
static bool has_no_event(const struct process *p)
{
	for (size_t i = 0; i < p->threads.n; i++)
		if (p->threads.at[i].read > 0)
			return false;
	return true;
}

int analysis_per_rank(struct analysis *a)
{
	const struct step *s = a->step;
	cJSON *list = json_array(a->root, "per_rank");
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		const struct rank_totals *t = &a->ranks[r];
		cJSON *row = json_row(list);
		json_put(row, "rank", r);
		json_put_text(row, "node", p == NULL ? NULL : s->nodes.at[p->node].name);
		bool unknown = s->totals && p != NULL && !t->known; /* only its events tell how long it ran */
		bool unrecorded = p != NULL && t->calls > 0 && has_no_event(p);
		json_put_null_or(row, "useful_s", unknown ? NAN : t->useful_ns / 1e9);
		json_put(row, "mpi_s", t->mpi_ns / 1e9);
		json_put(row, "tracing_s", t->tracing_ns / 1e9);
		json_put_null_or(row, "wait_s", unrecorded ? NAN : (double)(int64_t)t->wait_ns / 1e9);
		json_put(row, "polling_s", t->polling_ns / 1e9);
		json_put_seconds(row, "caused_wait_s", a->tally.waits.caused[r]);
		json_put(row, "startup_s", t->startup_ns / 1e9);
		json_put(row, "unreturned_s", t->open_ns / 1e9);
		json_put(row, "hung_s", t->hung_ns / 1e9);
		json_put_null_or(row, "processor_wait_s", p == NULL ? NAN : process_ready_ns(p) / 1e9);
		put_usage(row, &a->usage.ranks[r]);
		put_counts(row, t, unrecorded);
		json_put_null_or(row, "exit_status", shell_status(p));
		json_put_text(row, "state", state_of(p));
		cJSON_AddBoolToObject(row, "died", p != NULL && exits_by_itself(p));
		json_put_text(row, "cpus", p == NULL ? NULL : p->cpus);
		if (!s->totals)
			json_put_null_or(row, "recorded_until_s", p == NULL ? NAN : recorded_until_s(p));
		if (p != NULL && !p->finalized && p->open.n > 0)
			put_open(s, row, p);
		if (t->threads > 1 && put_threads(s, row, p, t) < 0)
			return -ENOMEM;
	}
	return 0;
}
