/* process.c - read one process of a .mpic: its META, then thread by thread. */
#include "base/json.h"
#include "base/utf8.h"
#include "postproc/read/meta.h"
#include "postproc/read/load.h"

#include <math.h>

static void read_times(struct process *p, const cJSON *meta)
{
	p->pid = json_int(meta, "pid", 0);
	p->start_ns = json_tick(meta, "start_tick");
	p->end_ns = json_tick(meta, "end_tick");
	p->init_exit_ns = json_tick(meta, "init_exit_tick");
	p->finalize_enter_ns = json_tick(meta, "finalize_enter_tick");
}

static const char *why_lost(const char *reason)
{
	static const char *const rows[][2] = {
		{"budget", "the event budget was spent"},
		{"spool_full", "the spool was full"},
		{"spool_refused",
		 "the program could not write to the spool (another user, another root directory, or a "
		 "limit on its files)"},
		{"confined", "the program forbade itself system calls (seccomp, PR_SET_NO_NEW_PRIVS)"},
		{"output_full", "the output directory was full"},
		{"dictionary_full", "the dictionary of calls was full"},
		{"profile_mode", "only totals were asked for"},
		{"pcontrol", "the program switched events off (MPI_Pcontrol)"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(reason, rows[i][0]) == 0)
			return rows[i][1];
	return "events were not kept";
}

static char *copy_text(const cJSON *meta, const char *name)
{
	const char *text = json_text(meta, name, "");
	return utf8_clean(text, strlen(text));
}

static int read_thread_meta(struct process *p, struct budget *kept, const cJSON *meta)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(meta, "threads"), *item;
	cJSON_ArrayForEach(item, list)
	{
		int64_t i = json_int(item, "thread", -1);
		if (i < 0 || i >= MPIC_THREADS_MAX)
			continue;
		int code = budget_reach(kept, &p->threads, (size_t)i);
		if (code < 0)
			return code;
		struct thread *t = &p->threads.at[i];
		t->calls = (uint64_t)fmax(0, json_number_or(item, "calls", 0));
		t->written = (uint64_t)fmax(0, json_number_or(item, "events", 0));
		t->lost = (uint64_t)fmax(0, json_number_or(item, "lost", 0));
		t->defs_missing = (uint64_t)fmax(0, json_number_or(item, "defs_missing", 0));
		t->slow_calls = (uint64_t)fmax(0, json_number_or(item, "slow_calls", 0));
		t->slow_ticks = (uint64_t)fmax(0, json_number_or(item, "slow_ticks", 0));
		t->recording_calls = (uint64_t)fmax(0, json_number_or(item, "recording_calls", 0));
		t->recording_ticks = (uint64_t)fmax(0, json_number_or(item, "recording_ticks", 0));
		t->unused_ticks = (uint64_t)fmax(0, json_number_or(item, "unused_ticks", 0));
		t->running_ns = json_number_or(item, "running_ns", NAN);
		t->ready_ns = json_number_or(item, "ready_ns", NAN);
		t->lost_from_ns = json_tick(item, "lost_from_tick");
		t->why_lost = why_lost(json_text(item, "lost_reason", ""));
		t->totals_wanted = strcmp(json_text(item, "lost_reason", ""), "profile_mode") == 0;
	}
	return 0;
}

/* Thread 0 is the one that initialised MPI. */
static void add_processors(struct process *p)
{
	p->processor_wait_ns = p->threads.n > 0 ? p->threads.at[0].ready_ns : NAN;
	if (p->threads.n < 2)
		return;
	p->running_ns = p->ready_ns = 0;
	for (size_t i = 0; i < p->threads.n; i++) {
		p->running_ns += p->threads.at[i].running_ns;
		p->ready_ns += p->threads.at[i].ready_ns;
	}
}

static uint64_t count_of(const cJSON *meta, const char *key)
{
	double n = json_number_or(meta, key, 0);
	return n >= 1 && n < 1e18 ? (uint64_t)n : 0;
}

