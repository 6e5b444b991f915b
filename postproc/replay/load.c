/* load.c - from an .mpix to events in a row, and the collectives that they are parts of.
 * In: cells of the file, group by group, which threads share.  Out: struct interval, of which links.c does the rest. */
#include "postproc/replay/loading.h"

#include <stdlib.h>

#define CELLS_BYTES (32u << 20) /* of a window: messages whose sends do not say their bytes ask for it once more */

/* What is read of the lanes of one group; for those of the next its memory is there. */
struct lane_reading {
	VEC(struct event) events;
	enterings parts;
};

struct reading {
	struct loading *l;
	struct lane_reading *lanes;
	uint32_t first; /* lane */
	enterings *parts;
	uint32_t at, end; /* where events of the group are to stand */
};

struct groups {
	struct loading *l;
	struct lane_reading **lanes; /* by file */
	uint32_t most;		     /* lanes of a group */
};

/* ---- what operations are ---- */

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* "MPI_Iallreduce_c" is an allreduce; small letters, since forms differ in the first one. */
static void plain_name(const char *op, char *ret_name, size_t size)
{
	size_t n = 0;
	if (begins(op, "MPI_"))
		op += 4;
	for (; op[n] != '\0' && n + 1 < size; n++)
		ret_name[n] = (char)(op[n] >= 'A' && op[n] <= 'Z' ? op[n] - 'A' + 'a' : op[n]);
	ret_name[n] = '\0';
}

static uint8_t gathering_of(const char *name)
{
	static const struct {
		const char *name;
		uint8_t gathering;
	} kinds[] = {
		{"bcast", GATHER_FROM_ROOT}, {"scatter", GATHER_FROM_ROOT}, {"reduce_scatter", GATHER_ALL},
		{"reduce", GATHER_TO_ROOT},  {"gather", GATHER_TO_ROOT},    {"neighbor", GATHER_NONE},
	};
	name += begins(name, "i") && !begins(name, "inter") ? 1 : 0;
	uint8_t found = GATHER_ALL;
	size_t longest = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (begins(name, kinds[i].name) && strlen(kinds[i].name) > longest) {
			found = kinds[i].gathering;
			longest = strlen(kinds[i].name);
		}
	return found;
}

static struct op_what what_is(const char *op)
{
	char name[64];
	struct op_what x = {0};
	plain_name(op, name, sizeof(name));
	x.gathering = gathering_of(name);
	x.started =
		(begins(name, "i") && !begins(name, "inter")) || begins(name, "start") || strstr(name, "_i") != NULL;
	x.posts = strcmp(name, "irecv") == 0 || strcmp(name, "imrecv") == 0;
	x.flags |= strstr(name, "ssend") != NULL ? EVENT_SYNCHRONOUS : 0;
	x.flags |= strcmp(name, "init") == 0 || strcmp(name, "init_thread") == 0 ? EVENT_INIT : 0;
	x.flags |= strcmp(name, "finalize") == 0 ? EVENT_FINALIZE : 0;
	return x;
}

static int learn_ops(struct loading *l)
{
	const struct mpix_info *info = mpix_info(l->from->files[0]);
	l->nops = info->nops;
	l->ops = calloc(info->nops + 1u, sizeof(*l->ops));
	for (uint32_t i = 0; l->ops != NULL && i < info->nops; i++)
		l->ops[i] = what_is(info->ops[i]);
	return l->ops != NULL ? 0 : -ENOMEM;
}

/* ---- events ---- */

