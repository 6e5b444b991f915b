/* mpix_read_part.c - what one group has of one window, decoded and kept for a while.
 * In: EVENTS, SIGNATURES and CLOCK chunks of version 2, believed in nothing.  Out: struct mpix_part_data. */
#include "format/mpix_reader.h"
#include "format/mpix_memory.h"

#include "base/search.h"
#include "base/vec.h"

#include <stdlib.h>

#define CACHE_BYTES_MAX (256u << 20) /* of parts, and as much of signatures */
#define EXTRA_WORDS_MAX 4u
#define SIG_COLUMNS 9
#define FOUND 64u /* places of EVENTS that are remembered */

struct mpix_part_cache {
	struct mpix_part_data **parts; /* by entry of EVENTS */
	uint32_t *loaded;	       /* those that are there */
	size_t nloaded, cap_loaded;
	uint32_t first, n; /* entries of EVENTS */
	struct found {
		uint32_t group, window, number; /* from 1; 0: none yet */
	} found[FOUND];
	struct mpix_group_sigs *sigs;
	uint32_t ngroups;
	size_t part_bytes, part_bytes_max, sig_bytes;
	struct mpix_part_data *spare; /* what forgotten ones leave: memory that is new costs as much as decoding */
	uint64_t now;
	struct mpic_events events;
	struct mpix_memory memory;
};

/* ---- signatures ---- */

static int get_signature(const struct mpix_file *f, struct cursor columns[SIG_COLUMNS], uint32_t rank,
			 struct mpix_signature *ret_sig)
{
	uint64_t v[SIG_COLUMNS];
	for (unsigned i = 0; i < SIG_COLUMNS; i++)
		if (rd_varint(&columns[i], &v[i]) < 0)
			return -EBADMSG;
	int64_t peer = v[4] < 2 ? (v[4] == 0 ? -1 : -2) : (int64_t)rank + mpix_unzigzag(v[4] - 2);
	if (v[0] >= f->info.nops || v[1] >= MPIX_CLASSES || peer < -2 || peer >= f->info.ranks || v[3] > UINT32_MAX ||
	    v[8] > UINT8_MAX || (v[4] >= 2 && peer < 0) || v[4] > 4ull * RANKS_MAX || v[5] > UINT32_MAX)
		return -EBADMSG;
	*ret_sig = (struct mpix_signature){
		.op = (uint32_t)v[0],
		.class = (uint8_t)v[1],
		.callsite = mpix_site_in(v[2]),
		.comm = (uint32_t)v[3],
		.peer = (int32_t)peer,
		.tag = (int32_t)mpix_unzigzag(v[5]),
		.bytes = v[6],
		.message_bytes = v[7],
		.flags = (uint8_t)v[8],
	};
	return 0;
}

/* Numbers of signatures of each rank become first[]. */
static int get_counts(const struct mpix_file *f, struct cursor *c, struct mpix_group_sigs *s)
{
	uint64_t rank = (uint64_t)s->group * f->shape.group_ranks, count, total = 0;
	for (uint32_t r = 0; r < f->shape.group_ranks; r++) {
		s->first[r] = (uint32_t)total;
		if (rank + r < f->info.ranks && (rd_varint(c, &count) < 0 || count > MPIX_GROUP_SIGS_MAX))
			return -EBADMSG;
		total += rank + r < f->info.ranks ? count : 0;
		if (total > MPIX_GROUP_SIGS_MAX || total > cursor_left(c))
			return -EBADMSG;
	}
	s->first[f->shape.group_ranks] = (uint32_t)total;
	return 0;
}

int mpix_sigs_decode(const struct mpix_file *f, struct cursor c, struct mpix_group_sigs *s)
{
	struct cursor columns[SIG_COLUMNS];
	if (get_counts(f, &c, s) < 0 || mpix_split_columns(&c, columns, SIG_COLUMNS) < 0)
		return -EBADMSG;
	uint32_t n = s->first[f->shape.group_ranks], rank = s->group * f->shape.group_ranks;
	s->sigs = malloc((n + 1u) * sizeof(*s->sigs));
	if (s->sigs == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < f->shape.group_ranks; r++)
		for (uint32_t i = s->first[r]; i < s->first[r + 1]; i++)
			if (get_signature(f, columns, rank + r, &s->sigs[i]) < 0)
				return -EBADMSG;
	for (unsigned i = 0; i < SIG_COLUMNS; i++)
		if (cursor_left(&columns[i]) > 0)
			return -EBADMSG;
	return 0;
}

