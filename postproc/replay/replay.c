/* replay.c - see replay.h. */
#include "postproc/replay/parts.h"

#include "base/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INTERVALS 5u /* that stand for a run that is too long */

static uint64_t events_of(const struct mpix_file *f, uint32_t window)
{
	uint64_t n = 0;
	for (uint32_t g = 0; g < mpix_groups(f); g++)
		n += mpix_cell_count(f, g, window).events;
	return n;
}

/* Windows of which each interval is made: as many events in each, the same distance apart. */
static void choose(const struct mpix_file *f, uint64_t all, uint64_t max_events, struct replay *r)
{
	uint32_t windows = mpix_windows(f), at = 0;
	uint64_t before = 0;
	r->nintervals = all <= max_events ? 1 : INTERVALS;
	for (uint32_t i = 0; i < r->nintervals; i++) {
		uint64_t from = all * i / r->nintervals, taken = 0;
		struct interval *v = &r->intervals[i];
		while (at < windows && before < from)
			before += events_of(f, at++);
		v->first_window = at;
		while (at < windows && (taken == 0 || taken < max_events / r->nintervals)) {
			uint64_t n = events_of(f, at++);
			taken += n;
			before += n;
		}
		v->end_window = r->nintervals == 1 ? windows : at;
	}
}

static bool is_one_node(const struct mpix_file *f)
{
	const struct mpix_info *info = mpix_info(f);
	for (uint32_t i = 1; info->place_of_rank != NULL && i < info->ranks; i++)
		if (info->place_of_rank[i] != info->place_of_rank[0])
			return false;
	return true;
}

struct end_of_calls {
	const struct mpix_info *info;
	int64_t ns;
};

/* MPI_Finalize ends the run where it begins. */
static int take_end(void *context, const struct mpix_event *x)
{
	struct end_of_calls *end = context;
	bool finalizes = x->op < end->info->nops && strcmp(end->info->ops[x->op], "MPI_Finalize") == 0;
	int64_t ns = finalizes ? x->start_ns : x->end_ns;
	end->ns = ns > end->ns ? ns : end->ns;
	return 0;
}

/* Intervals do not hold the last call of all: it begins in the last window, or lasts into it. */
static int find_end(struct mpix_file *f, int64_t *end_ns, struct error *e)
{
	struct end_of_calls end = {mpix_info(f), *end_ns};
	uint32_t w = mpix_windows(f);
	int code = 0;
	while (w > 0 && events_of(f, w - 1) == 0)
		w--;
	for (uint32_t rank = 0; w > 0 && rank < end.info->ranks && code == 0; rank++)
		code = mpix_each_event(f, rank, mpix_window_start(f, w - 1), INT64_MAX, take_end, &end, e);
	*end_ns = end.ns;
	return code;
}

static int find_length(struct mpix_file *f, struct replay *r, struct error *e)
{
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;
	for (uint32_t i = 0; i < r->nintervals; i++) {
		const struct interval *v = &r->intervals[i];
		from_ns = v->from_ns < from_ns ? v->from_ns : from_ns;
		to_ns = v->to_ns > to_ns ? v->to_ns : to_ns;
	}
	int code = r->nintervals > 1 ? find_end(f, &to_ns, e) : 0;
	r->calls_ns = r->recorded_ns = to_ns > from_ns ? to_ns - from_ns : 0;
	return code;
}

void replay_lasted(struct replay *r, int64_t ns)
{
	r->recorded_ns = ns > r->calls_ns ? ns : r->calls_ns;
}

static uint64_t calls_of(const struct interval *v)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < v->ntracks; i++)
		n += v->tracks[i].n;
	return n;
}

static int fill(const struct replay_from *from, uint64_t max_events, struct replay *r, struct error *e)
{
	struct mpix_file *f = from->files[0];
	uint64_t all = 0, read = 0;
	int code = 0;
	for (uint32_t w = 0; w < mpix_windows(f); w++)
		all += events_of(f, w);
	choose(f, all, max_events, r);
	for (uint32_t i = 0; i < r->nintervals && code == 0; i++) {
		code = interval_load(from, &r->intervals[i], e);
		read += calls_of(&r->intervals[i]);
	}
	r->one_node = is_one_node(f);
	r->covered = all > 0 ? fmin(1, (double)read / (double)all) : 0;
	r->covered = r->nintervals == 1 ? 1 : r->covered;
	if (code == 0)
		code = find_length(f, r, e);
	if (code == 0 && model_fit(r) < 0)
		code = fail(e, -ENOMEM, "out of memory for the replay");
	return code;
}

int replay_create(struct mpix_file *const *files, unsigned nfiles, uint64_t max_events, struct replay **ret_replay,
		  struct error *e)
{
	if (mpix_groups(files[0]) == 0)
		return fail(e, -ENOTSUP, "a file of version 1 cannot be replayed: analyze its .mpic files again");
	struct replay *r = calloc(1, sizeof(*r));
	if (r != NULL) {
		r->intervals = calloc(INTERVALS, sizeof(*r->intervals));
		r->pool = pool_create(nfiles);
		r->nthreads = nfiles;
	}
	if (r == NULL || r->intervals == NULL || r->pool == NULL) {
		replay_destroy(r);
		return fail(e, -ENOMEM, "out of memory for the replay");
	}
	struct replay_from from = {files, nfiles, r->pool};
	int code = fill(&from, max_events < REPLAY_EVENTS_MAX ? max_events : REPLAY_EVENTS_MAX, r, e);
	if (code == 0)
		*ret_replay = r;
	else
		replay_destroy(r);
	return code;
}

