/* coverage.c - "coverage" and "job.state": what is there, what is not, and why. Never silent,
 * always numbers. */
#include "postproc/analysis.h"
#include "postproc/read/exits.h"
#include "postproc/totals/states.h"
#include "postproc/totals/waiting.h"
#include "base/hostlist.h"
#include "base/units.h"
#include "postproc/sections/unknown.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#define NAMED_MAX 8 /* ranks or nodes named in one reason; the rest is a number */
#define MISSING_NODES_MAX 1024

struct shortfall {
	uint64_t events, lost, apart, unwanted, unknown_sigs, unknown_calls, unknown_defs, missing_defs;
	uint64_t uncounted[UNCOUNTED_ROWS];
	uint64_t bare;	  /* messages whose words went with an event that was not kept */
	uint64_t named;	  /* other such calls */
	bool up_to;	  /* no more than these two: how many of their events were kept is not known */
	uint64_t crowded; /* calls that differ from all others, where there are too many such */
	uint32_t missing, killed, unfinished, finalizing, gaps;
};

static void explain_end(struct step *s, const struct process *p, const char *of, uint32_t *named)
{
	if (p->aborted && (*named)++ < NAMED_MAX)
		step_reason(s, "rank %u%s called MPI_Abort", p->rank, of);
	if (!p->have_exit || p->exit_status == 0 || (*named)++ >= NAMED_MAX)
		return;
	if (WIFSIGNALED(p->exit_status))
		step_reason(s, "rank %u%s was killed by signal %d", p->rank, of, WTERMSIG(p->exit_status));
	else
		step_reason(s, "rank %u%s exited with status %d", p->rank, of, WEXITSTATUS(p->exit_status));
}

static void explain_exit(struct step *s, uint32_t rank, uint32_t *named)
{
	explain_end(s, s->ranks[rank], "", named);
}

/* They are left out, but what ended them may have ended the run. */
static void explain_exits_elsewhere(struct step *s)
{
	uint32_t named = 0;
	for (size_t i = 0; i < s->processes.n; i++)
		if (!step_has_rank(s, s->processes.at[i]) && s->processes.at[i]->rank != NONE)
			explain_end(s, s->processes.at[i], " of another MPI_COMM_WORLD", &named);
	if (named > NAMED_MAX)
		step_reason(s, "%u more such reasons, of ranks of other MPI_COMM_WORLDs", named - NAMED_MAX);
}

static uint64_t unusable(const struct step *s, const struct thread *t)
{
	return s->totals ? 0 : thread_unusable(t);
}

static uint64_t not_written(const struct step *s, const struct thread *t)
{
	return s->totals ? 0 : t->not_written;
}

/* No totals were written yet either: nothing is known of what it did. */
static bool is_empty(const struct step *s, const struct process *p)
{
	if (s->nodes.at[p->node].file.finished)
		return false;
	for (size_t i = 0; i < p->sigs.n; i++)
		if (p->sigs.at[i].calls > 0)
			return false;
	return true;
}

static const char *const uncounted_names[UNCOUNTED_ROWS] = {
#define NAME(name, lacks, noun, said) [UNCOUNTED_##name] = #name,
	UNCOUNTED(NAME)
#undef NAME
};

static const char *const uncounted_nouns[UNCOUNTED_ROWS] = {
#define NOUN(name, lacks, noun, said) [UNCOUNTED_##name] = (noun),
	UNCOUNTED(NOUN)
#undef NOUN
};

static const char *const uncounted_said[UNCOUNTED_ROWS] = {
#define SAID(name, lacks, noun, said) [UNCOUNTED_##name] = (said),
	UNCOUNTED(SAID)
#undef SAID
};

static void explain_uncounted(struct step *s, uint32_t rank, uint32_t *named)
{
	for (int i = 0; i < UNCOUNTED_ROWS; i++) {
		uint64_t n = s->ranks[rank]->uncounted[i];
		if (uncounted_lacks[i] && n > 0 && (*named)++ < NAMED_MAX)
			step_reason(s, "rank %u: %s: %s", rank, uncounted_said[i],
				    fmt_many((double)n, uncounted_nouns[i]).s);
	}
}

