/* export.c - what all formats have in common: reading in the order that they ask for, choosing ranks and a span of
 * time, counting, a place to write that becomes visible whole. In: format/mpix.h.  Out: calls of a struct
 * export_format. */
#include "reports/export/list.h"
#include "reports/export/notes.h"
#include "reports/export/place.h"
#include "reports/export/writing.h"

#include "base/progress.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>

/* One trace being exported. */
struct run {
	struct exporting x;
	const struct export_format *format;
	struct notes *notes;
	struct writing *writing;
	struct error *e, wrote; /* of reading; of the format, whose thread is another one: x.e */
	struct progress progress;
	uint64_t done, steps; /* of the progress */
	uint32_t groups, windows;
	uint64_t numbered, operations; /* messages, and what else is begun and completed */
	/* of the cell at hand */
	const struct export_note *note;
	size_t nnotes;
	uint64_t delivered;
	uint64_t before; /* events that the index counts in cells before it */
};

static const struct export_format *const formats[] = {
#define ROW(name) &export_##name,
	EXPORT_FORMATS(ROW)
#undef ROW
};

#define NFORMATS (sizeof(formats) / sizeof(*formats))

const struct export_format *export_format_find(const char *name)
{
	for (size_t i = 0; i < NFORMATS; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

const char *export_format_names(void)
{
	static const char names[] =
#define ROW(name) ", " #name
		EXPORT_FORMATS(ROW)
#undef ROW
		;
	return names + 2;
}

bool export_takes_tables(const struct export_format *format)
{
	return format->tables;
}

/* ---- what is chosen ---- */

static int check_ranks(const struct exporting *x)
{
	const struct export_ranks *r = &x->choice->ranks;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->at[i].last >= x->info->ranks)
			return fail(x->e, -EINVAL, "--ranks %u-%u: the trace has ranks 0 to %u", r->at[i].first,
				    r->at[i].last, x->info->ranks - 1);
	return 0;
}

static bool overlaps(const struct exporting *x, int64_t start_ns, int64_t end_ns)
{
	return start_ns < x->choice->to_ns && (end_ns > x->choice->from_ns || start_ns >= x->choice->from_ns);
}

/* Both ends are of chosen ranks, and the calls that start and receive it in the span. */
static bool has_message(const struct exporting *x, const struct mpix_message *m)
{
	return export_has_rank(x, m->src) && export_has_rank(x, m->dst) && m->send_start_ns >= x->choice->from_ns &&
	       m->recv_start_ns >= x->choice->from_ns && m->send_start_ns < x->choice->to_ns &&
	       m->completion_start_ns < x->choice->to_ns;
}

/* What is damaged is an error, or else counted. */
static int tolerate(struct run *r, int rc, uint64_t *counter, uint64_t records)
{
	if (rc != -EBADMSG)
		return rc;
	if (r->x.choice->skip_damaged) {
		*counter += records;
		return 0;
	}
	char text[ERROR_TEXT_MAX];
	memcpy(text, r->e->text, sizeof(text));
	return fail(r->e, rc, "%.800s; with --skip-damaged the rest is exported and what lacks is counted", text);
}

/* ---- notes: what is known of events when they come ---- */

static size_t cell_of(const struct run *r, const struct mpix_position *at)
{
	uint32_t rank = mpix_rank_of_lane(r->x.f, at->lane), first, end;
	if (at->window >= r->windows || rank >= r->x.info->ranks)
		return SIZE_MAX;
	mpix_group_ranks(r->x.f, 0, &first, &end); /* all groups but the last have as many ranks */
	return (size_t)at->window * r->groups + rank / (end - first);
}

static int add_note(struct run *r, const struct mpix_position *at, struct export_note note)
{
	bool asked = (r->format->roles & EXPORT_ROLE(note.role)) != 0 || note.role == EXPORT_CAME;
	if (!asked || at->window == MPIX_NOWHERE)
		return 0;
	note.lane = at->lane;
	note.index = at->index;
	return notes_add(r->notes, cell_of(r, at), &note, r->e);
}

static bool same(const struct mpix_position *a, const struct mpix_position *b)
{
	return a->window == b->window && a->lane == b->lane && a->index == b->index;
}

static int note_message(struct run *r, const struct mpix_link *link)
{
	const struct mpix_message *m = &link->message;
	bool sent_at_once = same(&link->send, &link->sent), open = link->completion.window == MPIX_NOWHERE;
	bool received_at_once = same(&link->recv, &link->completion);
	struct export_note sender = {.message = ++r->numbered,
				     .bytes = m->bytes,
				     .other_start_ns = m->recv_start_ns,
				     .other_end_ns = m->recv_end_ns,
				     .other_lane = link->recv.lane,
				     .tag = m->tag,
				     .comm = m->comm},
			   receiver = sender;
	receiver.other_start_ns = m->send_start_ns;
	receiver.other_end_ns = m->send_end_ns;
	receiver.other_lane = link->send.lane;
	sender.role = sent_at_once ? EXPORT_SENDS : EXPORT_SEND_STARTS;
	receiver.role = received_at_once ? EXPORT_RECEIVES : EXPORT_RECEIVE_STARTS;
	int rc = add_note(r, &link->send, sender);
	if (rc == 0)
		rc = add_note(r, &link->recv, receiver);
	sender.role = EXPORT_SEND_ENDS;
	receiver.role = EXPORT_RECEIVE_ENDS;
	if (rc == 0 && !sent_at_once)
		rc = add_note(r, &link->sent, sender);
	if (rc == 0 && !received_at_once && !open)
		rc = add_note(r, &link->completion, receiver);
	return rc;
}

static int visit_message(void *context, const struct mpix_link *link)
{
	struct run *r = context;
	r->delivered++;
	if (!has_message(&r->x, &link->message)) {
		r->x.counts.messages_outside++;
		return 0;
	}
	r->x.counts.messages++;
	int rc = r->format->message != NULL ? writing_message(r->writing, link, r->x.counts.messages) : 0;
	return rc == 0 && (r->format->roles & EXPORT_ENDS) != 0 ? note_message(r, link) : rc;
}

static int note_operation(struct run *r, const struct mpix_wait *wait)
{
	struct export_note note = {.message = ++r->operations, .other_lane = EXPORT_NOBODY, .role = EXPORT_BEGINS};
	int rc = add_note(r, &wait->causer, note);
	note.role = EXPORT_COMPLETES;
	return rc == 0 ? add_note(r, &wait->at, note) : rc;
}

static int visit_wait(void *context, const struct mpix_wait *wait)
{
	struct run *r = context;
	struct export_note note = {.message = (uint64_t)wait->ns,
				   .bytes = wait->how == MPIX_CAME_BYTES ? (uint64_t)wait->ns : 0,
				   .other_lane = EXPORT_NOBODY,
				   .state = wait->state,
				   .role = wait->how == MPIX_CAME_BYTES ? EXPORT_CAME : EXPORT_WAITS};
	r->delivered++;
	if (wait->how == MPIX_CAME_BYTES && wait->causer.window != MPIX_NOWHERE)
		return note_operation(r, wait);
	if (wait->causer.window != MPIX_NOWHERE && wait->how != MPIX_WAIT_SINCE_END)
		note.other_lane = wait->causer.lane;
	return add_note(r, &wait->at, note);
}

static int step(struct run *r)
{
	progress_at(&r->progress, ++r->done);
	return export_stopped(&r->x) ? fail(r->e, -EINTR, "stopped by a signal") : 0;
}

/* Windows that may hold what overlaps the span: those that begin before its end; waits and messages of any. */
static int read_cell_notes(struct run *r, uint32_t group, uint32_t window)
{
	struct mpix_cell_counts n = mpix_cell_count(r->x.f, group, window);
	int rc = 0;
	if (r->format->message != NULL || (r->format->roles & EXPORT_ENDS) != 0) {
		r->delivered = 0;
		rc = mpix_cell_messages(r->x.f, group, window, visit_message, r, r->e);
		rc = tolerate(r, rc, &r->x.counts.messages_damaged, n.messages - r->delivered);
	}
	r->delivered = 0;
	if (rc == 0 && !r->format->bare)
		rc = mpix_cell_waits(r->x.f, group, window, visit_wait, r, r->e);
	return tolerate(r, rc, &r->x.counts.waits_damaged, n.waits - r->delivered);
}

static int read_notes(struct run *r)
{
	int rc = 0;
	for (uint32_t w = 0; w < r->windows && rc == 0; w++)
		for (uint32_t g = 0; g < r->groups && rc == 0; g++) {
			rc = read_cell_notes(r, g, w);
			if (rc == 0)
				rc = step(r);
		}
	return rc;
}

/* ---- events ---- */

/* Notes of one event; those of events that were left out are passed over. */
static void take_notes(struct run *r, const struct mpix_position *at, struct export_event *ev)
{
	while (r->nnotes > 0 &&
	       (r->note->lane < at->lane || (r->note->lane == at->lane && r->note->index < at->index))) {
		r->note++;
		r->nnotes--;
	}
	ev->notes = r->note;
	ev->nnotes = 0;
	while (r->nnotes > 0 && r->note->lane == at->lane && r->note->index == at->index) {
		ev->nnotes++;
		r->note++;
		r->nnotes--;
	}
}

static void count(struct export_counts *n, const struct mpix_event *call)
{
	n->events++;
	n->open += opens_has(call);
	n->open_ns += opens_has(call) ? call->end_ns - call->start_ns : 0;
	n->collectives += call->number != MPIX_NO_NUMBER;
	n->rma += call->class == MPIX_RMA;
	n->io += call->class == MPIX_IO;
}

/* With what its notes add to it. */
static int emit(struct run *r, const struct export_event *ev)
{
	struct mpix_event call = *ev->call;
	bool asked = (r->format->roles & EXPORT_ROLE(EXPORT_WAITS)) != 0;
	struct export_event given = *ev;
	for (uint32_t i = 0; i < ev->nnotes; i++) {
		const struct export_note *n = &ev->notes[i];
		if (n->role == EXPORT_CAME)
			call.bytes += n->bytes;
		if (n->role != EXPORT_WAITS)
			continue;
		r->x.counts.waits += asked;
		if (n->state != MPIX_WRONG_ORDER && n->state != MPIX_LATE_COMPLETE) /* parts of others */
			call.wait_ns += (int64_t)n->message;
	}
	given.call = &call;
	count(&r->x.counts, &call);
	return writing_event(r->writing, &given);
}

static int visit_event(void *context, const struct mpix_event *call)
{
	struct run *r = context;
	struct export_event ev = {
		.call = call, .lane = call->at.lane, .rank = mpix_rank_of_lane(r->x.f, call->at.lane)};
	ev.number = r->before + ++r->delivered;
	if (!export_has_rank(&r->x, ev.rank) || !overlaps(&r->x, call->start_ns, call->end_ns)) {
		r->x.counts.events_outside++;
		return 0;
	}
	if (r->nnotes > 0)
		take_notes(r, &call->at, &ev);
	return emit(r, &ev);
}

static int cell_begin(struct run *r, uint32_t group, uint32_t window)
{
	r->nnotes = 0;
	r->delivered = 0;
	return notes_take(r->notes, (size_t)window * r->groups + group, &r->note, &r->nnotes, r->e);
}

static int read_cell_events(struct run *r, uint32_t group, uint32_t window)
{
	const struct open_call *open;
	uint32_t expected = mpix_cell_count(r->x.f, group, window).events;
	int rc = cell_begin(r, group, window);
	if (rc == 0)
		rc = tolerate(r, opens_cell_events(&r->x.opens, r->x.f, group, window, visit_event, r, r->e),
			      &r->x.counts.events_damaged, expected);
	r->before += expected + opens_of(&r->x.opens, group, window, &open);
	return rc == 0 ? step(r) : rc;
}

static int read_by_group(struct run *r)
{
	int rc = 0;
	for (uint32_t g = 0; g < r->groups && rc == 0; g++)
		for (uint32_t w = 0; w < r->windows && rc == 0; w++)
			rc = read_cell_events(r, g, w);
	return rc;
}

/* ---- events in order of time: one window of all groups at once ---- */

struct kept {
	struct mpix_event call;
	uint32_t first_note, nnotes;
};

/* One lane of the window. */
struct head {
	size_t next, end;
	int64_t start_ns;
	uint32_t lane;
};

struct window {
	struct run *r;
	VEC(struct kept) events;
	VEC(struct export_note) notes;
	VEC(struct head) heads; /* a heap: the earliest first */
};

static int keep_event(void *context, const struct mpix_event *call)
{
	struct window *w = context;
	struct run *r = w->r;
	struct export_event ev;
	struct kept k = {.call = *call, .first_note = (uint32_t)w->notes.n};
	r->delivered++;
	if (!export_has_rank(&r->x, mpix_rank_of_lane(r->x.f, call->at.lane)) ||
	    !overlaps(&r->x, call->start_ns, call->end_ns)) {
		r->x.counts.events_outside++;
		return 0;
	}
	if (r->nnotes > 0) {
		take_notes(r, &call->at, &ev);
		k.nnotes = ev.nnotes;
		for (uint32_t i = 0; i < ev.nnotes; i++)
			if (vec_push(&w->notes, ev.notes[i]) < 0)
				return fail(r->e, -ENOMEM, "out of memory");
	}
	bool begins = w->heads.n == 0 || w->heads.at[w->heads.n - 1].lane != call->at.lane;
	struct head h = {w->events.n, w->events.n + 1, call->start_ns, call->at.lane};
	if (vec_push(&w->events, k) < 0 || (begins && vec_push(&w->heads, h) < 0))
		return fail(r->e, -ENOMEM, "out of memory");
	w->heads.at[w->heads.n - 1].end = w->events.n;
	return 0;
}

static bool earlier(const struct head *a, const struct head *b)
{
	return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->lane < b->lane;
}

static void sink(struct head *heap, size_t n, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= n)
			return;
		if (child + 1 < n && earlier(&heap[child + 1], &heap[child]))
			child++;
		if (!earlier(&heap[child], &heap[at]))
			return;
		struct head swap = heap[at];
		heap[at] = heap[child];
		heap[child] = swap;
		at = child;
	}
}

