/* traced.c - see traced.h. Drained as the agent does it, when the program has ended. */
#include "traced.h"

#include "base/vec.h"
#include "collect/process.h"
#include "tests/threads/bound.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGS_MAX 0x10000u

static char dir[] = "/tmp/mpitrace-traced-XXXXXX";
static const struct wrapper *table;

void *traced_wrapper(const char *name)
{
	for (const struct wrapper *w = table; w->name != NULL; w++)
		if (strcmp(w->name, name) == 0)
			return w->function;
	cr_assert(false, "no wrapper of %s", name);
	return NULL;
}

static void begin(const char *directory, int thread_level)
{
	int provided;
	setenv("MPITRACE_DIR", directory, 1);
	table = bound();
	CALL(MPI_Init_thread, NULL, NULL, thread_level, &provided);
}

void traced_begin(int thread_level)
{
	cr_assert_not_null(mkdtemp(dir));
	begin(dir, thread_level);
}

void traced_begin_in(const char *directory)
{
	begin(directory, MPI_THREAD_SINGLE);
}

/* ---- what was recorded ---- */

static struct traced trace;
static size_t calls_cap;
static struct sig_call *sigs; /* of the thread that is read */
static char *names[0x10000];  /* of operations */

static void read_sigs(struct mpic_def d)
{
	cr_assert_lt(d.id, SIGS_MAX);
	cr_assert_eq(sig_decode(d.words, d.nwords, &sigs[d.id]), 0);
}

static void read_defs(const struct mpic_file *f, const struct mpic_block *b)
{
	static VEC(struct buf) payloads; /* definitions point into them */
	struct buf payload = {0};
	struct mpic_def d;
	cr_assert_geq(mpic_read(f, b, &payload, NULL), 0);
	cr_assert_eq(vec_push(&payloads, payload), 0);
	struct cursor c = cursor_over(payload.data, payload.len_bytes);
	while (mpic_next_def(&c, &d) == 1)
		if (d.type == MPIC_DEF_SIG) {
			read_sigs(d);
		} else if (d.type == MPIC_DEF_OP) {
			if (names[d.id] == NULL) /* each thread defines what it calls */
				names[d.id] = strndup((const char *)d.name.data, d.name.len_bytes);
		} else {
			trace.defs = realloc(trace.defs, (trace.ndefs + 1) * sizeof(d));
			trace.defs[trace.ndefs++] = d;
		}
}

static void add_call(const struct mpic_event *ev, uint32_t thread)
{
	uint64_t *extra = calloc((size_t)ev->nextra + 1, sizeof(*extra));
	for (unsigned i = 0; i < ev->nextra; i++)
		extra[i] = ev->extra[i];
	struct traced_call c = {NULL,	sigs[ev->sig],	extra,	      ev->nextra, sigs[ev->sig].literal_follows,
				thread, ev->enter_tick, ev->exit_tick};
	if (c.literal && ev->nextra > 0) {
		cr_assert_eq(sig_decode(extra, ev->nextra, &c.sig), 0);
		c.extra += c.sig.nwords;
		c.nextra -= c.sig.nwords;
	}
	c.op = names[c.sig.op];
	if (trace.ncalls == calls_cap) {
		calls_cap = 2 * calls_cap + 64;
		trace.calls = realloc(trace.calls, calls_cap * sizeof(c));
	}
	trace.calls[trace.ncalls++] = c;
}

static void read_events(const struct mpic_file *f, const struct mpic_block *b)
{
	struct mpic_events it = {0};
	struct buf payload = {0};
	struct mpic_event ev;
	uint32_t n;
	cr_assert_geq(mpic_read(f, b, &payload, NULL), 0);
	cr_assert_eq(mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &n), 0);
	while (mpic_events_next(&it, &ev) == 1)
		add_call(&ev, b->thread);
	mpic_events_done(&it);
	buf_done(&payload);
}

