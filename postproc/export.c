/* export.c - see export.h. In: the analysis, whole in memory.  Out: format/mpix.h's writer, window by window. */
#include "postproc/export.h"
#include "base/progress.h"
#include "postproc/export_lanes.h"

/* Messages and waits of each (window, group): those of part i are list[begin[i]] to list[begin[i + 1]], without the
 * last. */
struct buckets {
	uint32_t *begin, *list;
};

struct export
{
	const struct analysis *a;
	struct lanes lanes;
	struct mpix_writer *w;
	uint32_t groups;
	VEC(struct mpix_link) links;
	VEC(struct mpix_wait) waits;
	struct buckets link_parts, wait_parts;
	/* of the part at hand */
	VEC(struct mpix_run) runs;
	VEC(struct mpix_carried) carried;
	VEC(struct mpix_extra) extras;
	VEC(struct mpix_number) numbers;
	VEC(struct mpix_link) part_links;
	VEC(struct mpix_wait) part_waits;
	struct mpix_scratch *scratch;
	struct mpix_packed *packed;
	struct expected {
		uint64_t k, run_id;
	} * expected; /* by communicator: the number that its next collective has, if that is in the same run */
	uint64_t run_id;
};

/* ---- what calls were ---- */

static int32_t peer_of(const struct sig *sig)
{
	int32_t peer = sig->call.shape == SIG_RECV ? sig->recv_peer : sig->peer;
	bool has_peer = sig->call.shape == SIG_SEND || sig->call.shape == SIG_RECV || sig->call.shape == SIG_SENDRECV ||
			sig->call.shape == SIG_PROBE || sig->call.shape == SIG_COLL || sig->call.shape == SIG_RMA;
	if (!has_peer)
		return -1;
	return peer >= 0 ? peer : peer == SIG_PROC_NULL ? -2 : -1;
}

static uint32_t comm_of(const struct step *s, const struct sig *sig)
{
	return sig->comm == NONE ? 0 : s->comms.at[sig->comm].same;
}

static bool is_send(const struct sig *sig)
{
	return sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV;
}

static bool is_numbered(const struct sig *sig)
{
	return sig->call.shape == SIG_COLL && sig->call.coll != COLL_NONE && sig->comm != NONE &&
	       (sig->call.flags & SIG_PERSISTENT) == 0;
}

static struct mpix_signature signature_of(const struct step *s, const struct sig *sig)
{
	bool persistent = (sig->call.flags & SIG_PERSISTENT) != 0;
	return (struct mpix_signature){
		.bytes = persistent ? 0 : sig->call_bytes,
		.message_bytes = is_send(sig) ? sig->bytes : 0,
		.peer = peer_of(sig),
		.tag = sig->call.tag,
		.op = sig->op == NONE ? (uint32_t)s->ops.n : sig->op,
		.callsite = sig->site == NONE ? MPIX_NO_CALLSITE : sig->site,
		.comm = comm_of(s, sig),
		.class = (uint8_t)step_class(s, sig),
		.flags = (uint8_t)((is_numbered(sig) ? MPIX_COLLECTIVE : 0) |
				   ((sig->call.flags & SIG_POLLS) != 0 ? MPIX_POLLS : 0)),
	};
}

static int put_signatures(struct export *x, struct error *e)
{
	const struct step *s = x->a->step;
	VEC(struct mpix_signature) sigs = {0};
	int code = 0;
	for (uint32_t r = 0; r < s->nranks && code == 0; r++) {
		const struct process *p = s->ranks[r];
		sigs.n = 0;
		for (size_t i = 0; p != NULL && i < p->sigs.n && code == 0; i++)
			code = vec_push(&sigs, signature_of(s, &p->sigs.at[i]));
		code = code < 0 ? fail(e, code, "out of memory")
				: mpix_writer_signatures(x->w, r, sigs.at, (uint32_t)sigs.n, e);
	}
	vec_done(&sigs);
	return code;
}

/* ---- messages ---- */

/* The signature that says what the message was; a persistent send's is not that of the call that starts it. */
static uint32_t send_signature(const struct step *s, const struct p2p_op *send)
{
	const struct process *p = s->ranks[send->rank];
	const struct sig *start = event_sig(s, send->rank, send->start);
	if (is_send(start) && start->bytes == send->bytes && start->call.tag == send->tag &&
	    comm_of(s, start) == send->comm)
		return MPIX_OF_START;
	for (uint32_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		if (is_send(sig) && sig->peer == send->peer && sig->bytes == send->bytes &&
		    sig->call.tag == send->tag && comm_of(s, sig) == send->comm)
			return i;
	}
	return MPIX_OF_START;
}