static void explain_losses(struct step *s, uint32_t rank, uint32_t *named)
{
	const struct process *p = s->ranks[rank];
	explain_uncounted(s, rank, named);
	for (size_t t = 0; t < p->threads.n; t++) {
		const struct thread *th = &p->threads.at[t];
		const char *why = th->why_lost != NULL ? th->why_lost : "events were not kept";
		if (th->lost > 0 && !th->totals_wanted && (*named)++ < NAMED_MAX) {
			double from_s = th->lost_from_ns == TIME_ABSENT ? 0 : (double)th->lost_from_ns / 1e9;
			step_reason(s, "rank %u: %s after %.3f s; only in the totals: %s", rank, why, from_s,
				    fmt_many((double)th->lost, "event").s);
		}
		if ((th->gap || unusable(s, th) > 0) && (*named)++ < NAMED_MAX)
			step_reason(s, "rank %u: left out, because a block before them is missing: %s", rank,
				    fmt_many((double)unusable(s, th), "event").s);
		if (not_written(s, th) > 0 && (*named)++ < NAMED_MAX)
			step_reason(s, "rank %u: only in the totals, because %s: %s", rank,
				    s->nodes.at[p->node].file.finished ? "the file does not have their events"
								       : "the file ends before their events",
				    fmt_many((double)not_written(s, th), "call").s);
	}
	if (is_empty(s, p) && (*named)++ < NAMED_MAX)
		step_reason(s, "rank %u: neither totals nor events are in the record: what it did is not known", rank);
}

static void explain_fields(struct step *s, uint32_t rank, uint32_t *named)
{
	double modules = json_number_or(s->ranks[rank]->meta, "modules_missing", 0);
	if (modules > 0 && (*named)++ < NAMED_MAX)
		step_reason(s, "rank %u: not in the record, so that their call sites stay addresses: %s", rank,
			    fmt_many(modules, "loaded object").s);
	double replaced = json_number_or(s->ranks[rank]->meta, "modules_replaced", 0);
	if (replaced > 0 && (*named)++ < NAMED_MAX)
		step_reason(
			s,
			"rank %u: %.0f libraries were loaded where another one that called MPI had been: call sites of "
			"one may be shown in the other",
			rank, replaced);
}

/* A newer tracer's, or one that was taught a call that this analysis was not. */
static void tally_unknown(const struct process *p, struct shortfall *t)
{
	t->unknown_sigs += p->unknown_sigs;
	t->unknown_defs += p->unknown_defs;
	for (size_t i = 0; i < p->threads.n; i++)
		t->missing_defs += p->threads.at[i].defs_missing;
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		*(sig->crowded ? &t->crowded : &t->unknown_calls) += sig->crowded || sig->call.unknown ? sig->calls : 0;
	}
}

/* The events have taken theirs from it (read/thread.c). Where they were passed over they have all that was not lost:
 * of a process without events all is missing, of others what was lost at most. */
static void tally_bare(const struct step *s, const struct process *p, struct shortfall *t)
{
	uint64_t bare = 0, named = 0, written = 0, lost = 0;
	for (size_t i = 0; i < p->threads.n; i++) {
		written += p->threads.at[i].written;
		lost += p->threads.at[i].lost;
	}
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		if (sig->call.literal_follows && sig->op != NONE && step_is_message(s->ops.at[sig->op]))
			bare += sig->calls;
		else if (states_is_hidden(s, sig))
			named += sig->calls;
	}
	t->bare += s->totals && bare > lost ? lost : bare;
	t->named += s->totals && named > lost ? lost : named;
	t->up_to |= s->totals && lost > 0 && written > 0 && bare + named > 0;
}

