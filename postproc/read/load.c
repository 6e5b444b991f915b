/* load.c - find and open the .mpic files of one step, check that they belong together, read them
 * all. */
#include "postproc/read/load.h"
#include "format/mpic_sample.h"
#include "base/units.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/json.h"
#include "base/utf8.h"
#include "postproc/read/meta.h"

#include <dirent.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

struct paths {
	VEC(char *) list;
	bool named; /* one of them by the caller: the others are what lies in directories */
};

static void paths_done(struct paths *p)
{
	for (size_t i = 0; i < p->list.n; i++)
		free(p->list.at[i]);
	vec_done(&p->list);
}

static int add_path(struct paths *p, char *path)
{
	if (path != NULL && vec_push(&p->list, path) == 0)
		return 0;
	free(path);
	return -ENOMEM;
}

static bool is_mpic(const struct dirent *d)
{
	size_t n = strlen(d->d_name);
	return n > 5 && d->d_name[0] != '.' && strcmp(d->d_name + n - 5, ".mpic") == 0;
}

static int add_directory(struct paths *p, const char *path, struct error *e)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	size_t before = p->list.n;
	int code = 0;
	if (dir == NULL)
		return fail(e, -errno, "%s: cannot open directory: %s", path, strerror(errno));
	while (code == 0 && (d = readdir(dir)) != NULL) {
		char *full = NULL;
		if (is_mpic(d))
			code = asprintf(&full, "%s/%s", path, d->d_name) < 0 ? -ENOMEM : add_path(p, full);
	}
	closedir(dir);
	if (code == 0 && p->list.n == before)
		return fail(e, -ENOENT,
			    "%s: no .mpic file in this directory; was the program an MPI program, "
			    "and is this "
			    "the directory of a step (mpitrace-<job>/step-<step>)?",
			    path);
	return code;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int find_files(char *const *paths, size_t n, struct paths *ret_paths, struct error *e)
{
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		if (stat(paths[i], &st) < 0)
			return fail(e, -errno, "%s: %s", paths[i], strerror(errno));
		ret_paths->named |= !S_ISDIR(st.st_mode);
		int code = S_ISDIR(st.st_mode) ? add_directory(ret_paths, paths[i], e)
					       : add_path(ret_paths, strdup(paths[i]));
		if (code < 0)
			return code;
	}
	vec_sort(&ret_paths->list, by_name);
	return 0;
}

/* What the node METAs of the file say together, the newest first, or NULL. */
static cJSON *read_node_meta(struct budget *kept, const struct mpic_file *f)
{
	_cleanup_buf_ struct buf text = {0};
	cJSON *known = NULL;
	for (size_t i = 0; i < f->nblocks; i++) {
		const struct mpic_block *b = &f->blocks[i];
		if (b->process != MPIC_NODE || b->kind != MPIC_META || mpic_read(f, b, &text, NULL) < 0)
			continue;
		/* Blocks are sorted by seq: later ones supersede. */
		meta_supersede(&known, meta_parse(kept, &text));
	}
	return known;
}

static int read_clock(struct node *n)
{
	_cleanup_buf_ struct buf bytes = {0};
	for (size_t i = 0; i < n->file.nblocks; i++) {
		const struct mpic_block *b = &n->file.blocks[i];
		if (b->kind != MPIC_CLOCK || mpic_read(&n->file, b, &bytes, NULL) < 0)
			continue;
		struct cursor c = cursor_over(bytes.data, bytes.len_bytes);
		struct mpic_clock sample;
		while (mpic_next_clock(&c, &sample) == 1)
			if (vec_push(&n->clock, sample) < 0)
				return -ENOMEM;
	}
	return 0;
}

/* The moment of a sample is a reading of the clock too: where a file was cut behind the first of the others, only these
 * tell the rate. */