static uint32_t bits32(uint64_t bytes)
{
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static int take_event(void *context, const struct mpix_event *ev)
{
	struct reading *r = context;
	struct track *t = &r->l->v->tracks[ev->at.lane];
	struct lane_reading *lane = &r->lanes[ev->at.lane - r->first];
	uint32_t n = (uint32_t)lane->events.n;
	struct op_what op = ev->op < r->l->nops ? r->l->ops[ev->op] : (struct op_what){0};
	struct event x = {.start_ns = ev->start_ns,
			  .end_ns = ev->end_ns,
			  .callsite = ev->callsite,
			  .sends = bits32(ev->message_bytes),
			  .bytes = bits32(ev->bytes),
			  .distance = NO_DISTANCE,
			  .flags = op.flags};
	x.flags |= op.started ? EVENT_STARTS : 0;
	if ((ev->class == MPIX_OTHER && (op.flags & EVENT_FINALIZE) == 0) || op.posts)
		x.flags |= EVENT_LOCAL;
	if (ev->calls != 1 || (ev->flags & MPIX_POLLS) != 0)
		x.flags |= EVENT_POLLS;
	if (ev->number != MPIX_NO_NUMBER && (ev->flags & MPIX_COLLECTIVE) != 0 && op.gathering != GATHER_NONE) {
		if (vec_push(&lane->parts, (struct entering){n, ev->comm, ev->number}) < 0)
			return -ENOMEM;
		x.gathering = op.gathering;
		x.flags |= EVENT_ENTERS | (op.started ? 0 : EVENT_BLOCKS);
		if (op.gathering != GATHER_ALL && ev->peer == (int32_t)t->rank)
			x.flags |= EVENT_ROOT;
	}
	if (t->windows.n == 0 || t->windows.at[t->windows.n - 1].window != ev->at.window)
		if (vec_push(&t->windows, (struct base_of_window){ev->at.window, n}) < 0)
			return -ENOMEM;
	return vec_push(&lane->events, x);
}

/* A run begins with the end of MPI_Init and ends with the start of MPI_Finalize; of an interval all lanes begin with
 * its window. What is outside of it goes: t->first, of the lane's own events, and t->n tell what is left. */
static void cut_to_region(struct track *t, struct event *events, uint32_t n)
{
	uint32_t from = 0;
	t->begin_ns = n > 0 ? events[0].start_ns : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct event *x = &events[i];
		if ((x->flags & EVENT_INIT) != 0) {
			from = i + 1;
			t->begin_ns = x->end_ns;
		} else if ((x->flags & EVENT_FINALIZE) != 0) {
			x->end_ns = x->start_ns;
			x->flags &= (uint16_t) ~(EVENT_ENTERS | EVENT_BLOCKS);
			n = i + 1;
		}
	}
	t->first = from;
	t->n = n - from;
}

/* Behind those of the lanes before. */
static int line_up(struct reading *r, struct track *t, struct lane_reading *lane, struct error *e)
{
	cut_to_region(t, lane->events.at, (uint32_t)lane->events.n);
	if (t->n > r->end - r->at)
		return fail(e, -EBADMSG, "a group of ranks has more events than the index says");
	if (t->n > 0)
		memcpy(r->l->v->events + r->at, lane->events.at + t->first, t->n * sizeof(struct event));
	for (size_t k = 0; k < lane->parts.n; k++) {
		struct entering x = lane->parts.at[k];
		if (x.event - t->first >= t->n || (lane->events.at[x.event].flags & EVENT_ENTERS) == 0)
			continue;
		x.event += r->at - t->first;
		if (vec_push(r->parts, x) < 0)
			return -ENOMEM;
	}
	for (size_t k = 0; k < t->windows.n; k++)
		t->windows.at[k].first += r->at - t->first; /* may wrap: see event_at() */
	t->first = r->at;
	r->at += t->n;
	lane->events.n = lane->parts.n = 0;
	return 0;
}

static uint32_t lanes_of(const struct mpix_file *f, uint32_t group, uint32_t *ret_first)
{
	uint32_t first = 0, end = 0;
	mpix_group_ranks(f, group, &first, &end);
	*ret_first = mpix_first_lane(f, first);
	return mpix_first_lane(f, end) - *ret_first;
}

