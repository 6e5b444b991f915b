/* pmpi_segments.c - threads append to their segments as the wrappers do while a reader drains as the agent does: in
 * the same process, in another one, and of programs that are killed. What each record must be follows from its number,
 * so one that is read before it is whole, or is written over too early, is none of them. As many as SEGMENTS says. */
#include "fewer.h"
#include "traced.h"

#include "collect/process.h"
#include "pmpi/stream.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 3 /* the thread that initialises MPI, whose segments are long, and two others */
#define CALLS 150000u
#define KILLS 25u
#define EXTRA_MAX 5u
#define SIG_FIRST 1000u /* signatures below are the tracer's own */
#define SIGS 50000u
#define BLOCKS_MAX 65536u

/* Of both processes. */
static struct shared {
	_Atomic uint64_t
		recorded[WRITERS]; /* calls, by the number of the tracer's thread; release, behind the record */
} * shared;
static char dir[] = "/tmp/mpitrace-segments-XXXXXX";
static uint64_t calls; /* of a writer */
static atomic_bool over;

/* ---- what is written ---- */

/* SplitMix64. */
static uint64_t mixed(uint64_t k)
{
	k = (k + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
	k = (k ^ k >> 27) * 0x94d049bb133111ebull;
	return k ^ k >> 31;
}

/* Call k of a thread, its ticks counted from where the thread began. */
static struct mpic_event call_of(uint32_t thread, uint64_t k, uint64_t *ret_extra)
{
	uint64_t m = mixed(k << 8 | thread);
	struct mpic_event ev = {.sig = SIG_FIRST + (uint32_t)(m % SIGS), .extra = ret_extra};
	ev.enter_tick = 64 * k + (m >> 32) % 16 + ((k / 4099) << 25); /* some gaps are no short record's */
	ev.exit_tick = ev.enter_tick + 1 + (m >> 40) % 32;
	ev.nextra = m % 97 == 0 ? 1 + (uint32_t)(m >> 48) % EXTRA_MAX : 0;
	for (uint32_t i = 0; i < ev.nextra; i++)
		ret_extra[i] = mixed(m + i);
	return ev;
}

/* Now faster than anybody reads, so that segments are spilled, now with time for the reader to give them back. */
static void rest(uint64_t k, uint32_t thread)
{
	if (k % 2048 == 0 && (k >> 15) % 2 == 0)
		usleep((useconds_t)(mixed(k + thread) % 4000));
}

static void *append(void *unused)
{
	struct stream *s = stream_mine != NULL ? stream_mine : stream_attach();
	uint64_t extra[EXTRA_MAX], from = s->previous_exit;
	for (uint64_t k = 0; k < calls; k++) {
		struct mpic_event ev = call_of(s->thread, k, extra);
		if (ev.nextra == 0)
			stream_record(s, ev.sig, from + ev.enter_tick, from + ev.exit_tick);
		else
			stream_record_words(s, ev.sig, from + ev.enter_tick, from + ev.exit_tick, extra, ev.nextra);
		atomic_store_explicit(&shared->recorded[s->thread], k + 1,
				      memory_order_release); /* partner: in check_thread() */
		rest(k, s->thread);
	}
	return unused;
}

static void append_all(void)
{
	pthread_t threads[WRITERS - 1];
	for (int i = 0; i < WRITERS - 1; i++)
		pthread_create(&threads[i], NULL, append, NULL);
	append(NULL);
	for (int i = 0; i < WRITERS - 1; i++)
		pthread_join(threads[i], NULL);
}

/* ---- what is read ---- */

static struct process process;
static struct output output;

static bool find(const char *suffix, char *ret_path, size_t cap)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	bool found = false;
	while (!found && d != NULL && (entry = readdir(d)) != NULL) {
		const char *at = strstr(entry->d_name, suffix);
		found = at != NULL && at[strlen(suffix)] == '\0';
		if (found)
			snprintf(ret_path, cap, "%s/%s", dir, entry->d_name);
	}
	if (d != NULL)
		closedir(d);
	return found;
}