/* Times as the file has them. */
static void event_times(const struct export *x, uint32_t rank, uint32_t at, int64_t *ret_start, int64_t *ret_end)
{
	uint32_t place;
	const struct lane *lane = lanes_event(&x->lanes, rank, at, &place);
	*ret_start = (int64_t)lane->enter[place];
	*ret_end = (int64_t)lane->leave[place];
}

static struct mpix_link link_of(const struct export *x, const struct message *m)
{
	const struct step *s = x->a->step;
	const struct p2p_op *send = &x->a->ops.sends.at[m->send], *recv = &x->a->ops.recvs.at[m->recv];
	const struct mpix_position nowhere = {.window = MPIX_NOWHERE};
	uint32_t send_site = event_sig(s, send->rank, send->start)->site;
	uint32_t recv_site = event_sig(s, recv->rank, recv->start)->site;
	bool open = recv->completion == NONE;
	int64_t end;
	struct mpix_link to = {
		.recv = lanes_position(&x->lanes, recv->rank, recv->start),
		.completion = open ? nowhere : lanes_position(&x->lanes, recv->rank, recv->completion),
		.send = lanes_position(&x->lanes, send->rank, send->start),
		.sent = send->completion == NONE ? nowhere : lanes_position(&x->lanes, send->rank, send->completion),
		.signature = send_signature(s, send),
		.message = {.bytes = send->bytes,
			    .src = send->rank,
			    .dst = recv->rank,
			    .tag = send->tag,
			    .comm = send->comm,
			    .send_callsite = send_site == NONE ? MPIX_NO_CALLSITE : send_site,
			    .recv_callsite = recv_site == NONE ? MPIX_NO_CALLSITE : recv_site},
	};
	event_times(x, send->rank, send->start, &to.message.send_start_ns, &to.message.send_end_ns);
	event_times(x, recv->rank, recv->start, &to.message.recv_start_ns, &end);
	event_times(x, recv->rank, open ? recv->start : recv->completion, &to.message.completion_start_ns,
		    &to.message.recv_end_ns);
	return to;
}

static int make_links(struct export *x)
{
	int code = 0;
	for (size_t i = 0; i < x->a->matching.messages.n && code == 0; i++)
		code = vec_push(&x->links, link_of(x, &x->a->matching.messages.at[i]));
	return code;
}

/* ---- wait states ---- */

/* What an event waited: until its causer began, and what is more than that. */
static int add_waits(struct export *x, uint32_t rank, uint32_t at, const struct wait_link *cause)
{
	const struct mpix_position nowhere = {.window = MPIX_NOWHERE};
	int64_t rest = op_event(x->a->step, rank, at)->wait_ns, begin, ignored;
	struct mpix_wait wait = {.at = lanes_position(&x->lanes, rank, at), .causer = nowhere};
	event_times(x, rank, at, &wait.start_ns, &wait.end_ns);
	if (cause != NULL && cause->causer != NONE && cause->causer_at != NONE) {
		wait.causer = lanes_position(&x->lanes, cause->causer, cause->causer_at);
		event_times(x, cause->causer, cause->causer_at, &begin, &ignored);
		wait.ns = (begin < wait.end_ns ? begin : wait.end_ns) - wait.start_ns;
	}
	if (wait.ns > 0 && wait.ns <= rest) {
		wait.how = MPIX_WAIT_UNTIL_START;
		rest -= wait.ns;
		if (vec_push(&x->waits, wait) < 0)
			return -ENOMEM;
		wait.causer = nowhere;
	}
	wait.how = MPIX_WAIT_NS;
	wait.ns = rest;
	return rest > 0 ? vec_push(&x->waits, wait) : 0;
}

static int make_waits(struct export *x)
{
	const struct waits *w = &x->a->waits;
	size_t link = 0;
	int code = 0;
	for (uint32_t r = 0; r < x->a->step->nranks; r++) {
		const struct process *p = x->a->step->ranks[r];
		for (uint32_t i = 0; p != NULL && i < p->events.n && code == 0; i++) {
			while (link < w->links.n && (w->links.at[link].rank < r ||
						     (w->links.at[link].rank == r && w->links.at[link].at < i)))
				link++;
			bool caused = link < w->links.n && w->links.at[link].rank == r && w->links.at[link].at == i;
			if (p->events.at[i].wait_ns > 0)
				code = add_waits(x, r, i, caused ? &w->links.at[link] : NULL);
		}
	}
	return code;
}