/* Events are copied while caches have them. What stays free between groups is of no track. */
static int load_group(void *context, uint32_t group, unsigned file, struct error *e)
{
	struct groups *g = context;
	struct loading *l = g->l;
	struct mpix_file *f = l->from->files[file];
	struct reading r = {l, g->lanes[file], 0, &l->parts[group], l->bases[group], l->bases[group + 1]};
	uint32_t n = lanes_of(f, group, &r.first);
	int code = 0;
	for (uint32_t w = l->v->first_window; w < l->v->end_window && code == 0; w++)
		code = mpix_cell_events(f, group, w, take_event, &r, e);
	for (uint32_t i = 0; i < n && code == 0; i++)
		code = line_up(&r, &l->v->tracks[r.first + i], &r.lanes[i], e);
	memset(l->v->events + r.at, 0, (r.end - r.at) * sizeof(struct event));
	return code;
}

/* Where each group's events have room. */
static int find_bases(struct loading *l)
{
	uint64_t at = 0;
	l->bases = calloc(l->ngroups + 1u, sizeof(*l->bases));
	for (uint32_t g = 0; l->bases != NULL && g < l->ngroups; g++) {
		for (uint32_t w = l->v->first_window; w < l->v->end_window; w++)
			at += load_records(mpix_cell_count(l->from->files[0], g, w).events);
		if (at >= NO_EVENT)
			return -ENOMEM;
		l->bases[g + 1] = (uint32_t)at;
	}
	l->v->n = (uint32_t)at;
	l->v->events = malloc((at + 1) * sizeof(*l->v->events));
	return l->bases == NULL || l->v->events == NULL ? -ENOMEM : 0;
}

static int make_room(struct groups *g)
{
	struct loading *l = g->l;
	struct mpix_file *f = l->from->files[0];
	uint32_t first;
	for (uint32_t i = 0; i < l->ngroups; i++) {
		uint32_t n = lanes_of(f, i, &first);
		g->most = n > g->most ? n : g->most;
	}
	l->parts = calloc(l->ngroups + 1u, sizeof(*l->parts));
	g->lanes = calloc(l->from->n, sizeof(*g->lanes));
	for (unsigned i = 0; g->lanes != NULL && i < l->from->n; i++)
		if ((g->lanes[i] = calloc(g->most + 1u, sizeof(**g->lanes))) == NULL)
			return -ENOMEM;
	return l->parts == NULL || g->lanes == NULL ? -ENOMEM : find_bases(l);
}

static void groups_done(struct groups *g)
{
	for (unsigned i = 0; g->lanes != NULL && i < g->l->from->n; i++) {
		for (uint32_t k = 0; g->lanes[i] != NULL && k < g->most; k++) {
			vec_done(&g->lanes[i][k].events);
			vec_done(&g->lanes[i][k].parts);
		}
		free(g->lanes[i]);
	}
	free(g->lanes);
}

static int load_events(struct loading *l, struct error *e)
{
	struct groups g = {.l = l};
	l->ngroups = mpix_groups(l->from->files[0]);
	int code = make_room(&g);
	if (code == 0)
		code = replay_share(l->from, l->ngroups, load_group, &g, e);
	groups_done(&g);
	return code;
}

/* ---- meetings ---- */

struct meeting_key {
	const struct interval *v;
	uint32_t comm;
	uint64_t number;
};

static bool is_meeting(const void *context, uint32_t at)
{
	const struct meeting_key *k = context;
	const struct meeting *m = &k->v->meetings.at[at];
	return m->comm == k->comm && m->number == k->number;
}

static int meeting_of(struct interval *v, uint32_t comm, uint64_t number, uint32_t *ret_at)
{
	struct meeting_key key = {v, comm, number};
	uint64_t hash = index_mix(comm, number);
	*ret_at = index_find(&v->meeting_index, hash, is_meeting, &key);
	if (*ret_at != INDEX_NONE)
		return 0;
	*ret_at = (uint32_t)v->meetings.n;
	struct meeting m = {
		.comm = comm, .number = number, .last_ns = INT64_MIN, .root_ns = INT64_MIN, .root_event = NO_EVENT};
	return vec_push(&v->meetings, m) < 0 ? -ENOMEM : index_add(&v->meeting_index, hash, *ret_at);
}

