/* agent.c - see agent.h. Runs as the job's user, at idle priority while the job runs; nobody waits for it. */
#include "collect/agent.h"

#include "base/vec.h"
#include "collect/agent_cost.h"
#include "collect/ending.h"
#include "collect/finish.h"
#include "collect/missed.h"
#include "collect/permissions.h"
#include "collect/predecessor.h"
#include "collect/sample.h"
#include "collect/snapshot.h"
#include "collect/standstill.h"
#include "collect/untraced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POLL_MIN_NS 1000000ll
#define POLL_MAX_NS 50000000ll
#define LAST_TRIES 7	     /* in a quarter of a second */
#define LOOK_NS 2000000000ll /* between two looks whether the output is in its place */
#define LAYOUT_FD 3
#define EXITS_FD 4
#define RESERVE_BYTES (64u << 10) /* of the output, for the end: what the step and each process were */
#define RESERVE_PROCESS_BYTES (16u << 10)

struct agent {
	const char *stepdir;
	char ranks[PATH_MAX];
	struct layout layout;
	struct output output;
	struct process *processes;
	uint32_t nprocesses;
	size_t cap_processes;
	struct snapshots snapshots;
	struct sampler sampler;
	struct standstill standstill;
	struct agent_cost cost;
	struct missed missed;
	struct predecessor predecessor; /* of an agent that died */
	int note_fd;
	uint32_t next_index;
	uint64_t budget_bytes;
	int64_t check_output_ns; /* when to look again whether the output is in its place */
	bool refused;		 /* a process could not be taken on */
	struct error trouble;
	bool troubled;
};

static void lost(void *context, const struct queued_events *what)
{
	struct agent *a = context;
	for (uint32_t i = 0; i < a->nprocesses; i++)
		if (a->processes[i].index == what->process)
			process_lost(&a->processes[i], what);
}

static void naming(void *context, const char *path, bool made)
{
	struct agent *a = context;
	if (made) {
		predecessor_made(a->note_fd);
		return;
	}
	if (a->note_fd >= 0) /* that name was taken */
		close(a->note_fd);
	a->note_fd = predecessor_note(a->ranks, path);
}

static bool known(const struct agent *a, const char *name)
{
	for (uint32_t i = 0; i < a->nprocesses; i++) {
		const char *slash = strrchr(a->processes[i].path, '/');
		if (strcmp(slash != NULL ? slash + 1 : a->processes[i].path, name) == 0)
			return true;
	}
	return false;
}

static void open_output(struct agent *a)
{
	a->output.broken = false;
	if (output_open(&a->output, &a->trouble) < 0)
		a->troubled = true;
	permissions_share(&a->layout, a->output.path);
}

