/* sides.c - the two sides of a comparison: which runs, and what is in the way of comparing them.
 * In: analyses.  Out: what each side is, whether noise can be told, and notes in sentences. */
#include "base/path.h"
#include "base/units.h"
#include "postproc/compare/noise.h"
#include "postproc/compare/parts.h"

#include "base/json.h"

#include <math.h>
#include <stdarg.h>

#define NOTE_BYTES_MAX 512
#define TRACING_SHARE_MAX 0.02 /* as in the report's verdict */

size_t side_first(const struct sides *s, unsigned side)
{
	return side == 0 ? 0 : s->na;
}

size_t side_count(const struct sides *s, unsigned side)
{
	return side == 0 ? s->na : s->nb;
}

double side_mean(const struct sides *s, unsigned side, const double *value)
{
	return noise_mean(value + side_first(s, side), side_count(s, side));
}

static const cJSON *coverage(const struct compare_run *r)
{
	return json_item(r->analysis, "coverage");
}

static bool is_whole(const struct compare_run *r)
{
	return json_bool(coverage(r), "complete", false);
}

static double region_of(const struct compare_run *r)
{
	return json_number_or(json_item(r->analysis, "efficiency"), "region_s", 0);
}

/* Profiles have calls and no events. */
static bool has_events(const struct compare_run *r)
{
	return json_number_or(coverage(r), "events", 0) > 0;
}

static void inspect_runs(struct sides *s)
{
	s->tested = s->na > 1 || s->nb > 1;
	for (size_t i = 0; i < s->n; i++) {
		s->seen[i] = fmax(1, json_number_or(coverage(s->run[i]), "ranks_seen", s->run[i]->ranks));
		s->has_events[i] = has_events(s->run[i]);
		s->tested = s->tested && is_whole(s->run[i]);
		s->region_s = fmax(s->region_s, region_of(s->run[i]));
	}
}

/* One that is among those of its side before: chance has no part in that, so it is left out. */
static const struct compare_run *given_before(const struct sides *s, const struct compare_run *r)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->run[i]->group == r->group && region_of(s->run[i]) == region_of(r) &&
		    cJSON_Compare(s->run[i]->analysis, r->analysis, true))
			return s->run[i];
	return NULL;
}