static void explain_bare(struct step *s, const struct shortfall *t)
{
	const char *up_to = t->up_to ? "up to " : "";
	if (t->bare > 0)
		step_reason(s, "of new sizes or tags and so only in the totals, without sizes and partners: %s%s",
			    up_to, fmt_many((double)t->bare, "message").s);
	if (t->named > 0)
		step_reason(
			s,
			"of which only number and time are known, because there was no room for what they were: %s%s",
			up_to, fmt_many((double)t->named, "other call").s);
}

static void explain_unknown(struct step *s, const struct shortfall *t)
{
	if (t->unknown_sigs > 0)
		step_reason(
			s, "of a kind that this program does not know, so that only number and time are known: %s (%s)",
			fmt_many((double)t->unknown_calls, "call").s, fmt_many((double)t->unknown_sigs, "signature").s);
	if (t->crowded > 0)
		step_reason(s,
			    "of more different sizes and tags than an analysis keeps, so that only number and time are "
			    "known: %s",
			    fmt_many((double)t->crowded, "call").s);
	explain_bare(s, t);
	for (int i = 0; i < UNCOUNTED_ROWS; i++)
		if (!uncounted_lacks[i] && t->uncounted[i] > 0)
			step_reason(s, "%s: %s", uncounted_said[i],
				    fmt_many((double)t->uncounted[i], uncounted_nouns[i]).s);
	if (t->missing_defs > 0)
		step_reason(s,
			    "the tracer's tables had no room for %s (communicators, datatypes, windows, files, matched "
			    "messages, names); what calls on them mean is not known",
			    fmt_many((double)t->missing_defs, "definition").s);
	if (t->unknown_defs > 0)
		step_reason(s, "left out, because this program does not know their kind: %s",
			    fmt_many((double)t->unknown_defs, "definition").s);
}

/* Reasons of one kind, and of how many ranks some are not said. */
struct reasons {
	uint32_t n, ranks_unsaid;
};

static void explain_rank(struct step *s, uint32_t rank, struct reasons *r,
			 void (*explain)(struct step *s, uint32_t rank, uint32_t *named))
{
	uint32_t before = r->n;
	explain(s, rank, &r->n);
	r->ranks_unsaid += r->n > before && r->n > NAMED_MAX;
}

static void tally_rank(struct step *s, uint32_t rank, struct shortfall *t, struct reasons *reasons)
{
	const struct process *p = s->ranks[rank];
	if (p == NULL) {
		t->missing++;
		return;
	}
	t->events += step_events(p);
	t->unfinished += !p->finalized;
	t->finalizing += !p->finalized && p->finalize_enter_ns != TIME_ABSENT;
	for (int i = 0; i < UNCOUNTED_ROWS; i++)
		t->uncounted[i] += p->uncounted[i];
	s->bad_blocks += p->bad_blocks;
	s->bad_totals += p->bad_totals;
	for (size_t i = 0; i < p->threads.n; i++) {
		t->lost += p->threads.at[i].lost + unusable(s, &p->threads.at[i]) + not_written(s, &p->threads.at[i]);
		t->apart += p->threads.at[i].apart;
		t->unwanted += p->threads.at[i].totals_wanted ? p->threads.at[i].lost : 0;
		t->gaps += p->threads.at[i].gap;
	}
	tally_unknown(p, t);
	tally_bare(s, p, t);
	explain_rank(s, rank, &reasons[0], explain_exit);
	explain_rank(s, rank, &reasons[1], explain_losses);
	explain_rank(s, rank, &reasons[2], explain_fields);
}

/* Of tasks that Slurm started, of which nothing else is known. */
static void explain_unrecorded(struct step *s)
{
	int64_t rank;
	int status;
	uint32_t n = exits_unrecorded(s, &rank, &status);
	if (n == 0)
		return;
	step_reason(s, "rank %lld, of which nothing else is in the record, %s %d%s", (long long)rank,
		    WIFSIGNALED(status) ? "was killed by signal" : "exited with status",
		    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		    n > 1 ? ", the first that is told of several such" : "");
}