static void log_line(const struct agent *a, const char *what, const char *why)
{
	int dir_fd = a->output.of_slurm ? open(a->output.wanted_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (dir_fd < 0)
		return;
	finish_log(dir_fd, "%s: %s: %s", layout_text(&a->layout, LAYOUT_NODE), what, why);
	close(dir_fd);
}

/* The user may have removed it with its directory, or put something else there. False: it is nowhere now. */
static bool check_output(struct agent *a, int64_t now_ns)
{
	int rc = output_restore(&a->output);
	a->check_output_ns = now_ns + LOOK_NS * (rc < 0 || output_is_aside(&a->output) ? 10 : 1);
	if (rc > 0)
		permissions_share(&a->layout, a->output.path);
	if (rc != 0)
		log_line(a, "the trace was removed, replaced or elsewhere while the step ran",
			 rc > 0 ? "it is made again" : strerror(-rc));
	return rc >= 0;
}

/* A process that an agent before us knew keeps its index. */
static void go_on(struct agent *a, struct process *p)
{
	uint32_t index = predecessor_index(&a->predecessor, p->file);
	if (index == MPIC_NODE) {
		a->next_index++;
		return;
	}
	p->index = index;
	process_refresh(p);
	predecessor_apply(&a->predecessor, p);
}

static void adopt(struct agent *a, const char *name)
{
	char path[PATH_MAX];
	struct process p;
	if (snprintf(path, sizeof(path), "%s/%s", a->ranks, name) >= (int)sizeof(path) ||
	    a->next_index >= MPIC_PROCESSES_MAX)
		return;
	int rc = process_open(&p, path, a->next_index, NULL);
	a->refused |= rc < 0 && rc != -EAGAIN && rc != -EBADMSG;
	if (rc < 0)
		return;
	if (vec_grow(&a->processes, &a->cap_processes, a->nprocesses + 1, sizeof(*a->processes)) < 0) {
		a->refused = true;
		process_close(&p);
		return;
	}
	if (a->output.path == NULL && !a->output.broken)
		open_output(a);
	go_on(a, &p);
	snapshot_process(&a->output, &p, true, tick_sample().monotonic_ns); /* whose the blocks are that follow */
	a->processes[a->nprocesses++] = p;
	a->output.reserve_bytes = RESERVE_BYTES + a->nprocesses * RESERVE_PROCESS_BYTES;
}

static bool is_segment_file(const char *name)
{
	const size_t len = strlen(name), suffix = strlen(SEGFILE_SUFFIX);
	return len > suffix && strcmp(name + len - suffix, SEGFILE_SUFFIX) == 0;
}

/* Are there segment files, or may there be? */
static bool have_segments(const struct agent *a)
{
	DIR *d = opendir(a->ranks);
	const struct dirent *entry;
	bool found = d == NULL;
	while (d != NULL && (entry = readdir(d)) != NULL)
		found |= is_segment_file(entry->d_name);
	if (d != NULL)
		closedir(d);
	return found;
}

static void discover_processes(struct agent *a)
{
	DIR *d = opendir(a->ranks);
	a->refused = d == NULL && errno != ENOENT;
	const struct dirent *entry;
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (is_segment_file(entry->d_name) && !known(a, entry->d_name))
			adopt(a, entry->d_name);
	if (d != NULL)
		closedir(d);
}

/* What the system refuses now it may grant soon. */
static int drain_last(struct process *p, struct output *o)
{
	int drained = process_drain(p, o, true);
	for (int i = 0; i < LAST_TRIES && p->refused; i++) {
		nanosleep(&(struct timespec){0, POLL_MIN_NS << i}, NULL);
		drained += process_drain(p, o, true);
	}
	return drained;
}

static int drain_all(struct agent *a, bool final)
{
	int drained = 0;
	uint64_t tick = tick_sample().tick; /* before they are looked at: by then who is not over was alive */
	for (uint32_t i = 0; i < a->nprocesses; i++) {
		struct process *p = &a->processes[i];
		if (p->gone)
			continue;
		bool is_over = process_is_over(p), over = final || is_over;
		if (!is_over) {
			p->seen_tick = tick;
			p->seen_by_other = false;
		}
		drained += over ? drain_last(p, &a->output) : process_drain(p, &a->output, false);
		if (over) {
			p->gone_tick = p->seen_tick != 0 && !p->seen_by_other ? tick : 0;
			p->gone = true;
			if (!p->refused)
				process_seal(p);
			p->lost = atomic_load_explicit(&p->file->state, memory_order_acquire) == SEGFILE_RUNNING;
		}
		if (a->output.full || (a->budget_bytes > 0 && p->packed_event_bytes > a->budget_bytes)) {
			uint32_t none = 0; /* the tracer's own reason stays, if it has one */
			atomic_compare_exchange_strong(&p->file->stop_events, &none, 1);
		}
	}
	return drained;
}

static bool all_gone(const struct agent *a)
{
	for (uint32_t i = 0; i < a->nprocesses; i++) /* without a place to drain it to, an end is seen nowhere else */
		if (!a->processes[i].gone && (a->output.path != NULL || !process_is_over(&a->processes[i])))
			return false;
	return true;
}

static bool step_is_over(const struct agent *a, const struct starter *starter)
{
	return ending_is_told(a->stepdir) || (ending_starter_is_gone(starter, a->stepdir) && all_gone(a));
}

static int put_end(struct agent *a)
{
	uint64_t events = 0, missing = 0;
	output_ending(&a->output);
	const struct tick_sample now = tick_sample();
	snapshot_clocks_of(&a->snapshots, &now, a->processes, a->nprocesses);
	sampler_end(&a->sampler, &a->output, a->processes, a->nprocesses);
	int rc = -ENOMEM;
	for (int i = 0; i <= LAST_TRIES && rc == -ENOMEM; i++)
		rc = snapshot_end(&a->snapshots, &a->output, a->processes, a->nprocesses, now.monotonic_ns);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < a->nprocesses; i++) {
		struct process *p = &a->processes[i];
		for (uint32_t t = 0; t < p->nthreads; t++) {
			events += p->threads[t].events;
			if (p->threads[t].area != NULL)
				missing += p->threads[t].area->lost + p->threads[t].area->dropped;
		}
	}
	return meta_end(&a->output, a->nprocesses, events, missing);
}

