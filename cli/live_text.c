/* live_text.c - see live_text.h. One page: the job, what the ranks' time went into, what is stuck, calls, ranks. */
#include "cli/live_text.h"

#include "base/buf.h"
#include "base/units.h"
#include "cli/print.h"

#include <math.h>
#include <stdio.h>

#define BAR 20
#define BAR_ROOM 40	/* columns, less have no room for it */
#define ROOM_MIN 3	/* ranks, however small the terminal is */
#define MEMORY_SAID 0.9 /* of the limit */
#define PART_BYTES_MAX 4096
#define CALLS_MAX 5
#define WAITED_SHOWN 3
#define DEADLOCKS_SHOWN 4
#define RANKS_NAMED 6

/* A line, cut to the width of the terminal; what came from outside is shown, not sent. */
static unsigned printed; /* lines of this page */

static void end_line(void)
{
	putchar('\n');
	printed++;
}

/* With "..." where it is cut, which has its room too. */
static void put_cut(const char *text, unsigned columns)
{
	bool fits = strlen(text) <= columns;
	put_plain(stdout, text, (int)(fits || columns < 4 ? columns : columns - 3));
}

static void put_line(const char *text, unsigned columns)
{
	put_cut(text, columns);
	end_line();
}

static void put_job(const struct snapshot *l, unsigned columns)
{
	char line[512];
	uint32_t count[4] = {0}, stopped = 0;
	for (size_t i = 0; i < l->ranks.n; i++) {
		count[l->ranks.at[i].state]++;
		stopped += l->ranks.at[i].stopped;
	}
	snprintf(line, sizeof(line), "sample %llu: %s on %s: %u in MPI, %u outside, %u ended, %u without samples",
		 (unsigned long long)l->sample, fmt_many((double)l->ranks.n, "rank").s,
		 fmt_many(l->step.nnodes, "node").s, count[LIVE_MPI], count[LIVE_USEFUL], count[LIVE_ENDED],
		 count[LIVE_SILENT]);
	put_line(line, columns);
	if (stopped > 0) {
		snprintf(line, sizeof(line), "%u rank%s stopped by a signal: SIGCONT resumes %s", stopped,
			 stopped == 1 ? " is" : "s are", stopped == 1 ? "it" : "them");
		put_line(line, columns);
	}
	for (size_t i = 0; i < l->missing.n && i < RANKS_NAMED; i++) {
		snprintf(line, sizeof(line), "node %s has no trace yet", l->missing.at[i]);
		put_line(line, columns);
	}
	for (size_t i = 0; i < l->nodes.n; i++) {
		const struct live_node *n = &l->nodes.at[i];
		if (n->bad > 0) {
			snprintf(line, sizeof(line), "node %s: %u sample%s could not be read: what is shown may be old",
				 l->step.nodes.at[i].name, n->bad, n->bad == 1 ? "" : "s");
			put_line(line, columns);
		}
		if ((double)n->memory_used_bytes < MEMORY_SAID * (double)n->memory_limit_bytes ||
		    n->memory_limit_bytes == 0)
			continue;
		snprintf(line, sizeof(line), "node %s: the job has %s of the memory that it may have",
			 l->step.nodes.at[i].name,
			 fmt_plain(fmt_share((double)n->memory_used_bytes / (double)n->memory_limit_bytes)).s);
		put_line(line, columns);
	}
	for (size_t i = 0; i < l->nodes.n; i++) {
		enum live_node_state state = l->node_states.at[i];
		if (state != NODE_LAGS && state != NODE_WITHOUT)
			continue;
		double age_s = (double)(l->realtime_ns - l->nodes.at[i].realtime_ns) / 1e9;
		char before[64] = "";
		if (state == NODE_LAGS && age_s > 0)
			snprintf(before, sizeof(before), ", %s before the others'", fmt_plain(fmt_time(age_s)).s);
		snprintf(line, sizeof(line), "node %s %s%s", l->step.nodes.at[i].name,
			 state == NODE_WITHOUT ? "has no samples yet" : "lags: its last sample is old", before);
		put_line(line, columns);
	}
}

static void put_share(struct buf *line, const char *what, double sum, double n)
{
	if (n > 0)
		buf_printf(line, "  %s %s", what, fmt_plain(fmt_share(sum / n)).s);
}