static int merge(struct window *w)
{
	struct run *r = w->r;
	int rc = 0;
	for (size_t i = w->heads.n / 2; i > 0; i--)
		sink(w->heads.at, w->heads.n, i - 1);
	while (w->heads.n > 0 && rc == 0) {
		struct head *h = &w->heads.at[0];
		struct kept *k = &w->events.at[h->next++];
		struct export_event ev = {.call = &k->call,
					  .lane = h->lane,
					  .rank = mpix_rank_of_lane(r->x.f, h->lane),
					  .notes = w->notes.at + (k->nnotes > 0 ? k->first_note : 0),
					  .nnotes = k->nnotes};
		rc = emit(r, &ev);
		if (h->next < h->end)
			h->start_ns = w->events.at[h->next].call.start_ns;
		else
			*h = w->heads.at[--w->heads.n];
		sink(w->heads.at, w->heads.n, 0);
	}
	return rc;
}

static int read_window(struct window *w, uint32_t number)
{
	struct run *r = w->r;
	int rc = 0;
	w->events.n = w->notes.n = w->heads.n = 0;
	for (uint32_t g = 0; g < r->groups && rc == 0; g++) {
		uint32_t expected = mpix_cell_count(r->x.f, g, number).events;
		rc = cell_begin(r, g, number);
		if (rc == 0)
			rc = tolerate(r, opens_cell_events(&r->x.opens, r->x.f, g, number, keep_event, w, r->e),
				      &r->x.counts.events_damaged, expected);
		if (rc == 0)
			rc = step(r);
	}
	return rc == 0 ? merge(w) : rc;
}