/* What was drained and written is no longer needed here. */
static void remove_segments(struct agent *a)
{
	for (uint32_t i = 0; i < a->nprocesses; i++) {
		char spill[PATH_MAX];
		snprintf(spill, sizeof(spill), "%s" SPILL_SUFFIX, a->processes[i].path);
		unlink(spill);
		unlink(a->processes[i].path);
	}
}

/* SCHED_IDLE weighs only against tasks of the same group; an agent that leads a session is with autogroups (sched(7)) a
 * group of its own, which must be made light as well. The group of others stays as it is. Who sees the class sees the
 * end of it. */
static void set_priority(bool idle)
{
	struct sched_param none = {0};
	FILE *f = getsid(0) == getpid() ? fopen("/proc/self/autogroup", "we") : NULL;
	if (f != NULL) {
		fputs(idle ? "19" : "0", f);
		fclose(f);
	}
	sched_setscheduler(0, idle ? SCHED_IDLE : SCHED_OTHER, &none);
}

/* Come back when the fullest ring is half full: later the rank would have to write segments out itself, which
 * costs it more than anything else, and sooner the segments would be small. */
static int64_t rest_ns(const struct agent *a, int64_t round_ns, int64_t last_ns)
{
	uint32_t fill = 0;
	for (uint32_t i = 0; i < a->nprocesses; i++)
		if (!a->processes[i].gone && a->processes[i].ring_fill_percent > fill)
			fill = a->processes[i].ring_fill_percent;
	int64_t rest = fill == 0 ? last_ns * 2 : round_ns * 50 / fill;
	return rest < POLL_MIN_NS ? POLL_MIN_NS : rest > POLL_MAX_NS ? POLL_MAX_NS : rest;
}

static void sleep_unless_ending(const struct agent *a, int64_t ns)
{
	for (; ns > 0 && !ending_is_told(a->stepdir); ns -= POLL_MAX_NS)
		nanosleep(&(struct timespec){0, ns < POLL_MAX_NS ? ns : POLL_MAX_NS}, NULL);
}

/* Segments go back to the program when their blocks are in the file: an agent that is killed loses nothing. */
static void give_back(struct agent *a, int drained)
{
	if (drained == 0)
		return;
	output_flush(&a->output);
	for (uint32_t i = 0; i < a->nprocesses; i++)
		process_give_back(&a->processes[i]);
}

static int64_t own_time_ns(void)
{
	struct timespec t;
	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? t.tv_sec * 1000000000ll + t.tv_nsec : 0;
}

static void update_cost(struct agent *a)
{
	agent_cost_read(&a->cost, tick_now(), own_time_ns());
	agent_cost_update(&a->cost, a->processes, a->nprocesses);
}