static void explain_rest(struct step *s, const struct reasons *r, const char *what)
{
	if (r->n > NAMED_MAX)
		step_reason(s, "%u more such reasons, of %s that %s", r->n - NAMED_MAX,
			    fmt_many(r->ranks_unsaid, "rank").s, what);
}

static void explain_files(struct step *s)
{
	for (size_t i = 0; i < s->nodes.n; i++) {
		const struct mpic_file *f = &s->nodes.at[i].file;
		if (f->damaged_bytes > 0)
			step_reason(s, "%s: damaged and skipped: %s", s->nodes.at[i].name,
				    fmt_many((double)f->damaged_bytes, "byte").s);
		if (s->nodes.at[i].clock.n == 0)
			step_reason(s, "%s: no clock sample: its times are estimates", s->nodes.at[i].name);
		else if (!node_rate_is_known(&s->nodes.at[i]))
			step_reason(
				s,
				"%s: its clock was read only once, or at nearly one time, so its rate is not known: "
				"its times are estimates",
				s->nodes.at[i].name);
		if (!f->finished)
			step_reason(s, "%s: the file has no end mark: it was cut, or the job still runs",
				    s->nodes.at[i].name);
	}
	if (s->bad_blocks > 0)
		step_reason(s, "%s could not be decoded", fmt_many(s->bad_blocks, "block").s);
	if (s->bad_totals > 0)
		step_reason(s, "%s left out: the program has written over them",
			    fmt_many(s->bad_totals, "impossible total").s);
}

/* Why processes that had the tracer loaded are not in the record. True: it is not whole. */
static bool explain_untraced(struct step *s)
{
	bool lacks = false;
	for (size_t i = 0; i < s->nodes.n; i++)
		for (const cJSON *u = json_first(s->nodes.at[i].meta, "untraced"); u != NULL; u = u->next) {
			double n = json_number_or(u, "processes", 1);
			step_reason(s, "%s: %s process%s ran untraced: %s", s->nodes.at[i].name, fmt_count(n).s,
				    n == 1 ? "" : "es", json_text(u, "why", ""));
			lacks |= cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(u, "failed"));
		}
	return lacks;
}

static void explain_unmatched(struct step *s, const struct unmatched *u, const struct op_counts *c)
{
	const struct {
		uint64_t n;
		const char *one, *many, *why;
	} rows[] = {
		{u->partner_missing, "message has", "messages have", "no partner: its rank is not in the record"},
		{u->record_cut, "message has", "messages have",
		 "no partner: a rank's record lacks calls, or ends early"},
		{u->unknown_source, "message has", "messages have",
		 "no partner: who sent what a wildcard receive got is not recorded"},
		{u->program, "message has", "messages have",
		 "no partner although both records are complete: never received, or never sent"},
		{u->collectives, "collective operation lacks", "collective operations lack", "some members"},
		{u->collectives_differ, "collective operation differs", "collective operations differ",
		 "between members"},
		{c->unknown_requests, "completed request was", "completed requests were",
		 "started outside of the record"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].n > 0)
			step_reason(s, "%s %s %s", fmt_count((double)rows[i].n).s,
				    rows[i].n == 1 ? rows[i].one : rows[i].many, rows[i].why);
}

static void explain_ranks(struct step *s, const struct shortfall *t)
{
	if (t->missing > 0)
		step_reason(s, "%s of %s not in the record", fmt_count(t->missing).s, fmt_many(s->nranks, "rank").s);
	if (t->unfinished > t->finalizing)
		step_reason(s, "%s did not reach MPI_Finalize", fmt_many(t->unfinished - t->finalizing, "rank").s);
	if (t->finalizing > 0)
		step_reason(s, "%s did not come out of MPI_Finalize", fmt_many(t->finalizing, "rank").s);
	if (s->nodes.n < s->nnodes)
		step_reason(s, "%s of %s gave no file", fmt_count((double)s->nnodes - (double)s->nodes.n).s,
			    fmt_many(s->nnodes, "node").s);
}

/* The step's list of nodes, as the nodes that are there tell it, without them. */
struct missing {
	const struct step *s;
	uint32_t listed;
	VEC(char *) names;
};