static void put_shares(const struct snapshot *l, unsigned columns)
{
	_cleanup_buf_ struct buf line = {0};
	double useful = 0, mpi = 0, off = 0, n = 0, noff = 0;
	for (size_t i = 0; i < l->ranks.n; i++) {
		const struct live_rank *r = &l->ranks.at[i];
		if (isnan(r->mpi))
			continue;
		useful += r->useful;
		mpi += r->mpi;
		n++;
		if (isnan(r->off_processor))
			continue;
		off += r->off_processor;
		noff++;
	}
	if (n == 0)
		return;
	buf_str(&line, "last interval:");
	put_share(&line, "useful", useful, n);
	put_share(&line, "MPI", mpi, n);
	put_share(&line, "ready without a processor", off, noff);
	buf_u8(&line, '\0');
	if (!buf_failed(&line))
		put_line((const char *)line.data, columns);
}

/* As many bytes of text as have room, if there is one up to a space. */
static size_t fitting(const char *text, size_t room)
{
	size_t n = strlen(text), at = room;
	if (n <= room)
		return n;
	while (at > 0 && text[at] != ' ')
		at--;
	return at > 0 ? at : room;
}

/* As many lines as it takes: nothing of it is left out, also where the terminal is narrow. */
static void put_part(const char *text, unsigned columns)
{
	size_t indent = columns > 16 ? 2 : 0, room = columns > indent ? columns - indent : 1;
	for (bool first = true; *text != '\0'; first = false) {
		size_t more = first ? 0 : indent, n = fitting(text, room > more ? room - more : 1);
		char *part = strndup(text, n);
		printf("%*s", (int)(indent + more), "");
		put_plain(stdout, part != NULL ? part : "", PART_BYTES_MAX);
		end_line();
		free(part);
		text += n;
		text += strspn(text, " ");
	}
}

/* One rank after the other: this is what one came for. */
static void put_parts(const char *why, unsigned columns)
{
	for (const char *at = why, *end; at != NULL; at = end != NULL ? end + 2 : NULL) {
		end = strstr(at, "; ");
		char *part = strndup(at, end != NULL ? (size_t)(end - at) : strlen(at));
		put_part(part != NULL ? part : "", columns);
		free(part);
	}
}

/* `possible`: only by threads that have not called MPI yet. */
static void put_cores(const struct snapshot *l, const struct cores *cores, bool possible, unsigned columns)
{
	for (size_t i = 0; i < cores->at.n && i < DEADLOCKS_SHOWN; i++) {
		const struct core *c = &cores->at.at[i];
		char line[256], *why = live_why(l, c);
		size_t ranks = c->nranks + c->waiting.n;
		if (possible)
			snprintf(line, sizeof(line),
				 "%zu rank%s can only continue by a thread that has not called MPI yet, because of:",
				 ranks, ranks == 1 ? "" : "s");
		else
			snprintf(line, sizeof(line), "DEADLOCK: %zu rank%s can never continue, because of:", ranks,
				 ranks == 1 ? "" : "s");
		put_line(line, columns);
		put_parts(why, columns);
		free(why);
	}
	if (cores->at.n > DEADLOCKS_SHOWN)
		put_line(possible ? "and more of these: see --json" : "and more deadlocks: see --json", columns);
}

static void put_stuck(const struct snapshot *l, unsigned columns)
{
	put_cores(l, &l->cores, false, columns);
	put_cores(l, &l->possible, true, columns);
	if (l->stuck && l->cores.at.n == 0)
		put_line("STUCK: every rank has been inside one MPI call for a minute or more", columns);
}

static void put_waited(const struct snapshot *l, unsigned columns)
{
	for (size_t i = 0; i < l->waited_for.n && i < WAITED_SHOWN; i++) {
		const struct live_group *w = &l->waited_for.at[i];
		uint32_t rank = w->rank;
		char line[1024], *words = live_words(l, rank, true);
		int n = snprintf(line, sizeof(line), "%zu rank%s wait%s for %s", w->ranks.n, w->ranks.n == 1 ? "" : "s",
				 w->ranks.n == 1 ? "s" : "", words != NULL ? words : "");
		double on = l->ranks.at[rank].on_processor;
		if (!isnan(on) && n > 0 && n < (int)sizeof(line))
			snprintf(line + n, sizeof(line) - (size_t)n, ", on a processor %s of the last interval",
				 fmt_plain(fmt_share(on)).s);
		put_line(line, columns);
		free(words);
	}
}

/* ---- the calls that took most of the last interval ---- */

struct heavy {
	uint32_t site;
	double ticks; /* of all ranks, in intervals */
};

static int by_ticks(const void *a, const void *b)
{
	const struct heavy *x = a, *y = b;
	return (x->ticks < y->ticks) - (x->ticks > y->ticks);
}

static double ticks_of(const struct live_thread *t, size_t id)
{
	double ticks = (double)t->totals.at[id].ticks - (double)t->totals.at[id].before_ticks;
	return ticks > 0 ? ticks : 0;
}