/* What is done from now on is in nobody's way. */
static void step_has_ended(struct agent *a)
{
	a->snapshots.node.agent_ns = own_time_ns();
	a->snapshots.node.agent_beside_ns = agent_cost_ns(&a->cost);
	standstill_end(&a->standstill);
	set_priority(false);
}

static void serve(struct agent *a, const struct starter *starter)
{
	int64_t wait_ns = POLL_MIN_NS, began_ns = tick_sample().monotonic_ns;
	for (;;) {
		bool over = step_is_over(a, starter); /* asked first: what is there now is all there will be */
		uint32_t known_before = a->nprocesses;
		update_cost(a);
		if (over)
			step_has_ended(a);
		discover_processes(a);
		struct tick_sample now = tick_sample();
		snapshot_clock(&a->snapshots, &now, over);
		int64_t now_ns = now.monotonic_ns, round_ns = now_ns - began_ns;
		began_ns = now_ns;
		if (a->output.path == NULL && a->nprocesses > 0 && over)
			open_output(a); /* the last chance; what is not drained stays in ranks/ */
		int drained = a->output.path != NULL ? drain_all(a, over) : 0;
		/* Those that came are sealed now: there may be descriptors for others. */
		if (over && a->refused && a->nprocesses > known_before)
			continue;
		if (over)
			return;
		if (a->output.path != NULL)
			snapshot_round(&a->snapshots, &a->output, a->processes, a->nprocesses, now_ns);
		standstill_check(&a->standstill, a->processes, a->nprocesses, &now);
		a->sampler.most_ns = standstill_gap_ns(&a->standstill);
		if (a->output.path != NULL)
			sampler_round(&a->sampler, &a->output, a->processes, a->nprocesses, &now);
		give_back(a, drained);
		if (now_ns >= a->check_output_ns)
			check_output(a, now_ns);
		missed_scan(&a->missed, a->processes, a->nprocesses, now_ns);
		wait_ns = rest_ns(a, round_ns, wait_ns);
		update_cost(a);
		sleep_unless_ending(a, missed_rest_ns(&a->missed, now_ns, wait_ns));
	}
}

/* The first of two values that is not empty. */
static const char *either(const char *first, const char *second)
{
	return first[0] != '\0' ? first : second;
}

static int read_layout(struct agent *a, bool given, struct error *e)
{
	char exits[PATH_MAX];
	a->snapshots.node.ranks = a->ranks;
	if (given) {
		a->snapshots.node.exits_fd = EXITS_FD;
		return layout_read_open(LAYOUT_FD, &a->layout, e);
	}
	int n = snprintf(exits, sizeof(exits), "%s/exits", a->stepdir);
	a->snapshots.node.exits_fd =
		n < (int)sizeof(exits) ? open(exits, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	return stepdir_layout(a->stepdir, &a->layout, e);
}

/* Mode bits as the user's own processes would have them, but that the user reads what is theirs and all never write it:
 * what lies where they may nobody trusts (collect/output.c, collect/finish.c). */
static void take_umask(const struct agent *a)
{
	const char *text = layout_text(&a->layout, LAYOUT_UMASK);
	char *end;
	unsigned long bits = strtoul(text, &end, 8);
	if (text[0] >= '0' && text[0] <= '7' && *end == '\0' && bits <= 0777)
		umask((mode_t)bits & 077);
	else if (layout_has(&a->layout, LAYOUT_UMASK))
		umask(077);
	umask(umask(077) | S_IWOTH);
}

/* While there is still a name for it. One that is there has a number already. */
static void make_unsaid(const char *ranks)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s/" UNTRACED_UNSAID, ranks) >= (int)sizeof(path))
		return;
	int fd = process_open_own(path);
	if (fd >= 0)
		close(fd);
	else if (fd == -ENOENT || fd == -EBADMSG)
		stepdir_mark(ranks, UNTRACED_UNSAID, NULL);
}

