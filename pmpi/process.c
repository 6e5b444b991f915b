/* process.c - see process.h. Everything here happens once; nothing here may fail loudly. */
#include "pmpi/process.h"

#include "pmpi/past.h"

#include "base/clock.h"
#include "base/path.h"
#include "base/slurp.h"
#include "pmpi/beginning.h"
#include "pmpi/fast.h"
#include "pmpi/helpers.h"
#include "pmpi/lock.h"
#include "pmpi/modules.h"
#include "pmpi/notes.h"
#include "pmpi/processor.h"
#include "pmpi/redact.h"
#include "pmpi/settings.h"
#include "pmpi/tools.h"
#include "pmpi/transport.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALIBRATION_CALLS 64
#define TIMED_OF 8
#define ORDINARY_WORDS 5u    /* of a message */
#define CALIBRATION_ROUNDS 8 /* the quickest counts: the first ones warm up, and others may be interrupted */

/* Into the segment file, and how much more there would be. */
static void read_argv(void)
{
	char rest[1024];
	int fd = redact_arguments ? -1 : open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, segfile->argv, sizeof(segfile->argv) - 1) : 0;
	segfile->argv_len_bytes = n > 0 ? (uint32_t)n : 0;
	while (n > 0 && (n = read(fd, rest, sizeof(rest))) > 0)
		segfile->argv_missing_bytes += (uint32_t)n;
	if (fd >= 0)
		close(fd);
}

