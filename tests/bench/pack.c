/* pack.c FILE.mpic FILE.mpix - what an .mpix takes, beside the .mpic that it was made from.
 *
 * Packs the events of the .mpic, in ticks, into a file beside FILE.mpix (removed afterwards) and reads them back: ns
 * of one core an event. Then the bytes an event of every kind of chunk: of that file for EVENTS, of FILE.mpix (which
 * the analysis wrote) for all. */
#include "format/mpic.h"
#include "format/mpix_layout.h"

#include "base/vec.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct lane {
	uint32_t process, nsigs;
	VEC(uint64_t) enter, leave;
	VEC(uint32_t) sig;
	size_t at;
};

struct bench {
	VEC(struct lane) lanes;
	uint64_t events, event_bytes, mpic_bytes;
	double pack_s, unpack_s;
	uint64_t base, last;
};

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "pack: %s\n", what);
	exit(1);
}

/* ---- the .mpic ---- */

static void keep_events(struct lane *l, struct cursor payload)
{
	static struct mpic_events it;
	struct mpic_event ev;
	uint32_t n;
	if (mpic_events_begin(&it, payload, &n) < 0)
		give_up("damaged events");
	while (mpic_events_next(&it, &ev) == 1) {
		if (vec_push(&l->enter, ev.enter_tick) < 0 || vec_push(&l->leave, ev.exit_tick) < 0 ||
		    vec_push(&l->sig, ev.sig) < 0)
			give_up("out of memory");
		l->nsigs = ev.sig >= l->nsigs ? ev.sig + 1 : l->nsigs;
	}
}

static void load(struct bench *b, const char *path)
{
	struct mpic_file f;
	struct error e;
	struct buf payload = {0};
	if (mpic_open(path, &f, &e) < 0)
		give_up(e.text);
	b->mpic_bytes = f.len_bytes;
	for (size_t i = 0; i < f.nblocks; i++) {
		const struct mpic_block *x = &f.blocks[i];
		if (x->kind != MPIC_EVENTS || x->thread != 0 || mpic_read(&f, x, &payload, NULL) < 0)
			continue;
		if ((b->lanes.n == 0 || b->lanes.at[b->lanes.n - 1].process != x->process) &&
		    vec_push(&b->lanes, (struct lane){.process = x->process}) < 0)
			give_up("out of memory");
		keep_events(&b->lanes.at[b->lanes.n - 1], cursor_over(payload.data, payload.len_bytes));
	}
	buf_done(&payload);
	mpic_close(&f);
	b->base = UINT64_MAX;
	for (size_t i = 0; i < b->lanes.n; i++) {
		struct lane *l = &b->lanes.at[i];
		b->base = l->enter.at[0] < b->base ? l->enter.at[0] : b->base;
		b->last = l->leave.at[l->leave.n - 1] > b->last ? l->leave.at[l->leave.n - 1] : b->last;
		b->events += l->enter.n;
	}
	if (b->events == 0)
		give_up("no events");
}

/* ---- packing ---- */

/* Events of all lanes up to tick end. */
static struct mpix_part part_of(struct bench *b, struct mpix_run *runs, uint32_t window, uint64_t begin, uint64_t end)
{
	struct mpix_part part = {.window = window,
				 .start_ns = (int64_t)(begin - b->base),
				 .end_ns = (int64_t)(end - b->base),
				 .runs = runs};
	for (uint32_t i = 0; i < b->lanes.n; i++) {
		struct lane *l = &b->lanes.at[i];
		size_t first = l->at;
		while (l->at < l->enter.n && l->enter.at[l->at] < end)
			l->at++;
		if (l->at == first)
			continue;
		runs[part.nruns++] =
			(struct mpix_run){.lane = i,
					  .n = (uint32_t)(l->at - first),
					  .begin_tick = first > 0 ? l->leave.at[first - 1] : l->enter.at[0],
					  .enter = l->enter.at + first,
					  .leave = l->leave.at + first,
					  .sig = l->sig.at + first};
	}
	return part;
}