static int begin(struct agent *a, const char *stepdir, bool given, struct error *e)
{
	a->stepdir = stepdir;
	int rc = read_layout(a, given, e);
	if (rc < 0)
		return rc;
	take_umask(a);
	if (snprintf(a->ranks, sizeof(a->ranks), "%s/ranks", stepdir) >= (int)sizeof(a->ranks))
		return fail(e, -ENAMETOOLONG, "%s: name too long", stepdir);
	make_unsaid(a->ranks);
	const char *node = either(layout_text(&a->layout, LAYOUT_NODE), "node");
	a->output = (struct output){.wanted_dir = either(layout_text(&a->layout, LAYOUT_OUT), a->ranks),
				    .fallback_dir = a->ranks,
				    .name = either(layout_text(&a->layout, LAYOUT_FILE), node),
				    .fd = -1,
				    .of_slurm = layout_has(&a->layout, LAYOUT_UID) &&
						layout_text(&a->layout, LAYOUT_OUT)[0] != '\0',
				    .cap_bytes = layout_number(&a->layout, LAYOUT_TRACE, 0),
				    .floor_bytes = layout_number(&a->layout, LAYOUT_RESERVE, 0),
				    .lost = lost,
				    .naming = naming,
				    .context = a};
	a->budget_bytes = layout_number(&a->layout, LAYOUT_BUDGET, 0);
	sampler_begin(&a->sampler, &a->layout);
	missed_begin(&a->missed, &a->layout, a->ranks);
	standstill_begin(&a->standstill, &a->layout, a->ranks);
	tick_choose();
	a->snapshots.node.layout = &a->layout;
	struct tick_sample now = tick_sample();
	snapshot_clock(&a->snapshots, &now, true);
	return 0;
}

/* An agent died here: go on in its file. -EBUSY when it lives. */
static int resume(struct agent *a, struct error *e)
{
	int rc = predecessor_open(&a->predecessor, a->ranks);
	if (rc <= 0)
		return rc < 0 ? fail(e, rc, "%s: cannot read what an agent before left: %s", a->ranks, strerror(-rc))
			      : 0;
	if (a->predecessor.file.finished && !have_segments(a)) /* it died when all was done */
		return 0;
	const char *path = a->predecessor.file.path;
	rc = a->note_fd = predecessor_lock(a->ranks);
	if (rc >= 0)
		rc = output_resume(&a->output, path, a->predecessor.end);
	if (rc == 0)
		rc = predecessor_claim(a->ranks);
	if (rc < 0)
		return fail(e, rc, "%s: cannot continue it: %s", path, strerror(-rc));
	a->next_index = a->predecessor.nprocesses;
	a->snapshots.node.seq = predecessor_next_seq(&a->predecessor, MPIC_META, MPIC_NODE, 0);
	a->sampler.seq = predecessor_next_seq(&a->predecessor, MPIC_SAMPLE, MPIC_NODE, 0);
	a->snapshots.clock_seq = predecessor_next_seq(&a->predecessor, MPIC_CLOCK, MPIC_NODE, 0);
	return 0;
}

static bool was_refused(const struct agent *a)
{
	for (uint32_t i = 0; i < a->nprocesses; i++)
		if (a->processes[i].refused)
			return true;
	return false;
}

static bool nothing_recorded(const struct agent *a)
{
	uint64_t n = a->predecessor.file.nblocks;
	for (uint32_t i = 0; i < a->nprocesses; i++)
		for (uint32_t t = 0; t < a->processes[i].nthreads; t++)
			n += a->processes[i].threads[t].events + a->processes[i].threads[t].calls;
	return n == 0;
}