static int enter_meeting(struct interval *v, const struct entering *part)
{
	struct event *x = &v->events[part->event];
	if (meeting_of(v, part->comm, part->number, &x->meeting) < 0)
		return -ENOMEM;
	struct meeting *m = &v->meetings.at[x->meeting];
	m->members++;
	m->gathering = x->gathering;
	m->sum_ns += (double)x->start_ns;
	m->last_ns = x->start_ns > m->last_ns ? x->start_ns : m->last_ns;
	if ((x->flags & EVENT_ROOT) != 0) {
		m->root_ns = x->start_ns;
		m->root_event = part->event;
	}
	return 0;
}

static int enter_meetings(struct loading *l)
{
	struct interval *v = l->v;
	int code = 0;
	for (uint32_t g = 0; g < l->ngroups; g++)
		for (size_t i = 0; i < l->parts[g].n && code == 0; i++)
			code = enter_meeting(v, &l->parts[g].at[i]);
	for (size_t i = 0; i < v->meetings.n; i++)
		v->meetings.at[i].everybody = v->meetings.at[i].members == v->ntracks;
	return code;
}

/* ---- all of it ---- */

static int prepare(struct loading *l)
{
	struct mpix_file *f = l->from->files[0];
	const struct mpix_info *info = mpix_info(f);
	struct interval *v = l->v;
	v->ntracks = mpix_first_lane(f, info->ranks);
	v->tracks = calloc(v->ntracks + 1u, sizeof(*v->tracks));
	l->place = calloc(info->ranks + 1u, sizeof(*l->place));
	if (v->tracks == NULL || l->place == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->ntracks; i++)
		v->tracks[i].rank = mpix_rank_of_lane(f, i);
	for (uint32_t r = 0; info->place_of_rank != NULL && r < info->ranks; r++)
		l->place[r] = info->place_of_rank[r];
	return learn_ops(l);
}

static void find_ends(struct interval *v)
{
	v->from_ns = INT64_MAX;
	v->to_ns = INT64_MIN;
	for (uint32_t i = 0; i < v->ntracks; i++) {
		const struct track *t = &v->tracks[i];
		if (t->n == 0)
			continue;
		int64_t end = v->events[t->first + t->n - 1].end_ns;
		v->from_ns = t->begin_ns < v->from_ns ? t->begin_ns : v->from_ns;
		v->to_ns = end > v->to_ns ? end : v->to_ns;
	}
	v->recorded_ns = v->to_ns > v->from_ns ? v->to_ns - v->from_ns : 0;
}

int interval_load(const struct replay_from *from, struct interval *v, struct error *e)
{
	struct loading l = {.from = from, .v = v};
	int code = prepare(&l);
	for (unsigned i = 0; i < from->n && code == 0; i++)
		code = mpix_keep(from->files[i], CELLS_BYTES / from->n, e);
	if (code == 0)
		code = load_events(&l, e);
	if (code == 0) {
		find_ends(v);
		code = enter_meetings(&l);
	}
	if (code == 0)
		code = load_needs(&l, e);
	for (uint32_t g = 0; l.parts != NULL && g < l.ngroups; g++)
		vec_done(&l.parts[g]);
	free(l.parts);
	free(l.ops);
	free(l.place);
	free(l.bases);
	return code == -ENOMEM ? fail(e, code, "out of memory for the replay") : code;
}

void interval_done(struct interval *v)
{
	for (uint32_t i = 0; v->tracks != NULL && i < v->ntracks; i++) {
		vec_done(&v->tracks[i].windows);
	}
	free(v->tracks);
	free(v->events);
	free(v->needs_of);
	free(v->spent_ns);
	vec_done(&v->needs);
	vec_done(&v->meetings);
	vec_done(&v->blames);
	vec_done(&v->completions);
	vec_done(&v->partners);
	index_done(&v->meeting_index);
	*v = (struct interval){0};
}