static bool is_seen(const struct step *s, const char *name)
{
	for (size_t i = 0; i < s->nodes.n; i++)
		if (strcmp(s->nodes.at[i].name, name) == 0)
			return true;
	return false;
}

static int add_listed(void *context, const char *name)
{
	struct missing *m = context;
	if (m->listed++ == m->s->nnodes)
		return -E2BIG; /* another list than this step's */
	if (is_seen(m->s, name))
		return 0;
	char *copy = strdup(name);
	if (copy == NULL || vec_push(&m->names, copy) < 0) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

static const char *nodelist_of(const struct step *s)
{
	for (size_t i = 0; i < s->nodes.n; i++) {
		const char *list = json_text(s->nodes.at[i].meta, "nodelist", "");
		if (*list != '\0')
			return list;
	}
	return "";
}

/* "node 3": its number in the step is known in any case. */
static void put_numbers(const struct step *s, cJSON *list)
{
	for (uint32_t id = 0, named = 0; id < s->nnodes && named < MISSING_NODES_MAX; id++) {
		char text[32];
		bool seen = false;
		for (size_t i = 0; i < s->nodes.n && !seen; i++)
			seen = s->nodes.at[i].id == id;
		if (seen)
			continue;
		snprintf(text, sizeof(text), "node %u", id);
		json_push_text(list, text);
		named++;
	}
}

/* By name where the list of nodes is exactly this step's: as long as it, and with all names that are there. */
static void put_missing_nodes(const struct step *s, cJSON *coverage)
{
	cJSON *list = json_array(coverage, "nodes_missing");
	struct missing m = {.s = s};
	if (s->nodes.n >= s->nnodes)
		return;
	bool whole = hostlist_each(nodelist_of(s), add_listed, &m) == 0 && m.listed == s->nnodes &&
		     m.names.n == s->nnodes - s->nodes.n;
	for (size_t i = 0; whole && i < m.names.n && i < MISSING_NODES_MAX; i++)
		json_push_text(list, m.names.at[i]);
	if (!whole)
		put_numbers(s, list);
	for (size_t i = 0; i < m.names.n; i++)
		free(m.names.at[i]);
	vec_done(&m.names);
}

/* Of all ranks' time in MPI, between MPI_Init and MPI_Finalize. */
static double share_without_waits(const struct step *s)
{
	double all = 0, unknown = 0;
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->sigs.n; i++) {
			const struct sig *sig = &s->ranks[r]->sigs.at[i];
			double ns = (double)sig->ticks * s->ranks[r]->ns_per_tick;
			if (is_startup(s, sig))
				continue;
			all += ns;
			unknown += waiting_is_unknown(s, sig) ? ns : 0;
		}
	return all > 0 ? unknown / all : 0;
}

/* Calls that send and never came back: what they sent is no message of the record. */
static double open_sends(const struct step *s)
{
	double n = 0;
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->open.n; i++) {
			const struct sig *sig = &s->ranks[r]->sigs.at[s->ranks[r]->open.at[i].sig];
			n += sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV;
		}
	return n;
}

static void put_unmatched(const struct analysis *a, cJSON *coverage)
{
	const struct unmatched *u = &a->unmatched;
	cJSON *o = json_object(coverage, "unmatched");
	json_put(o, "sends", (double)u->sends);
	json_put(o, "sends_open", open_sends(a->step));
	json_put(o, "receives", (double)u->recvs);
	json_put(o, "partner_missing", (double)u->partner_missing);
	json_put(o, "record_cut", (double)u->record_cut);
	json_put(o, "unknown_source", (double)u->unknown_source);
	json_put(o, "program", (double)u->program);
	json_put(o, "collectives", (double)u->collectives);
	json_put(o, "collectives_differ", (double)u->collectives_differ);
	json_put(o, "cancelled", (double)a->counts.cancelled);
	json_put(o, "proc_null", (double)a->counts.proc_null);
	json_put(o, "outside_world", (double)a->counts.outside);
}