/* No process has come, and some have said why: of a step of Slurm its log is where that can be read. */
static void log_untraced(const struct agent *a)
{
	struct untraced u;
	untraced_read(a->ranks, &u);
	if (u.n == 0 || !a->output.of_slurm || output_directory(&a->output) < 0)
		return;
	int dir_fd = open(a->output.wanted_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (uint32_t i = 0; i < u.n && dir_fd >= 0; i++)
		finish_log(dir_fd, "%s: %u process%s ran untraced: %s", layout_text(&a->layout, LAYOUT_NODE),
			   u.whys[i].processes, u.whys[i].processes == 1 ? "" : "es", u.whys[i].why);
	if (dir_fd >= 0)
		close(dir_fd);
}

/* What is drained may have the room that a copy needs. */
static void free_spool(struct agent *a)
{
	output_flush(&a->output);
	for (uint32_t i = 0; i < a->nprocesses; i++)
		if (a->processes[i].spill_fd >= 0)
			(void)!ftruncate(a->processes[i].spill_fd, 0);
}

/* Segments are removed when all of them is in the trace and its end is written; else another agent can try. */
static int finish(struct agent *a, struct error *e)
{
	if (a->output.path == NULL && a->nprocesses > 0)
		return fail(e, -EIO, "%s", a->trouble.text);
	if (a->nprocesses == 0 && !a->refused) {
		predecessor_forget(a->ranks);
		log_untraced(a);
	}
	if (a->nprocesses == 0)
		return a->refused ? fail(e, -EAGAIN, "%s: cannot be read; run `mpitrace collect` again", a->ranks) : 0;
	bool placed = check_output(a, 0);
	if (!placed && !a->refused && !was_refused(a)) { /* the last chance */
		free_spool(a);
		placed = check_output(a, 0);
	}
	int rc = put_end(a), closed = output_close(&a->output);
	for (uint32_t i = 0; i < a->nprocesses; i++)
		process_give_back(&a->processes[i]); /* written, or counted as lost */
	rc = closed < 0 ? closed : rc;
	if (rc < 0)
		return fail(e, rc, "%s: cannot write: %s", a->output.path, strerror(-rc));
	if (a->refused || was_refused(a)) {
		if (nothing_recorded(
			    a)) /* a trace beside the one that the next agent makes would be a second, empty one */
			unlink(a->output.path);
		return fail(e, -EAGAIN, "%s: could not be read whole; run `mpitrace collect` again", a->ranks);
	}
	remove_segments(a);
	predecessor_forget(a->ranks);
	if (!placed)
		return fail(e, -ENOSPC, "%s was removed or replaced, and there is no room to make it again: it is lost",
			    a->output.path);
	return 0;
}

/* Each process that lives has a descriptor or two. */
static void raise_descriptors(void)
{
	struct rlimit most;
	if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < most.rlim_max) {
		most.rlim_cur = most.rlim_max;
		setrlimit(RLIMIT_NOFILE, &most);
	}
}

int agent_run(const char *stepdir, pid_t watch_pid, bool given, struct error *e)
{
	struct agent a = {.note_fd = -1};
	struct starter starter = ending_starter(watch_pid);
	int rc = begin(&a, stepdir, given, e);
	if (rc == 0)
		rc = resume(&a, e);
	if (rc < 0)
		return rc;
	ending_listen();
	raise_descriptors();
	signal(SIGXFSZ, SIG_IGN); /* a full quota is an error of write(), recorded in the trace */
	if (!ending_is_told(stepdir))
		set_priority(true);
	serve(&a, &starter);
	rc = finish(&a, e);
	if (rc == 0)
		untraced_forget(a.ranks);
	if (rc == 0)
		stepdir_mark(a.ranks, "sealed", a.output.path);
	for (uint32_t i = 0; i < a.nprocesses; i++)
		process_close(&a.processes[i]);
	free(a.processes);
	free(a.output.path);
	predecessor_close(&a.predecessor);
	snapshots_done(&a.snapshots);
	sampler_done(&a.sampler);
	missed_done(&a.missed);
	layout_done(&a.layout);
	return rc;
}