static int read_in_time_order(struct run *r)
{
	struct window w = {.r = r};
	int rc = 0;
	for (uint32_t i = 0; i < r->windows && rc == 0; i++)
		rc = read_window(&w, i);
	vec_done(&w.events);
	vec_done(&w.notes);
	vec_done(&w.heads);
	return rc;
}

/* ---- all of it ---- */

static bool wants_events(const struct run *r)
{
	return !r->format->bare && (!r->format->tables || r->x.choice->tables);
}

static int read_trace(struct run *r)
{
	int rc, written;
	if (!wants_events(r))
		return 0;
	if ((r->writing = writing_create(&r->x, r->format, r->e)) == NULL)
		return -ENOMEM;
	rc = read_notes(r);
	if (rc == 0 && r->format->event != NULL)
		rc = r->format->in_time_order ? read_in_time_order(r) : read_by_group(r);
	written = writing_end(r->writing);
	return written < 0 ? written : rc;
}

static int write_format(struct run *r)
{
	int rc = r->format->begin != NULL ? r->format->begin(&r->x) : 0;
	if (rc == 0)
		rc = read_trace(r);
	if (rc == 0 && r->format->end != NULL)
		rc = r->format->end(&r->x);
	if (r->format->done != NULL)
		r->format->done(&r->x);
	return rc;
}