static void read_file(const char *path)
{
	struct mpic_file f;
	struct error e = {0};
	cr_assert_eq(mpic_open(path, &f, &e), 0, "%s", e.text);
	sigs = calloc(SIGS_MAX, sizeof(*sigs));
	for (uint32_t thread = 0, found = 1; found != 0; thread++) {
		found = 0;
		for (size_t i = 0; i < f.nblocks; i++)
			if (f.blocks[i].kind == MPIC_DEFS && f.blocks[i].thread == thread)
				read_defs(&f, &f.blocks[i]);
		for (size_t i = 0; i < f.nblocks; i++)
			if (f.blocks[i].kind == MPIC_EVENTS && f.blocks[i].thread == thread) {
				read_events(&f, &f.blocks[i]);
				found = 1;
			}
	}
	mpic_close(&f);
}

static void find_segments(char *ret_path, size_t cap)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	ret_path[0] = '\0';
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strstr(entry->d_name, SEGFILE_SUFFIX) != NULL && strstr(entry->d_name, SPILL_SUFFIX) == NULL)
			snprintf(ret_path, cap, "%s/%s", dir, entry->d_name);
	closedir(d);
	cr_assert(ret_path[0] != '\0', "nothing was recorded");
}

const struct traced *traced_end(void)
{
	static struct process p;
	struct output o = {.name = "n1", .fd = -1, .wanted_dir = dir, .fallback_dir = dir};
	char path[512], command[64];
	CALL(MPI_Finalize);
	find_segments(path, sizeof(path));
	cr_assert_eq(process_open(&p, path, 0, NULL), 0);
	cr_assert_eq(output_open(&o, NULL), 0);
	trace.spilled = p.file->spilled;
	trace.file = p.file;
	process_drain(&p, &o, true);
	process_profile(&p, &o);
	for (uint32_t i = 0; i < p.nthreads; i++)
		if (p.threads[i].area != NULL) {
			if (i < sizeof(trace.areas) / sizeof(trace.areas[0]))
				trace.areas[i] = p.threads[i].area;
			trace.lost += p.threads[i].area->lost;
			trace.missing += p.threads[i].area->defs_missing;
			trace.counted += p.threads[i].calls;
		}
	output_close(&o);
	read_file(o.path);
	free(o.path);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
	return &trace;
}

unsigned traced_count(const struct traced *t, const char *op)
{
	unsigned n = 0;
	for (size_t i = 0; i < t->ncalls; i++)
		n += t->calls[i].op != NULL && strcmp(t->calls[i].op, op) == 0;
	return n;
}

const struct traced_call *traced_call(const struct traced *t, const char *op, unsigned n)
{
	for (size_t i = 0; i < t->ncalls; i++)
		if (t->calls[i].op != NULL && strcmp(t->calls[i].op, op) == 0 && n-- == 0)
			return &t->calls[i];
	cr_assert(false, "no such call of %s", op);
	return NULL;
}

struct sig_run traced_run(const struct traced_call *c, unsigned n)
{
	struct sig_run run = {0};
	uint32_t at = 0;
	cr_assert_lt(n, c->sig.nruns, "%s names %u runs", c->op, c->sig.nruns);
	for (unsigned i = 0; i <= n; i++)
		cr_assert_eq(sig_next_run(&c->sig, &at, &run), 1);
	return run;
}

struct sig_status traced_status(const struct traced_call *c, unsigned n)
{
	struct sig_status status = {0};
	cr_assert_lt(n, c->sig.nlist, "%s has %u statuses", c->op, c->sig.nlist);
	sig_status_at(&c->sig, n, &status);
	return status;
}

const struct mpic_def *traced_def(const struct traced *t, enum mpic_def_type type, unsigned n)
{
	for (size_t i = 0; i < t->ndefs; i++)
		if (t->defs[i].type == type && n-- == 0)
			return &t->defs[i];
	cr_assert(false, "no such definition of kind %d", type);
	return NULL;
}

const struct mpic_def *traced_comm(const struct traced *t, uint32_t id)
{
	for (size_t i = 0; i < t->ndefs; i++)
		if (t->defs[i].type == MPIC_DEF_COMM && t->defs[i].id == id)
			return &t->defs[i];
	cr_assert(false, "no communicator %u", id);
	return NULL;
}
