/* analysis.c - the order of work, and the table of sections. */
#include "postproc/analysis.h"
#include "base/progress.h"
#include "postproc/replay/replay.h"
#include "postproc/totals/bytes.h"
#include "postproc/stream/alternation.h"
#include "postproc/stream/on_path.h"
#include "postproc/stream/threads.h"

static const struct {
	int (*add)(struct analysis *a);
	enum section_of of;
} sections[] = {
#define ROW(name, of) {analysis_##name, of},
	SECTIONS(ROW)
#undef ROW
};

#define NSECTIONS (sizeof(sections) / sizeof(sections[0]))

static void add_counts(struct analysis *a, const struct shard *sh)
{
	const struct op_counts *c = &sh->counts;
	const struct unmatched *u = &sh->unmatched;
	a->counts.proc_null += c->proc_null;
	a->counts.cancelled += c->cancelled;
	a->counts.outside += c->outside;
	a->counts.failed += c->failed;
	a->counts.unknown_requests += c->unknown_requests;
	a->unmatched.sends += u->sends;
	a->unmatched.recvs += u->recvs;
	a->unmatched.partner_missing += u->partner_missing;
	a->unmatched.record_cut += u->record_cut;
	a->unmatched.unknown_source += u->unknown_source;
	a->unmatched.program += u->program;
	a->unmatched.collectives += u->collectives;
	a->unmatched.collectives_differ += u->collectives_differ;
	a->clock.violations += sh->violations;
	a->clock.largest_ns = sh->largest_ns > a->clock.largest_ns ? sh->largest_ns : a->clock.largest_ns;
}

/* What all shards found. */
static int gather(struct analysis *a, const struct stream *st)
{
	const struct step *s = a->step;
	a->clock = st->clock;
	a->leaked = calloc(s->nranks, sizeof(*a->leaked));
	a->leak_site = calloc(s->nranks, sizeof(*a->leak_site));
	a->unread = calloc(s->files.n + 1, sizeof(*a->unread));
	a->path_site_ns = calloc(s->sites.n + 1, sizeof(*a->path_site_ns));
	if (a->path_site_ns == NULL || a->leaked == NULL || a->leak_site == NULL || a->unread == NULL ||
	    tally_begin(&a->tally, s) < 0)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++) {
		a->leaked[r] = st->ranks[r].leaked;
		a->leak_site[r] = st->ranks[r].leak_site;
	}
	for (uint32_t i = 0; i < st->nshards; i++) {
		const struct shard *sh = &st->shards[i];
		add_counts(a, sh);
		for (size_t k = 0; k < s->files.n; k++)
			a->unread[k] += sh->unread[k];
		if (tally_merge(&a->tally, &sh->tally, s) < 0)
			return -ENOMEM;
	}
	return s->totals ? 0 : rank_time_keep(a, st);
}

static int ignore_begin(void *context, struct stream *st)
{
	(void)context, (void)st;
	return 0;
}

static int follow_events(struct analysis *a, unsigned nthreads, const struct stream_visitor *v, struct error *e)
{
	struct stream st;
	struct stream_visitor none = {.begin = ignore_begin, .window = ignore_begin}, turns, watching;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		for (size_t i = 0; a->step->ranks[r] != NULL && i < a->step->ranks[r]->sigs.n; i++) {
			struct sig *sig = &a->step->ranks[r]->sigs.at[i];
			sig->class = (uint8_t)step_class(a->step, sig);
		}
	bytes_of_calls(a->step);
	int code = threads_classify(a->step);
	if (code < 0)
		return code;
	turns = alternation_watch(&a->alternation, a->step, v != NULL ? v : &none);
	code = periods_watch(&a->periods, a->step, &turns, &watching);
	if (code < 0)
		return code;
	code = stream_run(a->step, nthreads, &watching, &st, e);
	bool sums = code == 0 && step_is_written_here(a->step);
	if (sums)
		code = gather(a, &st);
	if (code == 0 && sums && !a->step->totals)
		code = on_path_sites(&st, a->path_site_ns);
	a->swept = st.swept;
	st.swept = (struct sweep_result){0};
	stream_done(&st);
	return code;
}

static int compute(struct analysis *a, unsigned nthreads, const struct stream_visitor *v, struct error *e)
{
	int code = follow_events(a, nthreads, v, e);
	if (code < 0 || !step_is_written_here(a->step))
		return code;
	if (code == 0)
		code = traffic_p2p(a->step, &a->p2p);
	if (code == 0)
		code = traffic_collective(a->step, &a->coll);
	if (code == 0)
		code = traffic_rma(a->step, &a->rma);
	if (code == 0)
		code = bytes_count(a->step);
	if (code == 0)
		code = usage_total(a->step, &a->usage);
	return code == 0 ? ranks_total(a) : code;
}

int analysis_run(struct analysis *a, unsigned nthreads, const struct stream_visitor *visitor, struct error *e)
{
	struct progress p;
	a->e = e;
	int code = compute(a, nthreads, visitor, e);
	if (!step_is_written_here(a->step))
		return code;
	a->root = cJSON_CreateObject();
	if (code == 0 && a->root == NULL)
		code = -ENOMEM;
	progress_begin(&p, "analysing", NSECTIONS);
	for (size_t i = 0; i < NSECTIONS && code == 0; i++) {
		code = a->step->totals && sections[i].of == OF_EVENTS ? 0 : sections[i].add(a);
		progress_at(&p, i);
	}
	progress_end(&p);
	if (code == -ENOMEM)
		return fail(e, code, "out of memory while analysing");
	return code < 0 && e->text[0] == '\0' ? fail(e, code, "the analysis failed: %s", strerror(-code)) : code;
}

void analysis_done(struct analysis *a)
{
	cJSON_Delete(a->root);
	tally_done(&a->tally);
	alternation_done(&a->alternation);
	periods_done(&a->periods);
	free(a->groups);
	free(a->leaked);
	free(a->leak_site);
	free(a->unread);
	free(a->path_site_ns);
	sweep_result_done(&a->swept);
	traffic_done(&a->p2p);
	traffic_done(&a->coll);
	traffic_done(&a->rma);
	usage_totals_done(&a->usage);
	replay_destroy(a->replay);
	free(a->ranks);
	memset(a, 0, sizeof(*a));
}