/* Of a process that has just begun it may not be there yet. */
static bool read_begin(void)
{
	char path[512];
	process = (struct process){0};
	output = (struct output){.name = "n1", .fd = -1, .wanted_dir = dir, .fallback_dir = dir};
	return find(SEGFILE_SUFFIX, path, sizeof(path)) && process_open(&process, path, 0, NULL) == 0 &&
	       output_open(&output, NULL) == 0;
}

static void read_some(void)
{
	if (process_drain(&process, &output, false) > 0) {
		output_flush(&output);
		process_give_back(&process);
	}
}

static void *read_until_over(void *unused)
{
	for (uint64_t i = 0; !atomic_load(&over); i++) {
		read_some();
		usleep((useconds_t)(mixed(i) % 300));
	}
	return unused;
}

static void same(uint32_t thread, uint64_t k, uint64_t from, const struct mpic_event *ev)
{
	uint64_t extra[EXTRA_MAX];
	struct mpic_event want = call_of(thread, k, extra);
	cr_assert(ev->sig == want.sig && ev->enter_tick == from + want.enter_tick &&
			  ev->exit_tick == from + want.exit_tick && ev->nextra == want.nextra,
		  "thread %u, call %llu: signature %u, ticks %llu to %llu, %u words; expected %u, %llu to %llu, %u",
		  thread, (unsigned long long)k, ev->sig, (unsigned long long)(ev->enter_tick - from),
		  (unsigned long long)(ev->exit_tick - from), ev->nextra, want.sig, (unsigned long long)want.enter_tick,
		  (unsigned long long)want.exit_tick, want.nextra);
	for (uint32_t i = 0; i < want.nextra; i++)
		cr_assert_eq(ev->extra[i], extra[i], "thread %u, call %llu: word %u", thread, (unsigned long long)k, i);
}

/* Blocks of a thread by their number, as the analysis reads them. */
static uint64_t blocks_of(const struct mpic_file *f, uint32_t thread, const struct mpic_block **ret_blocks)
{
	uint64_t n = 0;
	for (size_t i = 0; i < f->nblocks; i++) {
		const struct mpic_block *b = &f->blocks[i];
		if (b->kind != MPIC_EVENTS || b->thread != thread)
			continue;
		cr_assert(b->seq < BLOCKS_MAX && ret_blocks[b->seq] == NULL, "thread %u has segment %llu twice", thread,
			  (unsigned long long)b->seq);
		ret_blocks[b->seq] = b;
		n++;
	}
	return n;
}

/* How many of the calls are there: from the first on, each as it must be. */
static uint64_t check_thread(const struct mpic_file *f, uint32_t thread)
{
	const struct mpic_block **blocks = calloc(BLOCKS_MAX, sizeof(const struct mpic_block *));
	uint64_t k = 0, from = 0, n = blocks_of(f, thread, blocks);
	for (uint64_t seq = 0; seq < n; seq++) {
		struct mpic_events it = {0};
		struct buf payload = {0};
		struct mpic_event ev;
		uint32_t count;
		cr_assert_not_null(blocks[seq], "thread %u has no segment %llu", thread, (unsigned long long)seq);
		cr_assert_geq(mpic_read(f, blocks[seq], &payload, NULL), 0);
		cr_assert_eq(mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &count), 0);
		while (mpic_events_next(&it, &ev) == 1) {
			uint64_t extra[EXTRA_MAX];
			if (ev.sig < SIG_FIRST) /* MPI_Init */
				continue;
			if (k == 0)
				from = ev.enter_tick - call_of(thread, 0, extra).enter_tick;
			same(thread, k++, from, &ev);
		}
		mpic_events_done(&it);
		buf_done(&payload);
	}
	free(blocks);
	return k;
}

struct read_calls {
	uint64_t segments, spilled, killed;
	uint64_t unsaid; /* threads that were killed between a record and its number */
};