/* Field 22 of /proc/self/stat (proc(5)), counted from behind the name, which may hold anything. */
static uint64_t start_time(void)
{
	char text[1024];
	slurp("/proc/self/stat", text, sizeof(text));
	const char *p = strrchr(text, ')');
	for (int field = 2; p != NULL && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p != NULL ? strtoull(p, NULL, 10) : 0;
}

static void list_cpus(char *to, size_t cap)
{
	cpu_set_t set;
	size_t used = 0;
	to[0] = '\0';
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return;
	for (int i = 0; i < CPU_SETSIZE && used + 16 < cap; i++) {
		int last = i;
		if (!CPU_ISSET(i, &set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
			last++;
		used += (size_t)snprintf(to + used, cap - used, last > i ? "%s%d-%d" : "%s%d", used > 0 ? "," : "", i,
					 last);
		i = last;
	}
}

static void copy_env(char *to, size_t cap, const char *name, const char *before)
{
	const char *value = getenv(name);
	size_t used = strlen(to);
	if (value != NULL)
		snprintf(to + used, cap - used, "%s%s", before, value);
}

static void read_exe(void)
{
	char path[sizeof(segfile->exe)] = "", hidden[sizeof(segfile->exe) + 8];
	path_self(path, sizeof(path));
	snprintf(segfile->exe, sizeof(segfile->exe), "%s", redact_path(path, hidden, sizeof(hidden)));
}

/* Names of this host. */
static void read_host(void)
{
	if (redact_hosts)
		return;
	gethostname(segfile->host, sizeof(segfile->host) - 1);
	copy_env(segfile->switches, sizeof(segfile->switches), "SLURM_TOPOLOGY_ADDR", "");
	copy_env(segfile->switches, sizeof(segfile->switches), "SLURM_TOPOLOGY_ADDR_PATTERN", " ");
}

static int32_t number_of(const char *name)
{
	const char *text = getenv(name);
	char *end = NULL;
	long n = text != NULL ? strtol(text, &end, 10) : -1;
	return end != text && *end == '\0' && n >= 0 && n <= INT32_MAX ? (int32_t)n : -1;
}

/* Which rank it will be, for those who never come out of MPI_Init. What Slurm says of a batch script is true of the
 * programs that it starts only where these are tasks themselves, as a PMIX_RANK shows. */
static void read_launcher(void)
{
	static const char *const launchers[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
						   {"PMI_RANK", "PMI_SIZE"},
						   {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
	segfile->launched_rank = segfile->launched_size = -1;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		int32_t rank = number_of(launchers[i][0]), size = number_of(launchers[i][1]);
		if (rank < 0 || rank >= size)
			continue;
		segfile->launched_rank = rank;
		segfile->launched_size = size;
		return;
	}
}

static void describe(void)
{
	struct stat st;
	segfile->version = SEGFILE_VERSION;
	segfile->pid = (uint32_t)getpid();
	segfile->pid_namespace = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
	segfile->process_start = start_time();
	segfile->time_namespace = stat("/proc/self/ns/time", &st) == 0 ? st.st_ino : 0;
	segfile->ticks_are_tsc = tick_is_tsc;
	segfile->rank = segfile->size = -1;
	read_launcher();
	segfile->start_tick = tick_now();
	segfile->clock_start = tick_sample();
	segfile->cpu = sched_getcpu();
	read_exe();
	read_argv();
	read_host();
	list_cpus(segfile->cpus, sizeof(segfile->cpus));
	copy_env(segfile->job_namespace, sizeof(segfile->job_namespace), "PMIX_NAMESPACE", "");
}

bool forked, again;

static void forget(void)
{
	stream_on = false;
	stream_mine = NULL;
}

/* It shares the mapping: it must never write there but how many calls it makes, for which MPI has no meaning. */
void process_is_child(void)
{
	forked |= stream_on;
	forget();
}

/* As fork() says it; _Fork() and clone() say nothing. */
static void leave_parent(void)
{
	bool was_on = stream_on;
	process_is_child();
	tables_leave();
	beginning_forget();
	if (was_on)
		segfile_leave();
}

/* A directory that is none of a step's hears nothing. */
static void say_no_room(int rc)
{
	if (rc != -EACCES && rc != -EINVAL)
		note_untraced("failed", "no room for what it records: ", strerror(-rc));
}

/* MPI_Init and sessions, from before they begin until they are finalised. */
static atomic_int models;
static bool up; /* one of them is through */

/* Once in a process's life: what follows nobody else does until MPI is up. */
static bool begins_first(void)
{
	bool alone = models++ == 0; /* who finalises from now on is not the last */
	again |= up && alone;
	if (again)
		forget();
	bool taken = beginning_take();
	if (segfile != NULL && taken)
		beginning_over();
	return segfile == NULL;
}

void process_unseen(bool first)
{
	models--;
	if (first)
		beginning_over();
}

/* What the site forbids, "" if nothing. All that can be forbidden where it says something that cannot be read. */
static void read_forbidden(const char *dir, char ret_text[FORBIDDEN_BYTES_MAX])
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/" FORBIDDEN_FILENAME, dir);
	int fd = note_open(path, O_RDONLY, geteuid());
	bool is_none = fd < 0 && errno == ENOENT;
	ssize_t n = fd >= 0 ? read(fd, ret_text, FORBIDDEN_BYTES_MAX - 1) : -1;
	if (fd >= 0)
		close(fd);
	ret_text[n > 0 ? n : 0] = '\0';
	if (!is_none && n <= 0)
		snprintf(ret_text, FORBIDDEN_BYTES_MAX, "profile,arguments,paths,hosts");
}

bool process_begin(void)
{
	const char *dir = setting("MPITRACE_DIR");
	const char *stack = setting("MPITRACE_STACK");
	const char *mode = setting("MPITRACE_MODE");
	char forbidden[FORBIDDEN_BYTES_MAX];
	int saved = errno;
	UNCANCELLED;

	if (dir == NULL || !begins_first())
		return false;
	tick_choose();
	read_forbidden(dir, forbidden);
	redact_begin(forbidden);
	redact_begin(setting("MPITRACE_REDACT"));
	int rc = segfile_create(dir);
	if (rc == 0) {
		describe();
		if ((mode != NULL && strcmp(mode, "profile") == 0) || strstr(forbidden, "profile") != NULL)
			atomic_store(&segfile->stop_events, 2);
		if (stack != NULL && stack[0] != '\0') {
			unsigned long frames = strtoul(stack, NULL, 10);
			stack_frames = frames < FRAMES_MAX ? (unsigned)frames : FRAMES_MAX;
		}
		__atomic_store_n(&stream_on, true, __ATOMIC_RELEASE); /* partner: the load in span_attach() */
		pthread_atfork(NULL, NULL, leave_parent);
		if (stream_attach() == NULL) {
			forget();
			segfile_remove();
			rc = segfile_refusal();
		} else {
			tools_prepare();
			modules_note((uintptr_t)process_begin); /* all that is loaded now */
			/* Partner: the agent's acquire load in collect/process.c. */
			__atomic_store_n(&segfile->magic, SEGFILE_MAGIC, __ATOMIC_RELEASE);
		}
	}
	if (rc < 0) {
		say_no_room(rc);
		beginning_over();
	} else {
		helpers_begin();
	}
	errno = saved;
	return rc == 0;
}

static void tables_share(bool share)
{
	tables_shared = share;
	requests_share(share);
}

static int (*volatile nothing)(void);

/* Stands for MPI in a call of which only our part is timed. */
static int do_nothing(void)
{
	return MPI_SUCCESS;
}

/* What wrappers do of a message that was sent before, with a request, and of its completion. False: not now. */
NOINLINE static bool ordinary_call(const uint64_t *words)
{
	struct fast q;
	struct request taken;
	if (!fast_open(&q, (void *)1))
		return false;
	const struct last_handles *last = fast_handles(q.stream, MPI_COMM_WORLD, MPI_BYTE);
	__asm__ volatile("" ::"r"(last)); /* looked up, whether it is known or not */
	if (!fast_known(&q, words, ORDINARY_WORDS))
		return false;
	FAST_START(&q);
	nothing();
	uint64_t exit = tick_now();
	if (!stream_is_ours())
		return false;
	request_put_plain(MPI_REQUEST_NULL, q.stream->thread, q.stream->next_serial);
	fast_end(&q, exit);
	return request_take(MPI_REQUEST_NULL, true, &taken);
}

/* Nanoseconds of so many; UINT64_MAX: they could not be made. Of one in so many the recording is timed; 0: of none. */
static uint64_t time_calls(struct stream *s, const uint64_t *words, uint32_t timed)
{
	int64_t before_ns = now_ns();
	nothing = do_nothing;
	s->timed_below = timed > 0 ? UINT32_MAX / timed : 0;
	for (int i = 1; i <= CALIBRATION_CALLS; i++) {
		s->open.inside = 0;
		if (!ordinary_call(words))
			return UINT64_MAX;
	}
	return (uint64_t)(now_ns() - before_ns);
}

/* What of them is their recording, as calls between others tell, which are not timed; thousandths of a tick. Which ones
 * are, no processor foresees, as later: that it guessed wrong is in the time of each. */
static uint32_t time_recording(struct stream *s, const uint64_t *words)
{
	struct thread_area *area = s->area;
	uint64_t least = UINT64_MAX, all_calls = 0, all_ticks = 0, most = 0;
	for (int i = 0; i < CALIBRATION_ROUNDS; i++) {
		area->recording_calls = area->recording_ticks = 0;
		time_calls(s, words, TIMED_OF);
		all_calls += area->recording_calls;
		all_ticks += area->recording_ticks;
		most = area->recording_ticks > most ? area->recording_ticks : most;
		uint64_t ticks =
			area->recording_calls > 0 ? area->recording_ticks * 1000 / area->recording_calls : UINT64_MAX;
		least = ticks < least ? ticks : least;
	}
	s->timed_below = TIMED_BELOW;
	area->recording_calls = area->recording_ticks = 0;
	if (least == 0) /* ticks may be so long that few calls take none; one that was interrupted took many */
		least = (all_ticks - most) * 1000 / all_calls;
	return least < UINT32_MAX ? (uint32_t)least : 0;
}

/* What one record costs here, with its event or without: the whole path, on a signature that no call has, taken back
 * afterwards. Found by as many words as a message has, so that these are hashed. */
static void calibrate(void)
{
	struct stream *s = stream_mine;
	struct thread_area *area = s->area;
	uint64_t *pos = s->pos, previous = s->previous_exit;
	uintptr_t inside = s->open.inside; /* MPI_Init's frame: its record is still to come */
	uint64_t ns = UINT64_MAX, inside_ticks = 0, w[5 + FRAMES_MAX] = {sig_head(0, SIG_TIME, 0, 0, 0, 0), 1, 0, 0, 0};
	uint64_t lost = area->lost, from = area->lost_from_tick, reason = area->lost_reason;
	bool literal = false;
	if (!s->events_off && s->limit - s->pos < CALIBRATION_ROUNDS * CALIBRATION_CALLS + 16)
		return;
	uint32_t sig = stream_sig(s, w, 2, sig_hash(w, ORDINARY_WORDS), &literal);

	for (int i = 0; i < CALIBRATION_ROUNDS; i++) {
		s->totals[sig].ticks = 0;
		uint64_t round = time_calls(s, w, 0);
		if (round < ns) {
			ns = round;
			inside_ticks = s->totals[sig].ticks;
		}
	}
	s->pos = pos;
	uint32_t recording_ticks_m = time_recording(s, w);
	s->pos = pos;
	s->open.inside = inside;
	s->previous_exit = previous;
	area->lost = lost;
	area->lost_from_tick = from;
	area->lost_reason = reason;
	s->totals[sig] = (struct segment_total){0, 0};
	stream_commit(s);
	if (ns >= UINT32_MAX)
		return;
	segfile->overhead_ps = (uint32_t)(ns * 1000 / CALIBRATION_CALLS);
	segfile->recording_ticks_m = recording_ticks_m;
	segfile->inside_ticks_m = (uint32_t)(inside_ticks * 1000 / CALIBRATION_CALLS);
}

/* False: there is nothing to trace. */
static bool entered(int rc, uint64_t exit_tick, bool *ret_first)
{
	int len = 0;
	char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	if (stream_mine == NULL)
		return false;
	if (rc != MPI_SUCCESS) {
		if (--models == 0 && !up) {
			forget();
			segfile_remove();
			note_untraced("failed", "", "MPI_Init or MPI_Session_init returned an error");
		}
		return false;
	}
	if (up)
		return true;
	*ret_first = up = true;
	segfile->init_exit_tick = exit_tick;
	segfile->calls_before_init = calls_before_init;
	processor_begin(stream_mine->area);
	pmpi.MPI_Get_library_version(library, &len);
	snprintf(segfile->library, sizeof(segfile->library), "%.*s", (int)strcspn(library, ",\n"), library);
	for (char *c = segfile->library; (c = strpbrk(c, "\t")) != NULL;)
		*c = ' ';
	transport_note(library);
	return true;
}

/* Who spawned us. Open MPI names the parents' namespace in the port that a spawned process connects to:
 * "<namespace>.<rank>:...". From 5 on it is a number, whose lower half is N of the namespace "NAME@N"; all that one
 * mpirun started has the same NAME. */
static void note_parents(void)
{
	const char *port = getenv("OMPI_PARENT_PORT");
	MPI_Comm parent = MPI_COMM_NULL;
	if (pmpi.MPI_Comm_get_parent(&parent) != MPI_SUCCESS || parent == MPI_COMM_NULL)
		return;
	pmpi.MPI_Comm_remote_size(parent, &segfile->parents);
	if (port == NULL)
		return;
	const char *own = segfile->job_namespace, *at = strrchr(own, '@');
	if (at == NULL)
		snprintf(segfile->parent_namespace, sizeof(segfile->parent_namespace), "%.*s", (int)strcspn(port, "."),
			 port);
	else
		snprintf(segfile->parent_namespace, sizeof(segfile->parent_namespace), "%.*s@%lu", (int)(at - own), own,
			 strtoul(port, NULL, 10) & 0xffff);
}

static void begin_world(bool first, int thread_level)
{
	int *appnum, found = 0;
	if (first)
		tables_share(thread_level == MPI_THREAD_MULTIPLE);
	if (first && thread_level == MPI_THREAD_MULTIPLE)
		helpers_note();
	segfile->thread_level = thread_level;
	segfile->any_source = MPI_ANY_SOURCE;
	segfile->proc_null = MPI_PROC_NULL;
	pmpi.MPI_Comm_size(MPI_COMM_WORLD, &segfile->size);
	pmpi.MPI_Comm_rank(MPI_COMM_WORLD, &segfile->rank);
	segfile->appnum = pmpi.MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &found) == MPI_SUCCESS && found
				  ? *appnum
				  : 0;
	note_parents();
	comms_begin();
	if (first)
		calibrate();
}

void process_initialized(int rc, int thread_level, uint64_t exit_tick)
{
	int saved = errno;
	bool first = false;
	UNCANCELLED;
	if (entered(rc, exit_tick, &first))
		begin_world(first, thread_level);
	beginning_over();
	errno = saved;
}

#ifdef HAVE_MPI_Session_init
/* Without MPI_Init there is no MPI_COMM_WORLD; the process set of that name has its ranks (MPI 4.0, 11.3.2). */
static void begin_sessions(MPI_Session session)
{
	MPI_Group group;
	helpers_note();
	segfile->thread_level = MPI_THREAD_MULTIPLE;
	if (pmpi.MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS) {
		pmpi.MPI_Group_size(group, &segfile->size);
		pmpi.MPI_Group_rank(group, &segfile->rank);
		comms_begin_without_world(group);
	}
	calibrate();
}

void process_session(int rc, MPI_Session session, uint64_t exit_tick)
{
	int saved = errno;
	bool first = false, entering = false;
	UNCANCELLED;
	entering = entered(rc, exit_tick, &first);
	if (entering)
		tables_share(true); /* sessions of one process may be used by several threads */
	if (first)
		begin_sessions(session);
	beginning_over();
	errno = saved;
}
#endif

void process_finalizing(void)
{
	int saved = errno;
	UNCANCELLED;
	if (stream_mine == NULL)
		return;
	streams_each(processor_note);
	modules_note((uintptr_t)pmpi.MPI_Init); /* whatever is not recorded of call sites */
	tables_lock();
	past_note(NULL);
	tables_unlock();
	segfile->finalize_enter_tick = tick_now();
	errno = saved;
}

void process_finalized(void)
{
	int saved = errno;
	if (stream_mine == NULL || --models > 0)
		return;
	stream_flush_polls(stream_mine);
	streams_count_left();
	segfile->end_tick = tick_now();
	segfile->clock_end = tick_sample();
	forget();
	/* Partner: the agent's acquire load in collect/process.c. */
	atomic_store_explicit(&segfile->state, SEGFILE_FINALIZED, memory_order_release);
	errno = saved;
}

void process_aborting(void)
{
	if (stream_mine == NULL)
		return;
	stream_flush_polls(stream_mine);
	segfile->end_tick = tick_now();
	segfile->clock_end = tick_sample();
	/* Partner: the agent's acquire loads in collect/sample.c and collect/meta.c. */
	atomic_store_explicit(&segfile->state, SEGFILE_ABORTED, memory_order_release);
}

#define PASTED(a, b) a##b
#define JOINED(a, b) PASTED(a, b)
#define MPITRACE_BIND_HERE JOINED(mpitrace_bind_, MPITRACE_FLAVOUR)
__attribute__((visibility("default"))) mpitrace_bind_fn MPITRACE_BIND_HERE;

/* Both lists are sorted by name. */
static const struct target *target_of(const struct target **targets, const struct target *end, const char *name)
{
	static const struct target none;
	while (*targets < end && strcmp((*targets)->name, name) < 0)
		++*targets;
	return *targets < end && strcmp((*targets)->name, name) == 0 ? *targets : &none;
}

const struct wrapper *MPITRACE_BIND_HERE(const struct target *targets, uint64_t count)
{
	const struct target *end = targets + count, *t;
#define ROW(name) \
	t = target_of(&targets, end, #name); \
	pmpi.name = (__typeof__(pmpi.name))t->pmpi; \
	next.name = (__typeof__(next.name))t->next;
	NEXT_ROWS(ROW)
#undef ROW
	return wrappers;
}