static void forget_sigs(struct mpix_group_sigs *s)
{
	free(s->sigs);
	free(s->first);
	*s = (struct mpix_group_sigs){0};
}

int mpix_sigs_get(struct mpix_file *f, uint32_t group, const struct mpix_group_sigs **ret_sigs, struct error *e)
{
	struct mpix_group_sigs *s = &f->cache->sigs[group];
	const struct mpix_entry *x = mpix_find(f, MPIX_SIGNATURES, group, 0);
	uint8_t *raw = NULL;
	*ret_sigs = s;
	if (s->first != NULL)
		return 0;
	s->group = group;
	s->first = calloc(f->shape.group_ranks + 1u, sizeof(*s->first));
	int rc = s->first == NULL ? fail(e, -ENOMEM, "%s: out of memory", f->path) : 0;
	if (rc == 0 && x != NULL)
		rc = mpix_read_chunk(f, x, &raw, e);
	if (rc == 0 && x != NULL) {
		rc = mpix_sigs_decode(f, cursor_over(raw, x->raw_bytes), s);
		if (rc < 0)
			rc = rc == -ENOMEM ? fail(e, rc, "%s: out of memory", f->path) : mpix_damaged(f, x, e);
	}
	free(raw);
	if (rc == 0)
		rc = mpix_read_objects(f, s, e);
	if (rc == 0)
		rc = mpix_read_stacks(f, s, e);
	if (rc < 0)
		forget_sigs(s);
	else
		f->cache->sig_bytes += s->first[f->shape.group_ranks] * sizeof(*s->sigs);
	return rc;
}

/* ---- one part ---- */

struct decoding {
	struct mpix_file *f;
	struct mpix_part_data *part;
	struct error *e;
	uint32_t first_lane, end_lane;
	struct run_head {
		uint64_t begin_tick;
		struct cursor numbers;
		uint32_t nnumbers;
	} * heads;
	size_t cap_heads;
	/* of the lane at hand */
	const struct mpix_knots *clock;
	uint32_t first_sig, nsigs, knot;
};

static int enter_lane(struct decoding *d, uint32_t lane)
{
	uint32_t row = d->f->lanes.rank[lane] - d->part->entry->group * d->f->shape.group_ranks;
	const uint32_t *first = d->part->sigs->first + row;
	d->first_sig = first[0];
	d->nsigs = first[1] - first[0];
	d->knot = 0;
	return mpix_clock_get(d->f, lane, &d->clock, d->e);
}

/* The lane of the next entry of a list; *next: the least that it may be. */
static int get_lane(const struct decoding *d, struct cursor *c, uint32_t *next, uint32_t *ret_lane)
{
	uint64_t skip;
	if (rd_varint(c, &skip) < 0 || skip >= d->end_lane - *next)
		return -EBADMSG;
	*ret_lane = *next + (uint32_t)skip;
	*next = *ret_lane + 1;
	return 0;
}

static int skip_numbers(struct cursor *c, struct run_head *h)
{
	uint64_t skipped;
	if (mpix_rd_u32(c, &h->nnumbers) < 0 || h->nnumbers > cursor_left(c))
		return -EBADMSG;
	h->numbers = *c;
	for (uint64_t i = 0; i < 3ull * h->nnumbers; i++)
		if (rd_varint(c, &skipped) < 0)
			return -EBADMSG;
	return 0;
}

static int get_heads(struct decoding *d, struct cursor *c)
{
	struct mpix_part_data *part = d->part;
	uint32_t n, next = d->first_lane;
	if (mpix_rd_u32(c, &n) < 0 || n > d->end_lane - d->first_lane)
		return -EBADMSG;
	if (vec_grow(&part->runs, &part->cap_runs, n, sizeof(*part->runs)) < 0 ||
	    vec_grow(&d->heads, &d->cap_heads, n, sizeof(*d->heads)) < 0)
		return -ENOMEM;
	for (; part->nruns < n; part->nruns++) {
		struct mpix_part_run *run = &part->runs[part->nruns];
		struct run_head *h = &d->heads[part->nruns];
		if (get_lane(d, c, &next, &run->lane) < 0 || mpix_rd_u32(c, &run->n) < 0 ||
		    rd_varint(c, &h->begin_tick) < 0 || skip_numbers(c, h) < 0 || run->n < 1 ||
		    run->n > MPIX_CHUNK_RECORDS_MAX - part->nevents || h->begin_tick >= MPIX_TICKS_MAX)
			return -EBADMSG;
		run->first = part->nevents;
		part->nevents += run->n;
	}
	return 0;
}