/* Who is over has recorded what it says, and at most the call behind it. */
static void check_all(struct read_calls *r)
{
	struct mpic_file f;
	process_drain(&process, &output, true);
	for (uint32_t i = 0; i < process.nthreads; i++)
		if (process.threads[i].area != NULL)
			cr_assert_eq(process.threads[i].area->lost, 0);
	output_close(&output);
	cr_assert_eq(mpic_open(output.path, &f, NULL), 0);
	for (uint32_t thread = 0; thread < WRITERS; thread++) {
		uint64_t n = check_thread(&f, thread);
		uint64_t said = atomic_load_explicit(&shared->recorded[thread], memory_order_acquire);
		cr_assert(n == said || n == said + 1, "thread %u has recorded %llu calls, read were %llu", thread,
			  (unsigned long long)said, (unsigned long long)n);
		r->unsaid += n != said;
	}
	for (size_t i = 0; i < f.nblocks; i++)
		r->segments += f.blocks[i].kind == MPIC_EVENTS;
	r->spilled += process.spill_done;
	mpic_close(&f);
	unlink(output.path);
	free(output.path);
	process_close(&process);
}

static void clear(void)
{
	char path[512];
	while (find(SEGFILE_SUFFIX, path, sizeof(path)) || find(SPILL_SUFFIX, path, sizeof(path)))
		unlink(path);
	*shared = (struct shared){0};
}

/* With fewer than the least of calls no segment is spilled. */
static unsigned wanted(unsigned usual, unsigned least)
{
	const char *text = getenv("SEGMENTS");
	return text != NULL ? usual * (unsigned)atoi(text) : fewer(usual, least);
}

static void make_place(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(shared, MAP_FAILED);
	cr_assert_not_null(mkdtemp(dir));
	calls = wanted(CALLS, CALLS / 4);
}

static void drop_place(void)
{
	clear();
	rmdir(dir);
}

TestSuite(segments, .init = make_place, .fini = drop_place);

static void say(const struct read_calls *r)
{
	cr_log_info("%llu segments, %llu of them spilled; %llu killed, %llu threads between a record and its number",
		    (unsigned long long)r->segments, (unsigned long long)r->spilled, (unsigned long long)r->killed,
		    (unsigned long long)r->unsaid);
	cr_assert(r->spilled > 0 && r->spilled < r->segments, "segments are given back, and spilled");
}

Test(segments, a_reader_beside_the_writers_has_each_record_whole_and_in_order)
{
	struct read_calls r = {0};
	pthread_t reader;
	traced_begin_in(dir);
	cr_assert(read_begin());
	pthread_create(&reader, NULL, read_until_over, NULL);
	append_all();
	atomic_store(&over, true);
	pthread_join(reader, NULL);
	check_all(&r);
	say(&r);
}

/* What it has to write it writes once; then it waits for its end. */
static pid_t start_writers(void)
{
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	traced_begin_in(dir);
	append_all();
	_exit(0);
}

static void read_process(uint64_t kill_after, struct read_calls *r)
{
	pid_t pid = start_writers();
	int status;
	while (!read_begin())
		usleep(100);
	for (uint64_t i = 0; waitpid(pid, &status, WNOHANG) == 0; i++) {
		read_some();
		usleep((useconds_t)(mixed(i) % 300));
		if (atomic_load(&shared->recorded[0]) >= kill_after)
			kill(pid, SIGKILL);
	}
	r->killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	check_all(r);
	clear();
}

Test(segments, a_reader_in_another_process_has_each_record_whole_and_in_order)
{
	struct read_calls r = {0};
	read_process(UINT64_MAX, &r);
	say(&r);
}

/* Not that of the call which it was recording; all others. */
Test(segments, of_writers_that_are_killed_each_recorded_call_is_there)
{
	struct read_calls r = {0};
	for (unsigned i = 0; i < wanted(KILLS, 4); i++)
		read_process(mixed(i) % calls, &r);
	say(&r);
	cr_assert_gt(r.killed, 0);
}