int sides_init(const struct compare_input *in, struct sides *ret_sides)
{
	struct sides s = {.run = calloc(in->nruns, sizeof(*s.run)),
			  .again = calloc(in->nruns, sizeof(*s.again)),
			  .seen = calloc(in->nruns, sizeof(double)),
			  .has_events = calloc(in->nruns, sizeof(bool))};
	if (s.run == NULL || s.again == NULL || s.seen == NULL || s.has_events == NULL) {
		sides_done(&s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < in->nruns; i++) {
		const struct compare_run *r = &in->runs[i];
		if (r->group != 0 && r->group + 1 != in->ngroups)
			continue;
		if (given_before(&s, r) != NULL) {
			s.again[s.nagain++] = r;
			continue;
		}
		s.run[s.n++] = r;
		*(r->group == 0 ? &s.na : &s.nb) += 1;
	}
	inspect_runs(&s);
	*ret_sides = s;
	return 0;
}

void sides_done(struct sides *s)
{
	free(s->run);
	free(s->again);
	free(s->seen);
	free(s->has_events);
	*s = (struct sides){.n = 0};
}

static const char *program_of(const struct compare_run *r)
{
	return basename_of(json_text(json_item(r->analysis, "job"), "program", ""));
}

static const char *job_text(const struct compare_run *r, const char *key)
{
	return json_text(json_item(r->analysis, "job"), key, "");
}

static void put_run(const struct compare_run *r, cJSON *o)
{
	json_put_text(o, "path", r->path);
	json_put(o, "ranks_seen", json_number_or(coverage(r), "ranks_seen", 0));
	cJSON_AddBoolToObject(o, "complete", is_whole(r));
	json_put(o, "events", json_number_or(coverage(r), "events", 0));
	json_put_null_or(o, "events_lost", json_number(coverage(r), "events_lost"));
	json_put_null_or(o, "region_s", json_number(json_item(r->analysis, "efficiency"), "region_s"));
}

static void put_side(const struct sides *s, unsigned side, cJSON *o)
{
	const struct compare_run *first = s->run[side_first(s, side)];
	json_put_text(o, "program", job_text(first, "program"));
	json_put(o, "ranks", first->ranks);
	json_put(o, "nodes", (double)json_count(json_item(first->analysis, "job"), "nodes"));
	json_put_text(o, "mpi", job_text(first, "mpi"));
	cJSON *files = json_array(o, "files");
	for (size_t i = 0; i < side_count(s, side); i++)
		put_run(s->run[side_first(s, side) + i], json_row(files));
}

__attribute__((format(printf, 2, 3))) static void note(cJSON *notes, const char *fmt, ...)
{
	char text[NOTE_BYTES_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_push_text(notes, text);
}

/* Ranks in the record of which MPI_Finalize has not returned. */
static unsigned unfinished(const struct compare_run *r)
{
	unsigned n = 0;
	for (const cJSON *row = json_first(r->analysis, "per_rank"); row != NULL; row = row->next) {
		const char *state = json_text(row, "state", "");
		n += strcmp(state, "lost") == 0 || strcmp(state, "aborted") == 0 || strcmp(state, "running") == 0;
	}
	return n;
}

/* What else is missing the analysis says; a run that ended too early may lack nothing that it did. */
static void note_missing(const struct sides *s, size_t i, const char *name, cJSON *notes)
{
	const struct compare_run *r = s->run[i];
	double lost = json_number(coverage(r), "events_lost"), missing = fmax(0, r->ranks - s->seen[i]);
	unsigned early = unfinished(r);
	char losses[64] = "events lost: not known";
	if (!isnan(lost))
		snprintf(losses, sizeof(losses), "%s lost", fmt_many(lost, "event").s);
	if (early > 0)
		note(notes,
		     "%.200s: the run ended before %u of %.0f ranks had come out of MPI_Finalize, so its sums are "
		     "those "
		     "until then; nothing is called beyond noise.",
		     name, early, r->ranks);
	if (early == 0 || missing > 0 || !(lost <= 0))
		note(notes,
		     "%.200s: the record is not whole (%.0f of %.0f ranks are missing, %s), so its sums are too small; "
		     "nothing is called beyond noise.",
		     name, missing, r->ranks, losses);
}

static void note_run(const struct sides *s, size_t i, cJSON *notes)
{
	const struct compare_run *r = s->run[i];
	const char *name = basename_of(r->path);
	double cut = json_number_or(r->analysis, "wait_states_left_out", 0);
	if (!is_whole(r))
		note_missing(s, i, name, notes);
	if (!s->has_events[i])
		note(notes, "%.200s holds no single calls, so its waiting is not known.", name);
	if (cut > 0)
		note(notes,
		     "%.200s lists not all of its waiting (%.0f rows were too many): waiting by call site is too "
		     "small.",
		     name, cut);
	if (json_number_or(json_item(r->analysis, "overhead"), "share", 0) > TRACING_SHARE_MAX)
		note(notes, "%.200s: tracing took %.1f %% of its time.", name,
		     100 * json_number_or(json_item(r->analysis, "overhead"), "share", 0));
}

static bool differ(const char *a, const char *b)
{
	return *a != '\0' && *b != '\0' && strcmp(a, b) != 0;
}

/* A run against the first of its side, and those against each other. */
static void note_program(const struct sides *s, size_t i, cJSON *notes)
{
	const struct compare_run *r = s->run[i], *to = s->run[i <= s->na ? 0 : s->na];
	if (differ(program_of(r), program_of(to)))
		note(notes, "%.200s is of another program than %.200s: %.60s, not %.60s.", basename_of(r->path),
		     basename_of(to->path), program_of(r), program_of(to));
	if (differ(job_text(r, "mpi"), job_text(to, "mpi")))
		note(notes, "%.200s used another MPI library than %.200s: %.60s, not %.60s.", basename_of(r->path),
		     basename_of(to->path), job_text(r, "mpi"), job_text(to, "mpi"));
}

static void note_again(const struct sides *s, size_t i, cJSON *notes)
{
	const struct compare_run *r = s->again[i];
	note(notes, "%.200s and %.200s are one run, given twice: it counts once.",
	     basename_of(given_before(s, r)->path), basename_of(r->path));
}

static void put_notes(const struct sides *s, cJSON *notes)
{
	const struct compare_run *a = s->run[0], *b = s->run[s->na];
	if (a->ranks != b->ranks)
		note(notes, "a ran on %.0f ranks, b on %.0f: times are compared a rank.", a->ranks, b->ranks);
	for (size_t i = 0; i < s->n; i++) {
		note_run(s, i, notes);
		note_program(s, i, notes);
	}
	for (size_t i = 0; i < s->nagain; i++)
		note_again(s, i, notes);
}

static const char *reason(const struct sides *s)
{
	if (s->tested && s->na > 1 && s->nb > 1)
		return "Welch's t test over runs, corrected for tables and their rows (Holm)";
	if (s->tested)
		return "t test; one side is one run, whose noise is taken to be the other's; corrected for tables "
		       "and their rows (Holm)";
	if (s->na < 2 && s->nb < 2)
		return "one run on each side: how much runs differ by chance is not known. Give several: "
		       "mpitrace diff A1 A2 A3 -- B1 B2 B3";
	return "a record is not whole, so nothing is called beyond noise";
}

int sides_put(const struct sides *s, cJSON *diff)
{
	put_side(s, 0, json_object(diff, "a"));
	put_side(s, 1, json_object(diff, "b"));
	cJSON *runs = json_array(diff, "runs");
	json_push(runs, (double)s->na);
	json_push(runs, (double)s->nb);
	cJSON *noise = json_object(diff, "noise");
	cJSON_AddBoolToObject(noise, "known", s->tested);
	json_put(noise, "alpha", NOISE_ALPHA);
	json_put_text(noise, "method", reason(s));
	put_notes(s, json_array(diff, "notes"));
	return runs == NULL || noise == NULL ? -ENOMEM : 0;
}