static void put_reasons(const struct step *s, cJSON *coverage)
{
	cJSON *reasons = json_array(coverage, "reasons");
	for (size_t i = 0; i < s->reasons.n; i++)
		json_push_text(reasons, s->reasons.at[i]);
}

/* MPI_Initialized, MPI_Get_version and the like: allowed there, and no part of the record. */
static double calls_before_init(const struct step *s)
{
	double n = 0;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			n += json_number_or(s->ranks[r]->meta, "calls_before_init", 0);
	return n;
}

static bool lacks_any(const struct shortfall *t)
{
	for (int i = 0; i < UNCOUNTED_ROWS; i++)
		if (uncounted_lacks[i] && t->uncounted[i] > 0)
			return true;
	return false;
}

int analysis_coverage(struct analysis *a)
{
	struct step *s = a->step;
	struct shortfall t = {0};
	struct reasons reasons[3] = {{0}};
	unknown_explain(a);
	for (uint32_t r = 0; r < s->nranks; r++)
		tally_rank(s, r, &t, reasons);
	explain_rest(s, &reasons[0], "did not end well");
	explain_exits_elsewhere(s);
	explain_unrecorded(s);
	explain_rest(s, &reasons[1], "lost single events");
	explain_rest(s, &reasons[2], "had objects that are not in the record");
	explain_ranks(s, &t);
	explain_files(s);
	explain_unknown(s, &t);
	if (!s->totals && t.unwanted > 0 && t.events == 0)
		step_reason(s, "totals were asked for, and no single calls: what is found in these, as waits and the "
			       "critical path, is not known");
	bool lacks = explain_untraced(s);
	a->lost = lacks || t.missing != 0 || t.lost != t.unwanted || t.gaps != 0 || t.missing_defs != 0 ||
		  lacks_any(&t) || t.bare != 0 || t.named != 0 || t.crowded != 0 || s->nodes.n != s->nnodes ||
		  s->unfinished_files != 0 || s->files_left_out != 0 || s->damaged_bytes != 0 || s->bad_blocks != 0 ||
		  s->bad_totals != 0;
	a->as_wanted = !a->lost && t.unfinished == 0;
	a->complete = a->as_wanted && t.lost == 0 && !s->totals;
	explain_unmatched(s, &a->unmatched, &a->counts);
	if (t.apart > 0)
		step_reason(s,
			    "recorded after calls of their thread that are missing, so that whom they were with is not "
			    "known: %s",
			    fmt_many((double)t.apart, "call").s);
	cJSON *c = json_object(a->root, "coverage");
	cJSON_AddBoolToObject(c, "complete", a->as_wanted && !s->totals);
	json_put_text(c, "mode", s->totals ? "totals" : t.unwanted > 0 ? "profile" : "events");
	unknown_put(a, c);
	json_put(c, "ranks_expected", s->nranks);
	json_put(c, "ranks_seen", a->ranks_seen);
	put_missing_nodes(s, c);
	json_put(c, "events", (double)t.events);
	json_put(c, "events_lost", (double)t.lost);
	json_put(c, "events_apart", (double)t.apart);
	json_put(c, "files_without_end", s->unfinished_files);
	json_put(c, "calls_before_init", calls_before_init(s));
	for (int i = 0; i < UNCOUNTED_ROWS; i++)
		json_put(c, uncounted_names[i], (double)t.uncounted[i]);
	json_put(c, "mpi_without_waits", share_without_waits(s));
	json_put(c, "unknown_signatures", (double)t.unknown_sigs);
	json_put(c, "unknown_calls", (double)t.unknown_calls);
	json_put(c, "unknown_definitions", (double)t.unknown_defs);
	json_put(c, "definitions_missing", (double)t.missing_defs);
	put_reasons(s, c);
	put_unmatched(a, c);
	json_put_text(cJSON_GetObjectItemCaseSensitive(a->root, "job"), "state",
		      a->as_wanted && !s->totals ? "completed" : "partial");
	return 0;
}