static int write_out(struct run *r)
{
	struct place place = {0};
	int rc = place_open(&place, r->x.choice->path, r->format->directory, r->x.e);
	if (rc < 0)
		return rc;
	r->x.directory = place.directory;
	r->x.temporary = place.file.temporary;
	if (!r->format->directory)
		rc = out_over(&r->x.out, fileno(place.file.stream), r->x.choice->path, r->x.e);
	if (rc == 0 && (r->notes = notes_create(place.beside, (size_t)r->groups * r->windows, r->x.e)) == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = write_format(r);
	if (rc == 0 && !r->format->directory)
		rc = out_close(&r->x.out, false, r->x.e);
	out_abandon(&r->x.out, false);
	notes_done(r->notes);
	if (rc == 0)
		rc = place_commit(&place, &r->x.counts.bytes, r->x.e);
	else
		place_abandon(&place);
	return rc;
}

static bool begins_in_span(const struct run *r, uint32_t window)
{
	return mpix_window_start(r->x.f, window) < r->x.choice->to_ns &&
	       (window + 1 == r->windows || mpix_window_start(r->x.f, window + 1) > r->x.choice->from_ns);
}

/* About how many are chosen: ranks are taken for equal. */
static uint64_t expect(const struct run *r)
{
	uint64_t events = 0, ranks = 0;
	for (uint32_t w = 0; w < r->windows; w++)
		for (uint32_t g = 0; g < r->groups && begins_in_span(r, w); g++)
			events += mpix_cell_count(r->x.f, g, w).events;
	for (uint32_t rank = 0; rank < r->x.info->ranks; rank++)
		ranks += export_has_rank(&r->x, rank);
	events += r->x.opens.calls.n;
	return ranks < r->x.info->ranks ? events * ranks / r->x.info->ranks : events;
}

static int begin(struct run *r)
{
	r->groups = mpix_groups(r->x.f);
	r->windows = mpix_windows(r->x.f);
	if (r->groups == 0)
		return fail(r->x.e, -EINVAL, "%s: of version 1: analyse the .mpic files again, then export",
			    r->x.source);
	r->steps = 2ull * r->groups * r->windows;
	r->x.expected = expect(r);
	r->x.counts.lanes = r->x.info->lanes;
	r->x.counts.open_unknown = wants_events(r) ? r->x.opens.unknown : 0;
	int64_t first_ns = r->windows > 0 ? mpix_window_start(r->x.f, 0) : INT64_MAX;
	r->x.first_ns = first_ns < r->x.opens.first_ns ? first_ns : r->x.opens.first_ns;
	return check_ranks(&r->x);
}

int export_file(const char *path, const struct export_format *format, const struct export_choice *choice,
		struct export_counts *ret_counts, struct error *e)
{
	struct run r = {.format = format, .e = e, .x = {.source = path, .choice = choice}};
	int rc = mpix_open(path, &r.x.f, e);
	r.x.e = &r.wrote;
	if (rc < 0)
		return rc;
	r.x.info = mpix_info(r.x.f);
	rc = definitions_read(&r.x.defs, r.x.f, e);
	if (rc == 0)
		rc = opens_read(&r.x.opens, r.x.f, r.x.defs.analysis, e);
	if (rc == 0) {
		r.x.info = &r.x.opens.info;
		rc = begin(&r);
	}
	progress_begin(&r.progress, "exporting", r.steps);
	if (rc == 0)
		rc = write_out(&r);
	progress_end(&r.progress);
	opens_done(&r.x.opens);
	definitions_done(&r.x.defs);
	mpix_close(r.x.f);
	*ret_counts = r.x.counts;
	if (rc < 0 && r.wrote.text[0] != 0)
		*e = r.wrote;
	else if (rc == -ENOMEM && e->text[0] == 0)
		fail(e, rc, "%s: out of memory", path);
	return rc;
}

int export_open(struct exporting *x, struct out *ret_out, const char *name)
{
	char *path = NULL;
	if (asprintf(&path, "%s/%s", x->directory, name) < 0)
		return fail(x->e, -ENOMEM, "out of memory");
	int rc = out_open(ret_out, path, x->e);
	free(path);
	return rc;
}