void replay_destroy(struct replay *r)
{
	for (uint32_t i = 0; r != NULL && r->intervals != NULL && i < r->nintervals; i++)
		interval_done(&r->intervals[i]);
	for (unsigned i = 0; r != NULL && i < WALKS; i++) {
		free(r->rooms[i].gaps);
		free(r->rooms[i].started);
	}
	if (r != NULL) {
		free(r->intervals);
		pool_destroy(r->pool);
	}
	free(r);
}

static int walk_one(const struct replay *r, struct walk_room *room, const struct interval *v,
		    const struct replay_change *change, struct lengths *x)
{
	double ns[WAYS] = {0};
	if (vec_grow(&room->gaps, &room->cap_gaps, v->n + 1u, sizeof(*room->gaps)) < 0 ||
	    vec_grow(&room->started, &room->cap_started, v->n + 1u, sizeof(*room->started)) < 0)
		return -ENOMEM;
	struct walk_how how = {.gaps = room->gaps,
			       .started = room->started,
			       .change = change,
			       .model = &r->model,
			       .one_node = r->one_node};
	int code = change_gaps(v, change, room->gaps);
	if (code == 0)
		code = interval_walk(v, &how, ns, &x->given_up);
	for (unsigned i = 0; i < WAYS; i++)
		x->ns[i] += ns[i];
	return code;
}

static int walk_nonblocking(const struct replay *r, struct walk_room *room, const struct interval *v,
			    const struct replay_change *change, struct lengths *x)
{
	struct interval other = {0};
	int code = interval_nonblocking(v, change, &other, &x->put_off);
	if (code == 0)
		code = walk_one(r, room, &other, change, x);
	interval_done(&other);
	return code;
}

static int walk_all(const struct replay *r, struct walk_room *room, const struct replay_change *change,
		    struct lengths *x)
{
	int code = 0;
	*x = (struct lengths){0};
	for (uint32_t i = 0; i < r->nintervals && code == 0; i++)
		code = (change->nnonblocking > 0 ? walk_nonblocking : walk_one)(r, room, &r->intervals[i], change, x);
	return code;
}