static int read_meta(struct process *p, struct budget *kept, const cJSON *meta)
{
	const char *state = json_text(meta, "state", "running");
	int64_t rank = json_int(meta, "rank", -1), size = json_int(meta, "size", 0);
	p->launched = rank < 0;
	if (p->launched) {
		rank = json_int(meta, "launched_rank", -1);
		size = json_int(meta, "launched_size", 0);
	}
	p->rank = rank < 0 || rank >= RANKS_MAX ? NONE : (uint32_t)rank;
	p->world_size = size < 1 || size > RANKS_MAX ? 0 : (uint32_t)size;
	p->finalized = strcmp(state, "finalized") == 0;
	p->aborted = strcmp(state, "aborted") == 0;
	p->lost = strcmp(state, "lost") == 0;
	p->thread_level = (int)json_int(meta, "thread_level", 0);
	p->other_threads = -1;
	p->overhead_ns = json_number_or(meta, "overhead_ns", NAN);
	p->recording_ticks = json_number_or(meta, "recording_ticks", NAN);
	p->inside_ticks = json_number_or(meta, "inside_ticks", NAN);
#define READ_COUNT(name, lacks, noun, said) p->uncounted[UNCOUNTED_##name] = count_of(meta, #name);
	UNCOUNTED(READ_COUNT)
#undef READ_COUNT
	p->cpu = (int)json_int(meta, "cpu", -1);
	p->library = copy_text(meta, "library");
	p->cpus = copy_text(meta, "cpus");
	read_times(p, meta);
	if (p->library == NULL || p->cpus == NULL)
		return -ENOMEM;
	int code = read_thread_meta(p, kept, meta);
	p->bad_blocks += code == -EBADMSG;
	add_processors(p);
	return code == -ENOMEM ? code : 0;
}

/* What the METAs of the process that parse say together, the newest first. */
static int load_meta(struct process *p, struct budget *kept, const struct mpic_file *f, const struct mpic_block *blocks,
		     size_t n)
{
	_cleanup_buf_ struct buf text = {0};
	for (size_t i = 0; i < n; i++) {
		if (blocks[i].kind != MPIC_META)
			continue;
		cJSON *meta = mpic_read(f, &blocks[i], &text, NULL) < 0 ? NULL : meta_parse(kept, &text);
		p->bad_blocks += !meta_supersede(&p->meta, meta);
	}
	p->rank = NONE;
	p->first_ns = p->last_ns = TIME_ABSENT;
	p->overhead_ns = p->recording_ticks = p->inside_ticks = p->processor_wait_ns = p->running_ns = p->ready_ns =
		NAN;
	return p->meta != NULL ? read_meta(p, kept, p->meta) : 0;
}

int process_load(struct process *p, struct budget *kept, const struct mpic_file *f, const struct mpic_block *blocks,
		 size_t n, struct error *e)
{
	int code = load_meta(p, kept, f, blocks, n);
	for (size_t i = 0, m; i < n && code == 0; i += m) {
		for (m = 1; i + m < n && blocks[i + m].thread == blocks[i].thread;)
			m++;
		if (blocks[i].thread < MPIC_THREADS_MAX)
			code = thread_load(p, kept, blocks[i].thread, f, blocks + i, m, e);
		else
			p->bad_blocks++;
	}
	if (code == 0 && open_load(p) < 0)
		code = fail(e, -ENOMEM, "out of memory");
	return code;
}

void process_done(struct process *p)
{
	for (size_t i = 0; i < p->payloads.n; i++)
		buf_done(&p->payloads.at[i]);
	cJSON_Delete(p->meta);
	free(p->library);
	free(p->cpus);
	free(p->calls_in);
	for (size_t i = 0; i < p->threads.n; i++) {
		vec_done(&p->threads.at[i].sig_of);
		vec_done(&p->threads.at[i].literals);
	}
	vec_done(&p->threads);
	vec_done(&p->sigs);
	vec_done(&p->open);
	vec_done(&p->started);
	vec_done(&p->payloads);
	vec_done(&p->defs);
	vec_done(&p->ops);
	vec_done(&p->comms);
	vec_done(&p->windows);
	vec_done(&p->files);
	vec_done(&p->neighbors);
	vec_done(&p->types);
	vec_done(&p->modules);
}