static int put_words(struct mpix_part_data *part, const uint64_t *words, uint64_t n, uint32_t *ret_extra)
{
	if (n > EXTRA_WORDS_MAX)
		return -EBADMSG;
	if (vec_grow(&part->extras, &part->cap_extras, (size_t)part->nextras + n + 1, sizeof(*part->extras)) < 0)
		return -ENOMEM;
	part->extras[part->nextras] = n;
	*ret_extra = part->nextras + 1;
	for (uint64_t i = 0; i < n; i++)
		part->extras[part->nextras + 1 + i] = words[i];
	part->nextras += (uint32_t)n + 1;
	return 0;
}

static int set_event(struct decoding *d, struct mpix_part_event *to, uint32_t sig, uint64_t enter, uint64_t leave)
{
	if (sig >= d->nsigs || enter > leave || leave >= MPIX_TICKS_MAX)
		return -EBADMSG;
	*to = (struct mpix_part_event){
		.start_ns = mpix_ns(d->clock->knots, d->clock->n, enter, &d->knot),
		.end_ns = mpix_ns(d->clock->knots, d->clock->n, leave, &d->knot),
		.number = MPIX_NO_NUMBER,
		.sig = d->first_sig + sig,
	};
	return 0;
}

static int get_carried(struct decoding *d, struct cursor *c, uint32_t *next)
{
	struct mpix_part_data *part = d->part;
	uint64_t back, enter, duration, number, nwords, words[EXTRA_WORDS_MAX];
	struct mpix_position at;
	uint32_t sig;
	if (get_lane(d, c, next, &at.lane) < 0 || rd_varint(c, &back) < 0 || mpix_rd_u32(c, &at.index) < 0 ||
	    mpix_rd_u32(c, &sig) < 0 || rd_varint(c, &enter) < 0 || rd_varint(c, &duration) < 0 ||
	    rd_varint(c, &number) < 0 || rd_varint(c, &nwords) < 0 || back < 1 || back > part->entry->seq ||
	    nwords > EXTRA_WORDS_MAX || enter >= MPIX_TICKS_MAX || duration >= MPIX_TICKS_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < nwords; i++)
		if (rd_varint(c, &words[i]) < 0)
			return -EBADMSG;
	at.window = part->entry->seq - (uint32_t)back;
	struct mpix_part_carried *to = &part->carried[part->ncarried];
	to->at = at;
	int rc = enter_lane(d, at.lane);
	if (rc == 0)
		rc = set_event(d, &to->event, sig, enter, enter + duration);
	to->event.number = number - 1;
	if (rc == 0 && nwords > 0)
		rc = put_words(part, words, nwords, &to->event.extra);
	part->ncarried += rc == 0;
	return rc;
}