static int read_clock_of_samples(struct node *n)
{
	_cleanup_buf_ struct buf bytes = {0};
	for (size_t i = 0; i < n->file.nblocks; i++) {
		const struct mpic_block *b = &n->file.blocks[i];
		struct mpic_sample head;
		struct mpic_sample_reader r;
		if (b->kind != MPIC_SAMPLE || b->process != MPIC_NODE || mpic_read(&n->file, b, &bytes, NULL) < 0 ||
		    mpic_sample_begin(cursor_over(bytes.data, bytes.len_bytes), &head, &r) < 0)
			continue;
		struct mpic_clock reading = {head.tick, head.monotonic_ns, head.realtime_ns};
		if (vec_push(&n->clock, reading) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What was known of it, and what has come since; else all of it. */
static int open_file(const struct step_how *how, const char *path, struct mpic_file *ret_file, struct error *e)
{
	for (size_t i = 0; how->before != NULL && i < how->before->nodes.n; i++) {
		struct mpic_file *f = &how->before->nodes.at[i].file;
		if (f->path == NULL || strcmp(f->path, path) != 0)
			continue;
		if (mpic_update(f, e) < 0)
			break;
		*ret_file = *f;
		*f = (struct mpic_file){.fd = -1};
		return 0;
	}
	return how->totals ? mpic_open_totals(path, ret_file, e) : mpic_open(path, ret_file, e);
}

/* What is in a directory nobody has named: one of which nothing can be read is left out, with its reason. */
static int open_node(struct step *s, const struct step_how *how, bool named, const char *path, struct error *e)
{
	struct node n = {0};
	struct error why;
	int code = open_file(how, path, &n.file, &why);
	if (code < 0 && code != -ENOMEM && (how->pass_over_files || !named)) {
		if (s->files_left_out++ < LEFT_OUT_NAMED_MAX)
			step_reason(s, "%s", why.text);
		return 0;
	}
	if (code < 0)
		return fail(e, code, "%s", why.text);
	s->kept.max_bytes += (s->nodes.n == 0 ? budget_for(0).max_bytes : 0) + BUDGET_SHARE * n.file.len_bytes;
	n.meta = read_node_meta(&s->kept, &n.file);
	const char *name = json_text(n.meta, "node", path_name(path));
	const cJSON *clock = cJSON_GetObjectItemCaseSensitive(n.meta, "clock");
	n.name = utf8_clean(name, strlen(name));
	n.id = (uint32_t)json_int(n.meta, "nodeid", (int64_t)s->nodes.n);
	n.hz = json_number_or(clock, "hz", 0);
	n.hz = n.hz < 1e6 || n.hz > 1e11 ? 0 : n.hz;
	n.monotonic = strcmp(json_text(clock, "source", ""), "monotonic") == 0;
	code = n.name == NULL ? -ENOMEM : read_clock(&n);
	if (code == 0 && !node_rate_is_known(&n))
		code = read_clock_of_samples(&n);
	if (code < 0 || vec_push(&s->nodes, n) < 0)
		return fail(e, -ENOMEM, "%s: out of memory", path);
	s->damaged_bytes += n.file.damaged_bytes;
	s->unfinished_files += !n.file.finished;
	return 0;
}

/* One process to read: a run of blocks of one file. */
struct task {
	uint32_t node;
	size_t first, n;
	struct process *process;
};

struct work {
	struct step *step;
	VEC(struct task) tasks;
	atomic_size_t next;
	atomic_int code;
};

static int list_tasks(struct step *s, struct work *w)
{
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		const struct mpic_file *f = &s->nodes.at[i].file;
		for (size_t b = 0, n; b < f->nblocks; b += n) {
			for (n = 1; b + n < f->nblocks && f->blocks[b + n].process == f->blocks[b].process;)
				n++;
			if (f->blocks[b].process == MPIC_NODE)
				continue;
			struct process *p = calloc(1, sizeof(*p));
			if (p == NULL || vec_push(&s->processes, p) < 0) {
				free(p);
				return -ENOMEM;
			}
			p->node = i;
			p->index = f->blocks[b].process;
			if (vec_push(&w->tasks, (struct task){i, b, n, p}) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static void *worker(void *context)
{
	struct work *w = context;
	size_t i;
	while ((i = atomic_fetch_add(&w->next, 1)) < w->tasks.n && atomic_load(&w->code) == 0) {
		const struct task *t = &w->tasks.at[i];
		const struct mpic_file *f = &w->step->nodes.at[t->node].file;
		int code = process_load(t->process, &w->step->kept, f, f->blocks + t->first, t->n, NULL);
		if (code < 0)
			atomic_store(&w->code, code);
	}
	return NULL;
}

#define THREADS_MAX 64

static int read_processes(struct step *s, unsigned nthreads, struct error *e)
{
	struct work w = {.step = s};
	pthread_t threads[THREADS_MAX];
	unsigned started = 0;
	int code = list_tasks(s, &w);
	if (code == 0) {
		for (; started + 1 < nthreads && started < THREADS_MAX; started++)
			if (pthread_create(&threads[started], NULL, worker, &w) != 0)
				break;
		worker(&w);
		while (started > 0)
			pthread_join(threads[--started], NULL);
		code = atomic_load(&w.code);
	}
	vec_done(&w.tasks);
	return code < 0 ? fail(e, code, "cannot read the step's processes: %s", strerror(-code)) : 0;
}

int step_load(char *const *paths, size_t npaths, unsigned nthreads, struct step *ret_step, struct error *e)
{
	return step_load_with(paths, npaths, &(struct step_how){.nthreads = nthreads}, ret_step, e);
}

int step_load_with(char *const *paths, size_t npaths, const struct step_how *how, struct step *ret_step,
		   struct error *e)
{
	struct step s = {.totals = how->totals};
	struct paths files = {0};
	struct progress p;
	int code = find_files(paths, npaths, &files, e);
	progress_begin(&p, "opening", files.list.n);
	for (size_t i = 0; i < files.list.n && code == 0; i++) {
		code = open_node(&s, how, files.named, files.list.at[i], e);
		progress_at(&p, i);
	}
	progress_end(&p);
	if (code == 0 && s.nodes.n == 0)
		code = fail(e, -EBADMSG, "%s", s.reasons.n > 0 ? s.reasons.at[0] : "no file of a step");
	if (code == 0)
		code = step_belong(&s, files.named, e);
	if (s.files_left_out > LEFT_OUT_NAMED_MAX)
		step_reason(&s, "left out like these: %s",
			    fmt_many(s.files_left_out - LEFT_OUT_NAMED_MAX, "more file").s);
	if (code == 0)
		code = read_processes(&s, how->nthreads, e);
	if (code == 0)
		code = how->loaded != NULL ? how->loaded(how->context, &s) : how->totals ? 0 : open_by_samples(&s);
	if (code == -ENOMEM)
		fail(e, code, "out of memory for the step's samples");
	if (code == 0)
		code = step_place_ranks(&s, e);
	if (code == 0)
		code = step_join(&s, e);
	if (code == 0 && s.kept.refused > 0)
		step_reason(&s, "left out, as no file of this size has so many threads, definitions or members: %s",
			    fmt_many((double)s.kept.refused, "claim").s);
	paths_done(&files);
	if (code < 0)
		step_done(&s);
	else
		*ret_step = s;
	return code;
}
