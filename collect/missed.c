/* missed.c - see missed.h. A process is looked at again when it is an eighth older, as MPI may be loaded late, and when
 * it has executed another program. A copy of a process (fork) counts when it stays one: else it is on its way to
 * another program, as what MPI starts itself. What all that costs is bounded by a share of the time, beyond what it may
 * at first: else one look that takes long on a busy machine would be followed by none for the life of a short
 * program. */
#include "collect/missed.h"
#include "collect/foreign.h"
#include "collect/untraced.h"
#include "format/segment.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GAP_MAX_NS 1000000000ll
#define AGE_PART 8
#define COST_PART 200 /* of the agent's time */
#define COST_FREE_NS 100000000ll
#define SEEN_MAX 4096
#define COPY_NS 1000000000ll

typedef VEC(pid_t) pids;

void missed_begin(struct missed *m, const struct layout *layout, const char *ranks)
{
	const char *submit = layout_text(layout, LAYOUT_SUBMIT);
	uint64_t parent = layout_number(layout, LAYOUT_PARENT, 0);
	*m = (struct missed){.parent = parent <= INT_MAX ? (pid_t)parent : 0,
			     .ranks = ranks,
			     .dir = submit[0] == '/' ? submit : "."};
}

void missed_done(struct missed *m)
{
	vec_done(&m->seen);
}

int64_t missed_rest_ns(const struct missed *m, int64_t now_ns, int64_t rest_ns)
{
	int64_t left_ns = m->next_ns > now_ns ? m->next_ns - now_ns : 0;
	return m->parent == 0 || left_ns > rest_ns ? rest_ns : left_ns;
}

static bool is_recorded(const struct process *processes, uint32_t n, pid_t pid)
{
	for (uint32_t i = 0; i < n; i++)
		if (!processes[i].closed && !processes[i].gone && processes[i].file->pid == (uint32_t)pid)
			return true;
	return false;
}

/* NULL without memory, or when there are too many. */
static struct missed_process *find(struct missed *m, pid_t pid, int64_t now_ns)
{
	for (size_t i = 0; i < m->seen.n; i++)
		if (m->seen.at[i].pid == pid)
			return &m->seen.at[i];
	struct missed_process *p = m->seen.n < SEEN_MAX ? vec_more(&m->seen) : NULL;
	if (p != NULL)
		*p = (struct missed_process){.pid = pid, .seen_ns = now_ns};
	return p;
}

/* A directory that is open to others is closed behind this look: nobody waits there for the next one. */
static bool is_due(const struct missed *m, const struct missed_process *p, int64_t now_ns)
{
	if (p->told || m->open)
		return !p->told;
	return !p->classified && now_ns >= p->next_ns && (now_ns - p->seen_ns >= COPY_NS || !process_is_copy(p->pid));
}

static void inspect(struct missed *m, pid_t pid, int64_t now_ns)
{
	char why[UNTRACED_WHY_MAX];
	struct missed_process *p = find(m, pid, now_ns);
	uint64_t image = process_image(pid);
	if (p == NULL)
		return;
	p->round = m->round;
	if (image != p->image) {
		m->changed_ns = now_ns;
		*p = (struct missed_process){.pid = pid, .image = image, .seen_ns = now_ns, .round = m->round};
	}
	if (!is_due(m, p, now_ns))
		return;
	enum foreign is = foreign_classify(pid, p->recorded ? NULL : m->ranks, m->dir, why, sizeof(why));
	p->classified = is != FOREIGN_UNKNOWN;
	p->next_ns = now_ns + (now_ns - p->seen_ns) / AGE_PART;
	p->told = is == FOREIGN_MISSED;
	if (p->told)
		untraced_add(m->ranks, pid, why);
}

/* When its record has come to its end it is still there, and may have left for another root directory. */
static void remember(struct missed *m, pid_t pid, int64_t now_ns)
{
	struct missed_process *p = find(m, pid, now_ns);
	if (p == NULL)
		return;
	p->round = m->round;
	if (!p->recorded)
		p->image = process_image(pid);
	p->recorded = true;
}

/* Each thread has the children that it made. */
static void add_children(pid_t pid, pids *below)
{
	char path[PATH_MAX];
	int child;
	const struct dirent *entry;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	while (d != NULL && (entry = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, entry->d_name);
		FILE *f = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
		while (f != NULL && below->n < SEEN_MAX && fscanf(f, "%d", &child) == 1)
			(void)vec_push(below, child);
		if (f != NULL)
			fclose(f);
	}
	if (d != NULL)
		closedir(d);
}

static void forget_gone(struct missed *m)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->seen.n; i++)
		if (m->seen.at[i].round == m->round)
			m->seen.at[kept++] = m->seen.at[i];
	m->seen.n = kept;
}

/* The plugin has not set the tracer, and said why. */
static bool is_unset(const char *ranks)
{
	char path[PATH_MAX];
	return snprintf(path, sizeof(path), "%s/" UNSET_FILENAME, ranks) < (int)sizeof(path) && access(path, F_OK) == 0;
}

/* The tracer writes nowhere that others may write. Who has come so far is told of; who comes now is recorded again. */
static bool is_open(const char *ranks)
{
	struct stat st;
	return stat(ranks, &st) == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

static void close_again(const char *ranks)
{
	int fd = open(ranks, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		(void)!fchmod(fd, 0700);
		close(fd);
	}
}

static int64_t own_ns(void)
{
	struct timespec t;
	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? t.tv_sec * 1000000000ll + t.tv_nsec : 0;
}

void missed_scan(struct missed *m, const struct process *processes, uint32_t n, int64_t now_ns)
{
	pids below = {0};
	int64_t began_ns = own_ns();
	if (m->parent == 0 || now_ns < m->next_ns)
		return;
	if (is_unset(m->ranks)) {
		m->parent = 0;
		return;
	}
	if (m->first_ns == 0)
		m->first_ns = m->changed_ns = now_ns;
	m->round++;
	m->open = is_open(m->ranks);
	add_children(m->parent, &below);
	for (size_t i = 0; i < below.n; i++) {
		pid_t pid = below.at[i];
		if (pid == getpid())
			continue;
		if (is_recorded(processes, n, pid)) {
			remember(m, pid, now_ns);
			continue;
		}
		inspect(m, pid, now_ns);
		add_children(pid, &below);
	}
	vec_done(&below);
	forget_gone(m);
	if (m->open)
		close_again(m->ranks);
	m->spent_ns += own_ns() - began_ns;
	int64_t gap_ns = (now_ns - m->changed_ns) / AGE_PART;
	gap_ns = gap_ns < MISSED_GAP_NS ? MISSED_GAP_NS : gap_ns > GAP_MAX_NS ? GAP_MAX_NS : gap_ns;
	int64_t earned_ns = m->first_ns + (m->spent_ns - COST_FREE_NS) * COST_PART;
	m->next_ns = now_ns + gap_ns > earned_ns ? now_ns + gap_ns : earned_ns;
}
