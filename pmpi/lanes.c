/* lanes.c - whose stream it is: threads come and go, and processes fork. */
#include "pmpi/confined.h"
#include "pmpi/processor.h"
#include "pmpi/lock.h"
#include "pmpi/segfile.h"
#include "pmpi/stream.h"

#include <errno.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREAD_BYTES 4096u
_Static_assert(THREAD_OPEN_OFFSET + sizeof(struct stream) <= THREAD_BYTES, "a stream is in its thread's region");

static struct stream *no_stream; /* never another */
__thread struct stream **stream_place __attribute__((tls_model("initial-exec"))) = &no_stream;
bool stream_on;

/* A lane is the stream of one thread after the other: who comes later goes on where one that has ended stopped, with
 * its dictionary and its totals. */
#define LANES_MAX SEGFILE_THREADS_MAX
static struct lane {
	_Atomic uint32_t owner; /* a thread by its number in the kernel; 0 = nobody */
	struct thread_area *area;
	bool whole;
} lanes[LANES_MAX];

/* What streams of lanes are, and behind them that this process is no child. _Fork() and clone() call no handlers of
 * pthread_atfork(): the kernel empties these pages in the child (madvise(2), MADV_WIPEONFORK; Linux 4.14). */
static struct stream **places;

static bool make_places(void)
{
	size_t bytes = (LANES_MAX + 1) * sizeof(*places);
	if (places != NULL)
		return true;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return false;
	madvise(at, bytes, MADV_WIPEONFORK);
	((struct stream **)at)[LANES_MAX] = at; /* only that it is something counts */
	places = at;
	return true;
}

/* Its frames lie below: glibc puts the thread's own data at the top of its stack, the kernel some words of the
 * program's. */
static void find_stack(struct stream *s)
{
	bool is_main = s->area->tid == (uint32_t)getpid();
	uint64_t high = is_main ? getauxval(AT_RANDOM) : (uint64_t)pthread_self();
	s->own_stack = (struct own_stack){.low = high & -page_bytes, .high = high};
}

/* The call that its thread ended in, by pthread_exit() in an error handler or cancelled, has no record. */
static void count_left(struct stream *s)
{
	if (s->open.inside != 0)
		atomic_fetch_add_explicit(&segfile->calls_left, 1, memory_order_relaxed);
	s->open.inside = 0;
}

/* The thread before is gone: what it left half done is settled. */
static void go_on(struct stream *s)
{
	uint64_t now = tick_now();
	count_left(s);
	stream_flush_polls(s);
	if (s->paused)
		stream_control(s, true);
	s->area->threads_before++;
	s->area->unused_ticks += now - stream_last_exit(s);
	s->area->running_before_ns += atomic_exchange(&s->area->running_ns, 0);
	s->area->ready_before_ns += atomic_exchange(&s->area->ready_ns, 0);
	s->area->counted_before += atomic_exchange(&s->area->counted, THREAD_UNCOUNTED) != THREAD_UNCOUNTED;
	s->area->running_from_ns = s->area->ready_from_ns = 0;
}

static struct stream *stream_in(const struct lane *l)
{
	return (struct stream *)(void *)((char *)l->area + THREAD_OPEN_OFFSET);
}

static struct stream *take_lane(struct lane *l, uint32_t thread, uint32_t tid)
{
	if (l->area == NULL)
		l->area = segfile_add_region(REGION_THREAD, thread, THREAD_BYTES, NULL, true);
	if (l->area == NULL)
		return NULL;
	struct stream *s = stream_in(l);
	s->thread = thread;
	s->timed_below = TIMED_BELOW;
	s->area = l->area;
	if (l->whole)
		go_on(s);
	else
		l->whole = stream_begin(s);
	s->area->tid = tid;
	find_stack(s);
	return l->whole ? s : NULL;
}

/* No destructor says so: those of the program come before and after ours, and may call MPI. A number in the kernel that
 * another thread has by now only keeps the lane for longer. */
static bool has_ended(uint32_t tid)
{
	bool ended = tid == 0 || (syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH);
	atomic_thread_fence(
		memory_order_acquire); /* partner: the locks that a thread takes in the kernel when it ends */
	return ended;
}

/* Ours from now on? Not where the clock of the thread before was ahead of this processor's. */
static bool claim(struct lane *l, uint32_t tid)
{
	uint32_t owner = atomic_load_explicit(&l->owner, memory_order_acquire);
	if (!has_ended(owner) || !atomic_compare_exchange_strong(&l->owner, &owner, tid))
		return false;
	if (!l->whole || tick_now() >= stream_last_exit(stream_in(l)))
		return true;
	atomic_store(&l->owner, owner);
	return false;
}

static struct stream *find_lane(uint32_t tid)
{
	bool room = true;
	for (uint32_t i = 0; i < LANES_MAX; i++) {
		struct lane *l = &lanes[i];
		if ((!room && !l->whole) || !claim(l, tid))
			continue;
		struct stream *s = take_lane(l, i, tid);
		if (s != NULL)
			return s;
		room = false;
		atomic_store_explicit(&l->owner, 0, memory_order_release); /* partner: the load in claim() */
	}
	return NULL;
}

/* A thread for which there is no room asks again, but not at each of its calls. */
static atomic_uint in_vain, skip;
#define IN_VAIN_MAX 6

struct stream *stream_attach(void)
{
	UNCANCELLED;
	if (!stream_on || confined || !make_places())
		return NULL;
	if (places[LANES_MAX] == NULL) {
		process_is_child();
		return NULL;
	}
	uint32_t left = atomic_load_explicit(&skip, memory_order_relaxed);
	if (left > 0) {
		atomic_store_explicit(&skip, left - 1, memory_order_relaxed); /* more or less */
		return NULL;
	}
	int saved = errno;
	struct stream *s = find_lane((uint32_t)syscall(SYS_gettid));
	uint32_t n = s != NULL ? 0 : atomic_load_explicit(&in_vain, memory_order_relaxed) + 1;
	atomic_store_explicit(&in_vain, n < IN_VAIN_MAX ? n : IN_VAIN_MAX, memory_order_relaxed);
	atomic_store_explicit(&skip, n > 0 ? 1u << (n < IN_VAIN_MAX ? n : IN_VAIN_MAX) : 0, memory_order_relaxed);
	if (s != NULL) {
		stream_place = &places[s->thread];
		stream_mine = s;
		if (s->thread > 0) /* the first one calls MPI_Finalize */
			processor_watch();
	}
	errno = saved;
	return s;
}

void streams_count_left(void)
{
	if (confined)
		return;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	for (uint32_t i = 0; i < LANES_MAX; i++) {
		struct lane *l = &lanes[i];
		if (!l->whole || !claim(l, tid))
			continue;
		count_left(stream_in(l));
		atomic_store_explicit(&l->owner, 0, memory_order_release); /* partner: the load in claim() */
	}
}

void streams_each(void (*visit)(struct thread_area *area))
{
	for (uint32_t i = 0; i < LANES_MAX; i++)
		if (lanes[i].whole && !confined && !has_ended(atomic_load(&lanes[i].owner)))
			visit(lanes[i].area);
}