static int get_all_carried(struct decoding *d, struct cursor *c)
{
	uint32_t n, next = d->first_lane;
	int rc = 0;
	if (mpix_rd_u32(c, &n) < 0 || n > d->end_lane - d->first_lane)
		return -EBADMSG;
	if (vec_grow(&d->part->carried, &d->part->cap_carried, n, sizeof(*d->part->carried)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = get_carried(d, c, &next);
	return rc;
}

/* The numbers that begin at event index are remembered by communicator. */
struct numbering {
	struct cursor c;
	uint32_t left, index; /* of the next entry */
};

static int next_number(struct numbering *n)
{
	uint32_t skip;
	if (n->left == 0)
		return 0;
	if (mpix_rd_u32(&n->c, &skip) < 0 || __builtin_add_overflow(n->index, skip, &n->index))
		return -EBADMSG;
	return 0;
}

static int take_number(struct decoding *d, uint32_t event, uint32_t comm, uint64_t k)
{
	struct mpix_part_data *part = d->part;
	if (part->numbers_apart) {
		if (vec_grow(&part->numbers, &part->cap_numbers, part->nnumbers + 1u, sizeof(*part->numbers)) < 0)
			return -ENOMEM;
		part->numbers[part->nnumbers++] = (struct mpix_part_number){event, comm, k - 1};
		return 0;
	}
	bool known;
	struct mpix_memory_slot *slot = mpix_memory_at(&d->f->cache->memory, comm, &known);
	slot->window = (uint32_t)(k >> 32);
	slot->index = (uint32_t)k;
	return 0;
}

static int take_numbers(struct decoding *d, const struct mpix_part_run *run, struct numbering *n, uint32_t index)
{
	while (n->left > 0 && n->index == index) {
		uint64_t comm, k;
		if (rd_varint(&n->c, &comm) < 0 || rd_varint(&n->c, &k) < 0 || comm > UINT32_MAX)
			return -EBADMSG;
		int rc = take_number(d, run->first + index, (uint32_t)comm, k);
		if (rc < 0)
			return rc;
		n->left--;
		if (next_number(n) < 0)
			return -EBADMSG;
	}
	return 0;
}

/* k of the next part of a collective on comm. */
static uint64_t count_number(struct mpix_memory *m, uint32_t comm)
{
	bool known;
	struct mpix_memory_slot *slot = mpix_memory_at(m, comm, &known);
	uint64_t k = (uint64_t)slot->window << 32 | slot->index;
	if (k == 0)
		return MPIX_NO_NUMBER;
	slot->window = (uint32_t)((k + 1) >> 32);
	slot->index = (uint32_t)(k + 1);
	return k - 1;
}

static int get_run(struct decoding *d, struct mpic_events *it, const struct mpix_part_run *run,
		   const struct run_head *h)
{
	struct mpix_part_data *part = d->part;
	struct numbering numbers = {h->numbers, h->nnumbers, 0};
	struct mpix_memory *m = &d->f->cache->memory;
	bool counts = h->nnumbers > 0 && !part->numbers_apart;
	struct mpic_event ev;
	int rc = enter_lane(d, run->lane);
	/* room for every communicator that is asked for: those of the entries, and of the events */
	if (rc == 0 && counts && mpix_memory_begin(m, (size_t)h->nnumbers + run->n) < 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = next_number(&numbers);
	it->clock = h->begin_tick;
	for (uint32_t i = 0; i < run->n && rc == 0; i++) {
		struct mpix_part_event *to = &part->events[run->first + i];
		if (mpic_events_next(it, &ev) != 1)
			return -EBADMSG;
		rc = take_numbers(d, run, &numbers, i);
		if (rc == 0)
			rc = set_event(d, to, ev.sig, ev.enter_tick, ev.exit_tick);
		if (rc == 0 && ev.nextra > 0)
			rc = put_words(part, ev.extra, ev.nextra, &to->extra);
		if (rc == 0 && counts && (part->sigs->sigs[to->sig].flags & MPIX_COLLECTIVE) != 0)
			to->number = count_number(m, part->sigs->sigs[to->sig].comm);
	}
	return rc == 0 && numbers.left > 0 ? -EBADMSG : rc;
}

static int get_runs(struct decoding *d, struct cursor payload)
{
	struct mpix_part_data *part = d->part;
	struct mpic_events *it = &d->f->cache->events;
	struct cursor peek = payload;
	uint32_t count;
	if (rd_u32(&peek, &count) < 0 || count != part->nevents)
		return -EBADMSG;
	int rc = mpic_events_begin(it, payload, &count);
	if (rc == 0 && vec_grow(&part->events, &part->cap_events, count, sizeof(*part->events)) < 0)
		rc = -ENOMEM;
	for (uint32_t i = 0; i < part->nruns && rc == 0; i++)
		rc = get_run(d, it, &part->runs[i], &d->heads[i]);
	return rc == 0 && cursor_left(&it->extra) > 0 ? -EBADMSG : rc;
}

int mpix_part_decode(struct mpix_file *f, struct mpix_part_data *part, struct cursor c, struct error *e)
{
	struct decoding d = {.f = f, .part = part, .e = e};
	uint64_t rank = (uint64_t)part->entry->group * f->shape.group_ranks, end = rank + f->shape.group_ranks;
	d.first_lane = f->lanes.first[rank];
	d.end_lane = f->lanes.first[end < f->info.ranks ? end : f->info.ranks];
	int rc = get_heads(&d, &c);
	if (rc == 0)
		rc = get_all_carried(&d, &c);
	if (rc == 0)
		rc = get_runs(&d, c);
	free(d.heads);
	return rc;
}

/* ---- keeping ---- */

void mpix_part_done(struct mpix_part_data *p)
{
	free(p->events);
	free(p->runs);
	free(p->carried);
	free(p->extras);
	free(p->numbers);
}

static void part_free(struct mpix_part_data *p)
{
	if (p != NULL)
		mpix_part_done(p);
	free(p);
}

static size_t bytes_of(const struct mpix_part_data *p)
{
	return sizeof(*p) + p->cap_events * sizeof(*p->events) + p->cap_runs * sizeof(*p->runs) +
	       p->cap_carried * sizeof(*p->carried) + p->cap_extras * sizeof(*p->extras);
}

int mpix_cache_begin(struct mpix_file *f, struct error *e)
{
	if (f->cache != NULL)
		return 0;
	struct mpix_part_cache *c = f->cache = calloc(1, sizeof(*c));
	if (c == NULL)
		return fail(e, -ENOMEM, "%s: out of memory", f->path);
	const struct mpix_entry *first = mpix_find_kind(f, MPIX_EVENTS, &c->n);
	c->first = first != NULL ? (uint32_t)(first - f->entries) : 0;
	c->parts = calloc((size_t)c->n + 1, sizeof(struct mpix_part_data *));
	c->part_bytes_max = CACHE_BYTES_MAX;
	c->ngroups = (f->info.ranks - 1) / f->shape.group_ranks + 1;
	c->sigs = calloc(c->ngroups, sizeof(*c->sigs));
	f->clocks = calloc(f->info.nclocks, sizeof(*f->clocks));
	return c->parts != NULL && c->sigs != NULL && f->clocks != NULL
		       ? 0
		       : fail(e, -ENOMEM, "%s: out of memory", f->path);
}

int mpix_keep(struct mpix_file *f, size_t bytes, struct error *e)
{
	int rc = mpix_cache_begin(f, e);
	if (rc == 0)
		f->cache->part_bytes_max = bytes;
	return rc;
}

static int load(struct mpix_file *f, const struct mpix_entry *x, struct mpix_part_data **ret_part, struct error *e)
{
	struct mpix_part_cache *c = f->cache;
	struct error inner = {{0}};
	uint8_t *raw;
	struct mpix_part_data *part = c->spare != NULL ? c->spare : calloc(1, sizeof(*part));
	c->spare = part != NULL ? part->next : NULL;
	if (part == NULL || vec_grow(&c->loaded, &c->cap_loaded, c->nloaded + 1, sizeof(*c->loaded)) < 0) {
		part_free(part);
		return fail(e, -ENOMEM, "%s: out of memory", f->path);
	}
	part->entry = x;
	int rc = mpix_sigs_get(f, x->group, &part->sigs, e);
	if (rc == 0)
		rc = mpix_read_chunk(f, x, &raw, e);
	if (rc < 0) {
		part_free(part);
		return rc;
	}
	rc = mpix_part_decode(f, part, cursor_over(raw, x->raw_bytes), &inner);
	free(raw);
	if (rc < 0) {
		part_free(part);
		return mpix_decoded(f, x, rc, &inner, e);
	}
	c->part_bytes += bytes_of(part);
	c->loaded[c->nloaded++] = (uint32_t)(x - f->entries) - c->first;
	*ret_part = part;
	return 0;
}

/* Which of the entries of EVENTS that is, from 1; 0: there is none. */
static uint32_t number_of(const struct mpix_file *f, uint32_t group, uint32_t window)
{
	struct found *last = &f->cache->found[group % FOUND];
	if (last->number > 0 && last->group == group && last->window == window)
		return last->number;
	const struct mpix_entry *x = group < f->cache->ngroups ? mpix_find(f, MPIX_EVENTS, group, window) : NULL;
	if (x == NULL)
		return 0;
	*last = (struct found){group, window, (uint32_t)(x - f->entries) - f->cache->first + 1};
	return last->number;
}

int mpix_part_get(struct mpix_file *f, uint32_t group, uint32_t window, const struct mpix_part_data **ret_part,
		  struct error *e)
{
	uint32_t number = number_of(f, group, window);
	*ret_part = NULL;
	if (number == 0)
		return 0;
	struct mpix_part_data **slot = &f->cache->parts[number - 1];
	int rc = *slot == NULL ? load(f, &f->entries[f->cache->first + number - 1], slot, e) : 0;
	if (rc < 0)
		return rc;
	(*slot)->used = ++f->cache->now;
	*ret_part = *slot;
	return 0;
}

static void make_spare(struct mpix_part_cache *c, struct mpix_part_data *p)
{
	c->part_bytes -= bytes_of(p);
	p->nevents = p->nruns = p->ncarried = p->nextras = p->nnumbers = 0;
	p->next = c->spare;
	c->spare = p;
}

/* Parts that were not asked for since the `used`-th question. */
static void forget_parts(struct mpix_part_cache *c, uint64_t used)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->nloaded; i++) {
		struct mpix_part_data **slot = &c->parts[c->loaded[i]];
		if ((*slot)->used > used) {
			c->loaded[kept++] = c->loaded[i];
			continue;
		}
		make_spare(c, *slot);
		*slot = NULL;
	}
	c->nloaded = kept;
}

static uint64_t oldest_use(const struct mpix_part_cache *c)
{
	uint64_t oldest = c->now;
	for (size_t i = 0; i < c->nloaded; i++)
		if (c->parts[c->loaded[i]]->used < oldest)
			oldest = c->parts[c->loaded[i]]->used;
	return oldest;
}

void mpix_cache_trim(struct mpix_file *f)
{
	struct mpix_part_cache *c = f->cache;
	while (c->nloaded > 0 && c->part_bytes > c->part_bytes_max) {
		uint64_t oldest = oldest_use(c);
		forget_parts(c, oldest + (c->now - oldest) / 2);
	}
	if (c->sig_bytes <= CACHE_BYTES_MAX)
		return;
	forget_parts(c, c->now); /* they point there */
	for (uint32_t g = 0; g < c->ngroups; g++)
		forget_sigs(&c->sigs[g]);
	c->sig_bytes = 0;
}

void mpix_scratch_done(struct mpix_file *f)
{
	mpic_events_done(&f->cache->events);
	mpix_memory_done(&f->cache->memory);
	f->cache->events = (struct mpic_events){0};
}

void mpix_cache_done(struct mpix_file *f)
{
	struct mpix_part_cache *c = f->cache;
	for (uint32_t i = 0; f->clocks != NULL && i < f->info.nclocks; i++)
		free(f->clocks[i].knots);
	free(f->clocks);
	if (c == NULL)
		return;
	if (c->parts != NULL)
		forget_parts(c, c->now);
	for (uint32_t g = 0; c->sigs != NULL && g < c->ngroups; g++)
		forget_sigs(&c->sigs[g]);
	for (struct mpix_part_data *p; (p = c->spare) != NULL; part_free(p))
		c->spare = p->next;
	free(c->parts);
	free(c->loaded);
	free(c->sigs);
	mpix_scratch_done(f);
	free(c);
}

static const struct mpix_part_run *mpix_run_of(const struct mpix_part_data *part, uint32_t lane)
{
	size_t first = part->nruns > 0 ? lane - part->runs[0].lane : 0; /* mostly all lanes of a group have a run */
	if (first >= part->nruns || part->runs[first].lane != lane)
		first = search_first(0, part->nruns, i, part->runs[i].lane < lane);
	return first < part->nruns && part->runs[first].lane == lane ? &part->runs[first] : NULL;
}

int mpix_event_at(struct mpix_file *f, const struct mpix_position *at, const struct mpix_part_event **ret_event,
		  const struct mpix_part_data **ret_part, struct error *e)
{
	*ret_event = NULL;
	if (at->lane >= f->lanes.n)
		return 0;
	int rc = mpix_part_get(f, f->lanes.rank[at->lane] / f->shape.group_ranks, at->window, ret_part, e);
	const struct mpix_part_run *run = rc == 0 && *ret_part != NULL ? mpix_run_of(*ret_part, at->lane) : NULL;
	if (run != NULL && at->index < run->n)
		*ret_event = &(*ret_part)->events[run->first + at->index];
	return rc;
}