/* Nothing is asked to be otherwise. */
static bool is_none(const struct replay_change *c)
{
	return c->nfactors == 0 && !(c->bandwidth < 1 || c->bandwidth > 1 || c->latency < 1 || c->latency > 1) &&
	       !c->balance && !c->free_transfers && c->without_states == 0 && c->nopen_sites == 0 && c->ntimes == 0 &&
	       c->nnonblocking == 0;
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* Lengths that are asked for, the first of what is unchanged. Walked at the same time are those that are not known. */
struct asked {
	struct replay *r;
	struct asked_run {
		const struct replay_change *change;
		struct lengths x;
		bool known;
		int code;
	} walks[WALKS];
};

static void walk_asked(void *context, size_t i)
{
	struct asked *a = context;
	struct asked_run *w = &a->walks[i];
	if (!w->known)
		w->code = walk_all(a->r, &a->r->rooms[a->r->nthreads > 1 ? i : 0], w->change, &w->x);
}

/* Only who is waited for before calls of a site is taken out. */
static bool is_of_site(const struct replay_change *change)
{
	struct replay_change rest = *change;
	rest.without_states = 0;
	return change->without_states == UINT32_MAX && is_none(&rest) && !(change->undone > 0);
}

static void find_known(const struct replay *r, const struct replay_change *change, struct asked_run *w)
{
	w->known = is_none(change);
	for (uint32_t i = 0; i < r->nsites && is_of_site(change) && !w->known; i++)
		if (r->sites[i].site == change->causer_site) {
			w->x = r->sites[i].x;
			w->known = true;
		}
}

/* With the change; r->unchanged without. */
static int lengths_with(struct replay *r, const struct replay_change *change, struct lengths *ret_x)
{
	const struct replay_change none = REPLAY_AS_IT_WAS;
	struct asked a = {.r = r, .walks = {{.change = &none}, {.change = change}}};
	struct asked_run *as_was = &a.walks[0], *other = &a.walks[1];
	as_was->x = r->unchanged;
	as_was->known = r->unchanged.ns[AS_RECORDED] > 0;
	find_known(r, change, other);
	bool found = other->known;
	pool_run(r->pool, WALKS, walk_asked, &a);
	if (as_was->code < 0 || other->code < 0)
		return as_was->code < 0 ? as_was->code : other->code;
	r->unchanged = as_was->x;
	*ret_x = is_none(change) ? r->unchanged : other->x;
	if (!found && is_of_site(change) && r->nsites < SITES_KNOWN)
		r->sites[r->nsites++] = (struct site_lengths){change->causer_site, other->x};
	return 0;
}

static int predict(struct replay *r, const struct replay_change *change, struct replay_result *ret_result)
{
	const double *before = r->unchanged.ns;
	struct lengths x;
	double recorded = 0;
	int code = lengths_with(r, change, &x);
	if (code < 0)
		return code;
	for (uint32_t i = 0; i < r->nintervals; i++)
		recorded += (double)r->intervals[i].recorded_ns;
	double whole_s = (double)r->recorded_ns / 1e9, calls_s = (double)r->calls_ns / 1e9;
	double reached = share(calls_s, whole_s); /* what is behind the last call stays as it was */
	double gain = reached * (1 - share(x.ns[AS_RECORDED], before[AS_RECORDED]));
	double other = reached * (1 - share(x.ns[BY_MODEL], before[BY_MODEL]));
	double longer = recorded > 0 ? reached * (share(before[BY_MODEL], recorded) - 1) : 0;
	double most = change->most_gain > 0 ? change->most_gain : INFINITY;
	if (change->most_gain_s > 0 && whole_s > 0)
		most = fmin(most, change->most_gain_s / whole_s);
	gain = before[AS_RECORDED] > 0 ? fmin(gain, most) : 0;
	other = before[BY_MODEL] > 0 ? fmin(other, most) : 0;
	*ret_result = (struct replay_result){
		.recorded_s = whole_s,
		.calls_s = calls_s,
		.replayed_s = whole_s * (1 + longer),
		.error = fabs(longer),
		.predicted_s = whole_s * (1 - gain),
		.gain_s = whole_s * gain,
		.gain = gain,
		.gain_low = fmin(gain, other),
		.gain_high = fmax(gain, other),
		.covered = r->covered * reached,
		.given_up = r->unchanged.given_up,
		.put_off = x.put_off,
		.polls = share(r->polls_ns, r->tracks_ns),
	};
	return 0;
}

/* Where no transfer was seen from its start to its end, nothing tells what a faster network makes of it: at most as
 * much as if transfers, and what calls take themselves, were all of that network. */
static int bound_unseen(struct replay *r, const struct replay_change *change, struct replay_result *ret_result)
{
	struct replay_change without = REPLAY_AS_IT_WAS;
	struct replay_result all;
	const unsigned distance = r->one_node ? 0 : 1;
	const struct model *m = &r->model;
	bool moving_unseen = m->large && m->ns_per_byte[distance] <= 0;
	bool latency_unseen = m->messages[distance] && m->latency_ns[distance] <= 0;
	double left = fmin(1, fmin(change->latency, 1 / change->bandwidth));
	bool network = change->latency < 1 || change->latency > 1 || change->bandwidth < 1 || change->bandwidth > 1;
	if (!network || (!moving_unseen && (!latency_unseen || (change->latency >= 1 && change->latency <= 1))))
		return 0;
	without.free_transfers = true;
	int code = predict(r, &without, &all);
	if (code == 0) {
		ret_result->unseen = true;
		ret_result->gain_low = fmin(ret_result->gain_low, 0);
		ret_result->gain_high = fmax(ret_result->gain_high, all.gain * (1 - left));
	}
	return code;
}

/* Of what is nonblocking nobody knows how far the library moves it on meanwhile. */
int replay_predict(struct replay *r, const struct replay_change *change, struct replay_result *ret_result)
{
	int code = predict(r, change, ret_result);
	if (code == 0)
		code = bound_unseen(r, change, ret_result);
	for (enum replay_moving moving = NOTHING_MOVES; moving <= ALL_MOVES && code == 0 && ret_result->put_off > 0;
	     moving++) {
		struct replay_change otherwise = *change;
		struct replay_result other;
		otherwise.moving = moving;
		code = predict(r, &otherwise, &other);
		if (code < 0)
			break;
		ret_result->gain_low = fmin(ret_result->gain_low, other.gain_low);
		ret_result->gain_high = fmax(ret_result->gain_high, other.gain_high);
	}
	return code;
}

uint64_t replay_events(const struct replay *r)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < r->nintervals; i++)
		n += calls_of(&r->intervals[i]);
	return n;
}

void replay_model(const struct replay *r, unsigned distance, double *ret_latency_ns, double *ret_bandwidth)
{
	const struct model *m = &r->model;
	*ret_latency_ns = distance < DISTANCES ? m->latency_ns[distance] : 0;
	*ret_bandwidth = distance < DISTANCES && m->ns_per_byte[distance] > 0 ? 1e9 / m->ns_per_byte[distance] : 0;
}

void replay_put_model(const struct replay *r, cJSON *to)
{
	static const char *const names[] = {"in_node", "between_nodes"};
	for (unsigned i = 0; i < 2; i++) {
		double latency, bandwidth;
		replay_model(r, i, &latency, &bandwidth);
		cJSON *m = json_object(to, names[i]);
		json_put_null_or(m, "latency_s", latency > 0 ? latency / 1e9 : NAN);
		json_put_null_or(m, "bytes_per_s", bandwidth > 0 ? bandwidth : NAN);
	}
}