/* ---- parts ---- */

static uint32_t part_of(const struct export *x, uint32_t window, uint32_t rank)
{
	return window * x->groups + rank / MPIX_GROUP_RANKS;
}

static uint32_t link_part(const struct export *x, uint32_t i)
{
	const struct mpix_link *l = &x->links.at[i];
	bool open = l->completion.window == MPIX_NOWHERE;
	return part_of(x, open ? l->recv.window : l->completion.window, l->message.dst);
}

static uint32_t rank_of_lane(const struct lanes *l, uint32_t lane)
{
	uint32_t first = 0, last = l->a->step->nranks;
	while (last - first > 1) {
		uint32_t middle = first + (last - first) / 2;
		if (l->first[middle] <= lane)
			first = middle;
		else
			last = middle;
	}
	return first;
}

static uint32_t wait_part(const struct export *x, uint32_t i)
{
	const struct mpix_position *at = &x->waits.at[i].at;
	return part_of(x, at->window, rank_of_lane(&x->lanes, at->lane));
}

/* The order within a part stays. */
static int sort_parts(const struct export *x, size_t n, uint32_t (*part)(const struct export *x, uint32_t i),
		      struct buckets *ret)
{
	size_t parts = (size_t)lanes_windows(&x->lanes) * x->groups;
	struct buckets b = {calloc(parts + 2, sizeof(*b.begin)), malloc((n + 1) * sizeof(*b.list))};
	*ret = b;
	if (b.begin == NULL || b.list == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		b.begin[part(x, i) + 2]++;
	for (size_t p = 0; p < parts; p++)
		b.begin[p + 2] += b.begin[p + 1];
	for (uint32_t i = 0; i < n; i++)
		b.list[b.begin[part(x, i) + 1]++] = i;
	return 0;
}

/* Where the lane's extras of event `place` and later begin. */
static size_t first_extra(const struct lane *lane, uint32_t place)
{
	size_t first = 0, last = lane->extras.n;
	while (first < last) {
		size_t middle = first + (last - first) / 2;
		if (lane->extras.at[middle].index < place)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

/* Append the extras of events [begin, end), counted from begin; how many. */
static int take_extras(struct export *x, const struct lane *lane, uint32_t begin, uint32_t end, uint32_t *ret_n)
{
	size_t before = x->extras.n;
	for (size_t i = first_extra(lane, begin); i < lane->extras.n && lane->extras.at[i].index < end; i++) {
		struct mpix_extra extra = lane->extras.at[i];
		extra.index -= begin;
		if (vec_push(&x->extras, extra) < 0)
			return -ENOMEM;
	}
	*ret_n = (uint32_t)(x->extras.n - before);
	return 0;
}

/* Entries for those of events [begin, begin + n) whose number does not follow from the one before. */
static int take_numbers(struct export *x, const struct lane *lane, const struct process *p, uint32_t begin, uint32_t n)
{
	const struct coll_op *ops = x->a->ops.colls.at;
	x->run_id++;
	for (uint32_t i = 0; i < n; i++) {
		const struct sig *sig = &p->sigs.at[lane->sig[begin + i]];
		if (!is_numbered(sig))
			continue;
		uint32_t op = lane->number[begin + i], comm = comm_of(x->a->step, sig);
		uint64_t k = op == NONE ? MPIX_NO_NUMBER : ops[op].k;
		struct expected *next = &x->expected[comm];
		uint64_t follows = next->run_id == x->run_id ? next->k : MPIX_NO_NUMBER;
		if (k != follows && vec_push(&x->numbers, (struct mpix_number){i, comm, k}) < 0)
			return -ENOMEM;
		*next = (struct expected){k == MPIX_NO_NUMBER ? k : k + 1, x->run_id};
	}
	return 0;
}

static int add_run(struct export *x, uint32_t lane_at, uint32_t window)
{
	const struct lane *lane = &x->lanes.at[lane_at];
	const struct process *p = x->a->step->ranks[rank_of_lane(&x->lanes, lane_at)];
	uint32_t begin = lane->begin[window], n = lane->begin[window + 1] - begin;
	size_t numbers = x->numbers.n;
	struct mpix_run run = {
		.lane = lane_at,
		.n = n,
		.begin_tick = begin > 0 ? lane->leave[begin - 1] : lane->enter[begin],
		.enter = lane->enter + begin,
		.leave = lane->leave + begin,
		.sig = lane->sig + begin,
	};
	if (take_extras(x, lane, begin, begin + n, &run.nextras) < 0 || take_numbers(x, lane, p, begin, n) < 0)
		return -ENOMEM;
	run.nnumbers = (uint32_t)(x->numbers.n - numbers);
	return vec_push(&x->runs, run);
}

/* The event before the window's first, if it is still open. */
static int add_carried(struct export *x, uint32_t lane_at, uint32_t window)
{
	const struct lane *lane = &x->lanes.at[lane_at];
	uint32_t place = lane->begin[window] - 1, at = window - 1;
	if (lane->begin[window] == 0 || (int64_t)lane->leave[place] <= x->lanes.boundaries.at[window])
		return 0;
	while (lane->begin[at] > place)
		at--;
	struct mpix_carried c = {.at = {at, lane_at, place - lane->begin[at]},
				 .sig = lane->sig[place],
				 .enter = lane->enter[place],
				 .leave = lane->leave[place],
				 .k = MPIX_NO_NUMBER};
	if (lane->number[place] != NONE)
		c.k = x->a->ops.colls.at[lane->number[place]].k;
	int code = take_extras(x, lane, place, place + 1, &c.nextras);
	return code == 0 ? vec_push(&x->carried, c) : code;
}

static int gather(struct export *x, uint32_t window, uint32_t group, struct mpix_part *ret_part)
{
	uint32_t rank = group * MPIX_GROUP_RANKS, ranks = x->a->step->nranks, part = window * x->groups + group;
	uint32_t end = ranks - rank < MPIX_GROUP_RANKS ? ranks : rank + MPIX_GROUP_RANKS;
	int code = 0;
	x->runs.n = x->carried.n = x->extras.n = x->numbers.n = x->part_links.n = x->part_waits.n = 0;
	for (uint32_t lane = x->lanes.first[rank]; lane < x->lanes.first[end] && code == 0; lane++) {
		if (window > 0)
			code = add_carried(x, lane, window);
		if (code == 0 && x->lanes.at[lane].begin[window + 1] > x->lanes.at[lane].begin[window])
			code = add_run(x, lane, window);
	}
	for (uint32_t i = x->link_parts.begin[part]; i < x->link_parts.begin[part + 1] && code == 0; i++)
		code = vec_push(&x->part_links, x->links.at[x->link_parts.list[i]]);
	for (uint32_t i = x->wait_parts.begin[part]; i < x->wait_parts.begin[part + 1] && code == 0; i++)
		code = vec_push(&x->part_waits, x->waits.at[x->wait_parts.list[i]]);
	*ret_part = (struct mpix_part){
		.window = window,
		.group = group,
		.start_ns = x->lanes.boundaries.at[window],
		.end_ns = x->lanes.boundaries.at[window + 1],
		.runs = x->runs.at,
		.carried = x->carried.at,
		.links = x->part_links.at,
		.waits = x->part_waits.at,
		.nruns = (uint32_t)x->runs.n,
		.ncarried = (uint32_t)x->carried.n,
		.nlinks = (uint32_t)x->part_links.n,
		.nwaits = (uint32_t)x->part_waits.n,
	};
	return code;
}

/* Lists that grew while runs were gathered have moved: point into them now. Carried events and runs took theirs lane by
 * lane, the carried one first. */
static void set_pointers(struct export *x)
{
	const struct mpix_extra *extra = x->extras.at;
	const struct mpix_number *number = x->numbers.at;
	size_t run = 0, carried = 0;
	while (run < x->runs.n || carried < x->carried.n) {
		bool first = carried < x->carried.n &&
			     (run == x->runs.n || x->carried.at[carried].at.lane <= x->runs.at[run].lane);
		if (first) {
			struct mpix_carried *c = &x->carried.at[carried++];
			c->extras = extra;
			extra = extra != NULL ? extra + c->nextras : NULL;
			continue;
		}
		struct mpix_run *r = &x->runs.at[run++];
		r->extras = extra;
		r->numbers = number;
		extra = extra != NULL ? extra + r->nextras : NULL;
		number = number != NULL ? number + r->nnumbers : NULL;
	}
}

static int put_part(struct export *x, uint32_t window, uint32_t group, struct error *e)
{
	struct mpix_part part;
	int code = gather(x, window, group, &part);
	if (code < 0)
		return fail(e, code, "out of memory");
	set_pointers(x);
	code = mpix_pack(x->w, &part, x->scratch, x->packed, e);
	return code == 0 ? mpix_writer_put(x->w, x->packed, e) : code;
}

static int put_parts(struct export *x, struct error *e)
{
	uint32_t windows = lanes_windows(&x->lanes);
	struct progress p;
	int code = 0;
	progress_begin(&p, "writing", windows);
	for (uint32_t w = 0; w < windows && code == 0; w++) {
		for (uint32_t g = 0; g < x->groups && code == 0; g++)
			code = put_part(x, w, g, e);
		progress_at(&p, w);
	}
	progress_end(&p);
	return code;
}

/* ---- the file ---- */

static int prepare(struct export *x)
{
	x->scratch = mpix_scratch_new();
	x->packed = mpix_packed_new();
	x->expected = calloc(x->a->step->comms.n + 1, sizeof(*x->expected));
	int code = x->scratch == NULL || x->packed == NULL || x->expected == NULL ? -ENOMEM : 0;
	if (code == 0)
		code = lanes_make(&x->lanes, x->a);
	if (code == 0)
		code = make_links(x);
	if (code == 0)
		code = make_waits(x);
	if (code == 0)
		code = sort_parts(x, x->links.n, link_part, &x->link_parts);
	return code == 0 ? sort_parts(x, x->waits.n, wait_part, &x->wait_parts) : code;
}

static void export_done(struct export *x)
{
	lanes_done(&x->lanes);
	vec_done(&x->links);
	vec_done(&x->waits);
	vec_done(&x->runs);
	vec_done(&x->carried);
	vec_done(&x->extras);
	vec_done(&x->numbers);
	vec_done(&x->part_links);
	vec_done(&x->part_waits);
	free(x->link_parts.begin);
	free(x->link_parts.list);
	free(x->wait_parts.begin);
	free(x->wait_parts.list);
	free(x->expected);
	mpix_scratch_free(x->scratch);
	mpix_packed_free(x->packed);
}

/* Names of operations, and one more for events whose definition was lost. */
static const char **op_names(const struct step *s)
{
	const char **names = malloc((s->ops.n + 1) * sizeof(*names));
	for (size_t i = 0; names != NULL && i < s->ops.n; i++)
		names[i] = s->ops.at[i];
	if (names != NULL)
		names[s->ops.n] = "(unknown)";
	return names;
}

static uint32_t *places_of(const struct step *s)
{
	uint32_t *places = calloc(s->nranks + 1u, sizeof(*places));
	for (uint32_t r = 0; places != NULL && r < s->nranks; r++)
		places[r] = s->ranks[r] != NULL ? s->ranks[r]->node : 0;
	return places;
}

/* Begin the file; w takes copies of everything. */
static int create(struct export *x, const char *path, struct error *e)
{
	const struct step *s = x->a->step;
	const char **names = op_names(s);
	uint32_t *places = places_of(s);
	uint64_t zero = (uint64_t)x->lanes.zero_ns;
	struct mpix_clock_knot knot = {zero, (double)x->lanes.zero_ns, 1};
	struct mpix_clock clock = {zero, &knot, 1};
	struct mpix_info info = {.ranks = s->nranks,
				 .runtime_ns = s->runtime_ns,
				 .ops = names,
				 .nops = (uint32_t)s->ops.n + 1,
				 .threads = x->lanes.threads,
				 .clocks = &clock,
				 .nclocks = 1,
				 .places = s->nodes.n > 0 ? (uint32_t)s->nodes.n : 1,
				 .place_of_rank = places};
	for (uint32_t i = 0; i < x->lanes.n; i++)
		info.events_expected += x->lanes.at[i].n;
	int code = names == NULL || places == NULL ? fail(e, -ENOMEM, "out of memory")
						   : mpix_writer_create(path, &info, &x->w, e);
	free(names);
	free(places);
	return code;
}

int export_mpix(const struct analysis *a, const char *path, const char *json, struct error *e)
{
	struct export x = {.a = a, .groups = (a->step->nranks - 1) / MPIX_GROUP_RANKS + 1};
	int code = prepare(&x);
	if (code < 0)
		fail(e, code, "out of memory for %s", path);
	if (code == 0)
		code = create(&x, path, e);
	if (code == 0)
		code = put_signatures(&x, e);
	if (code == 0)
		code = put_parts(&x, e);
	if (code == 0)
		code = mpix_writer_finish(x.w, json, e);
	else
		mpix_writer_abandon(x.w);
	export_done(&x);
	return code;
}