static void add_heavy(struct heavy *sites, const struct snapshot *l, uint32_t rank)
{
	const struct live_rank *r = &l->ranks.at[rank];
	const struct process *p = l->step.ranks[rank];
	if (r->process == NULL || r->state == LIVE_SILENT || r->process->threads.n == 0 || p->threads.n == 0)
		return;
	const struct live_thread *t = &r->process->threads.at[0];
	const struct thread *known = &p->threads.at[0];
	double scale = r->node->interval_ticks > 0 ? 1 / (double)r->node->interval_ticks : 0;
	for (size_t id = 0; id < t->totals.n && id < known->sig_of.n; id++) {
		uint32_t at = known->sig_of.at[id];
		if (at != 0 && p->sigs.at[at - 1].site != NONE)
			sites[p->sigs.at[at - 1].site].ticks += ticks_of(t, id) * scale;
	}
	if (r->sig != NULL && r->sig->site != NONE && r->still)
		sites[r->sig->site].ticks += 1;
}

static void put_calls(const struct snapshot *l, unsigned columns)
{
	size_t n = l->step.sites.n;
	struct heavy *sites = calloc(n + 1, sizeof(*sites));
	if (sites == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		sites[i].site = (uint32_t)i;
	for (uint32_t r = 0; r < l->ranks.n; r++)
		add_heavy(sites, l, r);
	qsort(sites, n, sizeof(*sites), by_ticks);
	for (size_t i = 0; i < n && i < CALLS_MAX && sites[i].ticks > 0.001 * (double)l->ranks.n; i++) {
		const struct sig as = {.site = sites[i].site};
		const struct site *site = &l->step.sites.at[sites[i].site];
		char line[1024], place[512] = "";
		live_place(l, &as, place, sizeof(place));
		snprintf(line, sizeof(line), "%8s  %s %s", fmt_plain(fmt_share(sites[i].ticks / (double)l->ranks.n)).s,
			 site->op != NONE ? l->step.ops.at[site->op] : "MPI", place);
		put_line(line, columns);
	}
	free(sites);
}

/* ---- ranks ---- */

static void put_bar(double mpi)
{
	int filled = isnan(mpi) ? 0 : (int)lround(mpi * BAR);
	putchar('[');
	for (int i = 0; i < BAR; i++)
		putchar(isnan(mpi) ? ' ' : i < filled ? '#' : '.');
	printf("] ");
}

/* lines: 0 for all of them. */
static void put_ranks(const struct snapshot *l, unsigned columns, unsigned lines, uint32_t first)
{
	uint32_t end = lines > 0 && lines < l->ranks.n - first ? first + lines : (uint32_t)l->ranks.n;
	for (uint32_t r = first; r < end; r++) {
		char *words = live_words(l, r, true);
		bool bar = columns >= BAR_ROOM;
		if (bar)
			put_bar(l->ranks.at[r].mpi);
		put_line(words != NULL ? words : "", bar ? columns - BAR - 3 : columns);
		free(words);
	}
}

/* Room for ranks below what is printed, and for the last line if there is one. */
static unsigned room(const struct live_page *p)
{
	unsigned taken = printed + (p->keys != NULL) + 1;
	return p->lines == 0 ? 0 : p->lines > taken + ROOM_MIN ? p->lines - taken : ROOM_MIN;
}

uint32_t live_print(const struct snapshot *l, const struct live_page *p)
{
	char line[128];
	printed = 0;
	put_job(l, p->columns);
	put_shares(l, p->columns);
	put_stuck(l, p->columns);
	put_waited(l, p->columns);
	put_calls(l, p->columns);
	put_line("each rank's share of MPI, and what it is in:", p->columns);
	unsigned lines = room(p);
	bool whole = lines == 0 || l->ranks.n <= lines;
	uint32_t last = whole ? 0 : (uint32_t)l->ranks.n - lines, first = p->first < last ? p->first : last;
	put_ranks(l, p->columns, lines, first);
	if (p->keys != NULL) {
		snprintf(line, sizeof(line), "ranks %u to %zu of %zu; ", first,
			 whole ? l->ranks.n - 1 : first + lines - 1u, l->ranks.n);
		char *text = NULL;
		if (asprintf(&text, "%s%s", whole ? "" : line, p->keys) >= 0)
			put_cut(text, p->columns);
		free(text);
	} else if (!whole)
		printf("and %s\n", fmt_many((double)(l->ranks.n - lines), "more rank").s);
	fflush(stdout);
	return first;
}
