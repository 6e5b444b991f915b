/* import_mprov.c - MPROV's text: `process:E=number:S:destination:line;` for a send,
 * `process:E=number:R:source:line;` for a receive, events of a process numbered from 0, line of the source. It has no
 * times: events get those of a logical clock (Lamport, Communications of the ACM 21 (7), 1978). */
#include "base/units.h"
#include "postproc/protocol/import.h"

#include <ctype.h>

#define END (-1)
#define UNNAMED_RANKS_MAX 1024u /* each entry may name two: pairs of so many may be without any */

struct entry {
	uint32_t process, number, peer, line;
	uint32_t at; /* line of the file */
	bool sends;
};

struct text {
	const char *path;
	struct cursor c;
	int next; /* byte, or END */
	uint32_t line;
	VEC(struct entry) entries;
	struct error *e;
};

/* ---- text ---- */

static void advance(struct text *t)
{
	if (t->next == '\n')
		t->line++;
	uint8_t byte;
	t->next = rd_u8(&t->c, &byte) < 0 ? END : byte;
}

static void skip_blank(struct text *t)
{
	while (t->next != END && isspace(t->next))
		advance(t);
}

static int wrong(struct text *t, const char *what)
{
	static const char form[] = "process:E=number:S:process:line;";
	if (t->next == END)
		return fail(t->e, -EBADMSG, "%s:%u: the file ends where %s should be; an entry is %s", t->path, t->line,
			    what, form);
	return fail(t->e, -EBADMSG,
		    isgraph(t->next) ? "%s:%u: '%c' where %s should be; an entry is %s"
				     : "%s:%u: byte 0x%02x where %s should be; an entry is %s",
		    t->path, t->line, t->next, what, form);
}

static int expect(struct text *t, const char *text, const char *what)
{
	for (; *text != 0; text++) {
		skip_blank(t);
		if (t->next != *text)
			return wrong(t, what);
		advance(t);
	}
	return 0;
}

static int take_number(struct text *t, uint32_t max, const char *what, uint32_t *ret_number)
{
	uint64_t n = 0;
	skip_blank(t);
	if (!isdigit(t->next))
		return wrong(t, what);
	for (; isdigit(t->next); advance(t)) {
		n = n * 10 + (unsigned)(t->next - '0');
		if (n > max)
			return fail(t->e, -EBADMSG, "%s:%u: %s is over the limit of %u", t->path, t->line, what, max);
	}
	*ret_number = (uint32_t)n;
	return 0;
}

static int take_entry(struct text *t)
{
	struct entry x = {.at = t->line};
	int code = take_number(t, IMPORT_RANKS_MAX - 1, "a process", &x.process);
	if (code == 0)
		code = expect(t, ":E=", "\":E=\"");
	if (code == 0)
		code = take_number(t, IMPORT_EVENTS_MAX - 1, "an event number", &x.number);
	if (code == 0)
		code = expect(t, ":", "\":\"");
	skip_blank(t);
	if (code == 0 && t->next != 'S' && t->next != 'R')
		return wrong(t, "S or R");
	x.sends = t->next == 'S';
	if (code == 0) {
		advance(t);
		code = expect(t, ":", "\":\"");
	}
	if (code == 0)
		code = take_number(t, IMPORT_RANKS_MAX - 1, "a process", &x.peer);
	if (code == 0)
		code = expect(t, ":", "\":\"");
	if (code == 0)
		code = take_number(t, IMPORT_LINE_MAX, "a source line", &x.line);
	if (code == 0)
		code = expect(t, ";", "\";\"");
	if (code == 0 && t->entries.n == IMPORT_EVENTS_MAX)
		return fail(t->e, -E2BIG, "%s:%u: more than %u events", t->path, t->line, IMPORT_EVENTS_MAX);
	if (code == 0 && vec_push(&t->entries, x) < 0)
		return fail(t->e, -ENOMEM, "%s: out of memory", t->path);
	return code;
}

static int read_entries(struct text *t)
{
	int code = 0;
	advance(t);
	t->line = 1;
	for (skip_blank(t); t->next != END && code == 0; skip_blank(t))
		code = take_entry(t);
	if (code == 0 && t->entries.n == 0)
		return fail(t->e, -EBADMSG, "%s: no entry in it, such as 0:E=0:S:1:12;", t->path);
	return code;
}

/* ---- events ---- */