static void pack(struct bench *b, const char *path)
{
	static const char *const ops[] = {"MPI"};
	struct mpix_clock_knot knot = {b->base, 0, 1};
	struct mpix_clock clock = {b->base, &knot, 1};
	struct mpix_info info = {.ranks = (uint32_t)b->lanes.n,
				 .runtime_ns = (int64_t)(b->last - b->base),
				 .ops = ops,
				 .nops = 1,
				 .clocks = &clock,
				 .nclocks = 1,
				 .events_expected = b->events};
	struct mpix_writer *w;
	struct error e;
	struct mpix_scratch *scratch = mpix_scratch_new();
	struct mpix_packed *packed = mpix_packed_new();
	struct mpix_run *runs = calloc(b->lanes.n, sizeof(*runs));
	uint32_t windows = (uint32_t)(b->events / MPIX_CHUNK_RECORDS) + 1;
	int rc = b->lanes.n > MPIX_GROUP_RANKS ? -EINVAL : mpix_writer_create(path, &info, &w, &e);
	if (rc < 0)
		give_up("more ranks than a group has, or the file cannot be written");
	for (uint32_t i = 0; i < b->lanes.n; i++) {
		struct mpix_signature *sigs = calloc(b->lanes.at[i].nsigs, sizeof(*sigs));
		for (uint32_t k = 0; k < b->lanes.at[i].nsigs; k++)
			sigs[k] = (struct mpix_signature){.peer = -1, .class = (uint8_t)(1 + k % 7)};
		if (mpix_writer_signatures(w, i, sigs, b->lanes.at[i].nsigs, &e) < 0)
			give_up(e.text);
		free(sigs);
	}
	uint64_t width = (b->last - b->base) / windows + 1;
	for (uint32_t i = 0; i < windows; i++) {
		struct mpix_part part = part_of(b, runs, i, b->base + i * width, b->base + (i + 1) * width);
		double before = now_s();
		rc = mpix_pack(w, &part, scratch, packed, &e);
		b->pack_s += now_s() - before;
		if (rc < 0 || mpix_writer_put(w, packed, &e) < 0)
			give_up(e.text);
	}
	if (mpix_writer_finish(w, "{}", &e) < 0)
		give_up(e.text);
	free(runs);
	mpix_scratch_free(scratch);
	mpix_packed_free(packed);
}

static int count_event(void *context, const struct mpix_event *x)
{
	*(uint64_t *)context += x->end_ns >= x->start_ns;
	return 0;
}

static void unpack(struct bench *b, const char *path)
{
	struct mpix_file *f;
	struct error e;
	uint64_t n = 0;
	double before = now_s();
	if (mpix_open(path, &f, &e) < 0)
		give_up(e.text);
	for (uint32_t r = 0; r < b->lanes.n; r++)
		if (mpix_each_event(f, r, INT64_MIN, INT64_MAX, count_event, &n, &e) < 0)
			give_up(e.text);
	mpix_close(f);
	b->unpack_s = now_s() - before;
	if (n != b->events)
		give_up("events are missing");
}

/* ---- bytes ---- */

static void sum_kinds(const char *path, uint64_t bytes[256], uint64_t records[256])
{
	struct mpix_super s;
	struct mpix_entry x;
	struct error e;
	FILE *in = fopen(path, "rb");
	static uint8_t super[MPIX_SUPERBLOCK_BYTES], entry[MPIX_ENTRY_BYTES];
	if (in == NULL || fread(super, 1, sizeof(super), in) != sizeof(super) || fseeko(in, 0, SEEK_END) != 0 ||
	    mpix_get_super(cursor_over(super, sizeof(super)), (uint64_t)ftello(in), &s, &e) < 0 ||
	    fseeko(in, (off_t)s.index_offset, SEEK_SET) != 0)
		give_up("cannot read the .mpix");
	for (uint32_t i = 0; i < s.entries && fread(entry, 1, sizeof(entry), in) == sizeof(entry); i++) {
		struct cursor c = cursor_over(entry, sizeof(entry));
		mpix_get_entry(&c, &x);
		bytes[x.kind] += x.packed_bytes;
		records[x.kind] += x.records;
		bytes[0] += MPIX_ENTRY_BYTES; /* the index */
	}
	fclose(in);
}

int main(int argc, char **argv)
{
	static const char *const names[MPIX_KINDS] = {"index", "meta", "analysis",   "summary", "events", "messages",
						      "top",   "flow", "signatures", "clock",	"waits"};
	struct bench b = {0};
	char path[4096];
	uint64_t ticks[256] = {0}, bytes[256] = {0}, records[256] = {0}, ignored[256], all = 0;
	if (argc != 3)
		give_up("give FILE.mpic FILE.mpix");
	snprintf(path, sizeof(path), "%s.ticks", argv[2]);
	load(&b, argv[1]);
	pack(&b, path);
	unpack(&b, path);
	sum_kinds(path, ticks, ignored);
	sum_kinds(argv[2], bytes, records);
	unlink(path);
	double n = (double)b.events;
	printf("%llu events: pack %.1f ns, unpack %.1f ns an event\n", (unsigned long long)b.events, b.pack_s / n * 1e9,
	       b.unpack_s / n * 1e9);
	printf(".mpic %.3f bytes an event; .mpix events in ticks %.3f\n", (double)b.mpic_bytes / n,
	       (double)ticks[MPIX_EVENTS] / n);
	for (int k = 0; k < MPIX_KINDS; k++) {
		printf("  %-10s %8.4f bytes an event", names[k], (double)bytes[k] / n);
		if (records[k] > 0)
			printf(", %.3f a record", (double)bytes[k] / (double)records[k]);
		putchar('\n');
		all += k != MPIX_ANALYSIS ? bytes[k] : 0;
	}
	printf("  all without the analysis %.4f; with events in ticks %.4f\n", (double)all / n,
	       (double)(all - bytes[MPIX_EVENTS] + ticks[MPIX_EVENTS]) / n);
	return 0;
}