static int by_number(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int add_event(struct import *x, const struct entry *y, struct error *e)
{
	struct import_rank *r = &x->ranks[y->process];
	if (y->number < r->events.n)
		return fail(e, -EBADMSG, "%s:%u: event %u of process %u is there twice", x->file, y->at, y->number,
			    y->process);
	if (y->number > r->events.n)
		return fail(e, -EBADMSG, "%s:%u: process %u has an event %u, but no event %zu", x->file, y->at,
			    y->process, y->number, r->events.n);
	struct import_event ev = {.number = MPIX_NO_NUMBER,
				  .order = y->number,
				  .send_peer = (int32_t)y->peer,
				  .recv_peer = (int32_t)y->peer,
				  .op = !y->sends,
				  .line = y->line,
				  .sends = y->sends,
				  .receives = !y->sends};
	r->seen = true;
	x->events++;
	return vec_push(&r->events, ev) < 0 ? fail(e, -ENOMEM, "%s: out of memory", x->file) : 0;
}

static int make_events(struct import *x, struct text *t, struct error *e)
{
	uint32_t last = 0;
	for (size_t i = 0; i < t->entries.n; i++) {
		last = t->entries.at[i].process > last ? t->entries.at[i].process : last;
		last = t->entries.at[i].peer > last ? t->entries.at[i].peer : last;
	}
	if (last / 2 >= t->entries.n + UNNAMED_RANKS_MAX)
		return fail(e, -EBADMSG, "%s: process %u in a file of %s: most processes are not in it", x->file, last,
			    fmt_many((double)t->entries.n, "event").s);
	int code = import_ranks(x, last + 1, e);
	vec_sort(&t->entries, by_number);
	for (size_t i = 0; i < t->entries.n && code == 0; i++)
		code = add_event(x, &t->entries.at[i], e);
	return code;
}

/* ---- the logical clock ---- */

struct partner {
	uint32_t rank, event; /* rank IMPORT_NONE: nobody */
};

struct clock {
	struct import *x;
	struct partner **partners; /* by rank, by event */
	uint32_t *next;		   /* event of each rank */
	VEC(uint32_t) ready;
	uint64_t done;
};

static bool is_waiting(const struct clock *c, const struct import_event *ev, const struct partner *p)
{
	return ev->receives && p->rank != IMPORT_NONE && p->event >= c->next[p->rank];
}

/* As far as a rank comes without a message that nobody has sent. */
static int advance_rank(struct clock *c, uint32_t rank)
{
	struct import_rank *r = &c->x->ranks[rank];
	for (uint32_t i = c->next[rank]; i < r->events.n; i++) {
		struct import_event *ev = &r->events.at[i];
		const struct partner *p = &c->partners[rank][i];
		if (is_waiting(c, ev, p))
			return 0;
		int64_t tick = i > 0 ? r->events.at[i - 1].ns / IMPORT_TICK_NS + 1 : 0;
		if (ev->receives && p->rank != IMPORT_NONE) {
			int64_t sent = c->x->ranks[p->rank].events.at[p->event].ns / IMPORT_TICK_NS;
			tick = sent + 1 > tick ? sent + 1 : tick;
		}
		ev->ns = tick * IMPORT_TICK_NS;
		ev->end_ns = ev->ns + IMPORT_TICK_NS;
		c->next[rank] = i + 1;
		c->done++;
		if (ev->sends && p->rank != IMPORT_NONE && vec_push(&c->ready, p->rank) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int run_clock(struct clock *c, struct error *e)
{
	for (uint32_t r = c->x->nranks; r-- > 0;)
		if (vec_push(&c->ready, r) < 0)
			return -ENOMEM;
	while (c->ready.n > 0) {
		int code = advance_rank(c, c->ready.at[--c->ready.n]);
		if (code < 0)
			return code;
	}
	for (uint32_t r = 0; r < c->x->nranks && c->done < c->x->events; r++)
		if (c->next[r] < c->x->ranks[r].events.n)
			return fail(
				e, -EBADMSG,
				"%s: no order of events is possible: process %u waits in event %u for a message that "
				"is sent only after it",
				c->x->file, r, c->next[r]);
	return 0;
}

static int set_partners(struct clock *c)
{
	const struct import *x = c->x;
	c->partners = calloc(x->nranks, sizeof(*c->partners));
	c->next = calloc(x->nranks, sizeof(*c->next));
	if (c->partners == NULL || c->next == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < x->nranks; r++) {
		c->partners[r] = malloc((x->ranks[r].events.n + 1) * sizeof(**c->partners));
		if (c->partners[r] == NULL)
			return -ENOMEM;
		memset(c->partners[r], 0xff, (x->ranks[r].events.n + 1) * sizeof(**c->partners));
	}
	for (size_t i = 0; i < x->links.n; i++) {
		const struct import_link *l = &x->links.at[i];
		c->partners[l->src][l->send] = (struct partner){l->dst, l->recv};
		c->partners[l->dst][l->recv] = (struct partner){l->src, l->send};
	}
	return 0;
}

static int set_times(struct import *x, struct error *e)
{
	struct clock c = {.x = x};
	int code = set_partners(&c);
	if (code == 0)
		code = run_clock(&c, e);
	else
		fail(e, code, "%s: out of memory", x->file);
	for (uint32_t r = 0; c.partners != NULL && r < x->nranks; r++)
		free(c.partners[r]);
	free(c.partners);
	free(c.next);
	vec_done(&c.ready);
	return code;
}

static int make_import(struct import *x, struct text *t, struct error *e)
{
	int code = make_events(x, t, e);
	if (code == 0)
		code = import_find_links(x, e);
	if (code == 0)
		code = set_times(x, e);
	if (code == 0 &&
	    (import_reason(x, "MPROV records no times: the time line shows steps of a logical clock, %d ns each.",
			   IMPORT_TICK_NS) < 0 ||
	     import_reason(x, "MPROV records no bytes, tags, communicators and collectives, and no names of calls and "
			      "files.") < 0))
		code = fail(e, -ENOMEM, "%s: out of memory", x->file);
	return code;
}

int import_mprov(const char *path, struct span bytes, struct import *ret_import, struct error *e)
{
	struct import *x = ret_import;
	struct text t = {.path = path, .c = cursor_over(bytes.data, bytes.len_bytes), .next = ' ', .line = 1, .e = e};
	*x = (struct import){.format = "mprov", .file = strdup(path)};
	int code = vec_push(&x->ops, (struct import_op){"send", MPIX_P2P, false});
	if (code == 0)
		code = vec_push(&x->ops, (struct import_op){"receive", MPIX_P2P, false});
	if (code < 0 || x->file == NULL)
		code = fail(e, -ENOMEM, "%s: out of memory", path);
	if (code == 0)
		code = read_entries(&t);
	if (code == 0)
		code = make_import(x, &t, e);
	vec_done(&t.entries);
	return code;
}
