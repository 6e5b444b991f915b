/* meta.c - see meta.h. */
#include "collect/meta.h"
#include "collect/untraced.h"
#include "collect/open.h"

#include "base/crc32c.h"
#include "base/json.h"
#include "topology/fabric.h"
#include "topology/topology.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXITS_MAX (1u << 20)

static int put_json(struct output *o, enum mpic_kind kind, uint32_t process, uint64_t seq, cJSON *json)
{
	char *text = json != NULL ? cJSON_PrintUnformatted(json) : NULL;
	struct mpic_block b = {.kind = kind, .process = process, .seq = seq};
	int64_t packed = text != NULL ? output_block(o, &b, text, strlen(text)) : -ENOMEM;
	cJSON_free(text);
	cJSON_Delete(json);
	return packed < 0 ? (int)packed : 0;
}

/* Ticks go as text: a double holds 53 bits only. */
static void add_tick(cJSON *json, const char *name, uint64_t tick)
{
	char text[32];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)tick);
	cJSON_AddStringToObject(json, name, text);
}

static void add_layout(cJSON *json, const struct layout *l)
{
	static const enum layout_key numbers[] = {LAYOUT_NODEID, LAYOUT_NNODES, LAYOUT_NTASKS, LAYOUT_RESTART};
	static const enum layout_key texts[] = {LAYOUT_NODE,	 LAYOUT_CLUSTER, LAYOUT_JOB_ID,	  LAYOUT_STEP_ID,
						LAYOUT_NODELIST, LAYOUT_PROGRAM, LAYOUT_SWITCHES, LAYOUT_SLURM,
						LAYOUT_SUBMIT,	 LAYOUT_MODE,	 LAYOUT_POLICY};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		cJSON_AddNumberToObject(json, layout_rows[numbers[i]].name, (double)layout_number(l, numbers[i], 0));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cJSON_AddStringToObject(json, layout_rows[texts[i]].name, layout_text(l, texts[i]));
	if (layout_has(l, LAYOUT_PAGE))
		cJSON_AddNumberToObject(json, layout_rows[LAYOUT_PAGE].name, (double)layout_number(l, LAYOUT_PAGE, 0));
	for (int key = LAYOUT_ACCOUNT; key <= LAYOUT_MODULES; key++)
		if (layout_has(l, key))
			cJSON_AddStringToObject(json, layout_rows[key].name, layout_text(l, key));
	cJSON *argv = cJSON_Parse(layout_text(l, LAYOUT_ARGV));
	cJSON_AddItemToObject(json, layout_rows[LAYOUT_ARGV].name, cJSON_IsArray(argv) ? argv : cJSON_CreateArray());
	if (argv != NULL && !cJSON_IsArray(argv))
		cJSON_Delete(argv);
}

/* Of Slurm: "<global task> <wait status> <tick>" a line. Of launchers (pmpi/exits.c) the same, with a process,
 * in the first EXITS_BYTES_MAX. */
static void add_exits(cJSON *list, FILE *f, bool of_launcher)
{
	char line[128], tick[32];
	int who, status;
	for (unsigned n = 0; f != NULL && n < EXITS_MAX && fgets(line, sizeof(line), f) != NULL; n++) {
		if (of_launcher && ftello(f) > EXITS_BYTES_MAX)
			break;
		int n_read = sscanf(line, "%d %d %31[0-9]", &who, &status, tick);
		if (n_read < (of_launcher ? 3 : 2))
			continue;
		cJSON *one = cJSON_CreateObject();
		cJSON_AddNumberToObject(one, of_launcher ? "pid" : "task", who);
		cJSON_AddNumberToObject(one, "status", status);
		if (n_read == 3)
			cJSON_AddStringToObject(one, "tick", tick);
		cJSON_AddItemToArray(list, one);
	}
}

/* Who started the step says why it ended: "<word> <value>" a line. */
static void add_outcome(cJSON *json, int exits_fd)
{
	char line[128], word[32], value[64];
	int fd = exits_fd >= 0 ? dup(exits_fd) : -1;
	FILE *f = fd >= 0 && lseek(fd, 0, SEEK_SET) == 0 ? fdopen(fd, "r") : NULL;
	cJSON *outcome = cJSON_CreateObject();
	for (unsigned n = 0; f != NULL && n < EXITS_MAX && fgets(line, sizeof(line), f) != NULL; n++)
		if (sscanf(line, "%31[a-z] %63s", word, value) == 2 && !cJSON_HasObjectItem(outcome, word))
			cJSON_AddStringToObject(outcome, word, value);
	if (outcome != NULL && outcome->child != NULL)
		cJSON_AddItemToObject(json, "outcome", outcome);
	else
		cJSON_Delete(outcome);
	if (f != NULL)
		fclose(f);
	else if (fd >= 0)
		close(fd);
}

/* What the tracer's library has left beside the segments. */
static int open_note(const struct node_meta *n, const char *name)
{
	char path[4096];
	struct stat st;
	int fd = n->ranks != NULL && snprintf(path, sizeof(path), "%s/%s", n->ranks, name) < (int)sizeof(path)
			 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
			 : -1;
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static cJSON *exits_of(const struct node_meta *n)
{
	cJSON *list = cJSON_CreateArray();
	const int fds[2] = {n->exits_fd >= 0 ? dup(n->exits_fd) : -1, open_note(n, "exits")};
	for (int i = 0; i < 2; i++) {
		FILE *f = fds[i] >= 0 && lseek(fds[i], 0, SEEK_SET) == 0 ? fdopen(fds[i], "r") : NULL;
		add_exits(list, f, i == 1);
		if (f != NULL)
			fclose(f);
		else if (fds[i] >= 0)
			close(fds[i]);
	}
	return list;
}

static int64_t exits_bytes(const struct node_meta *n)
{
	struct stat st;
	int64_t bytes = n->exits_fd >= 0 && fstat(n->exits_fd, &st) == 0 ? st.st_size : 0;
	static const char *const notes[] = {"exits", "untraced", UNTRACED_UNSAID};
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		int fd = open_note(n, notes[i]);
		bytes += fd >= 0 && fstat(fd, &st) == 0 ? st.st_size : 0;
		if (fd >= 0)
			close(fd);
	}
	return bytes + (n->ranks != NULL ? (int64_t)untraced_names(n->ranks) : 0);
}

static void add_untraced(cJSON *json, const struct node_meta *n)
{
	struct untraced u = {0};
	if (n->ranks != NULL)
		untraced_read(n->ranks, &u);
	cJSON *list = u.n > 0 ? cJSON_AddArrayToObject(json, "untraced") : NULL;
	for (uint32_t i = 0; i < u.n; i++) {
		cJSON *one = cJSON_CreateObject();
		cJSON_AddNumberToObject(one, "processes", u.whys[i].processes);
		cJSON_AddBoolToObject(one, "failed", u.whys[i].failed);
		cJSON_AddStringToObject(one, "why", u.whys[i].why);
		cJSON_AddItemToArray(list, one);
	}
}

/* Not every topology plugin of Slurm tells a task the switches above its node: then the file does that it reads. */
static void add_fabric(cJSON *topology, const struct layout *l)
{
	char addr[1024], path[4096];
	const char *switches = layout_text(l, LAYOUT_SWITCHES), *pattern = strchr(switches, ' ');
	struct fabric *f;
	snprintf(addr, sizeof(addr), "%.*s", (int)strcspn(switches, " "), switches);
	cJSON *above = topo_switches(addr, pattern != NULL ? pattern + 1 : NULL);
	bool in_slurm = *layout_text(l, LAYOUT_SLURM) != '\0';
	if (in_slurm && json_first(above, "path") == NULL && fabric_find(path, sizeof(path)) &&
	    fabric_read(path, &f, NULL) == 0) {
		cJSON *found = fabric_path(f, json_text(above, "node", layout_text(l, LAYOUT_NODE)));
		if (found != NULL)
			cJSON_AddItemToObject(topology, "fabric", found);
		fabric_free(f);
	}
	cJSON_Delete(above);
}

static void add_description_of_node(cJSON *json, struct node_meta *n)
{
	struct error e;
	add_layout(json, n->layout);
	if (n->topology == NULL) {
		n->topology = topo_node(&e); /* takes some 10 ms, and the hardware stays as it is */
		if (n->topology != NULL && !layout_has(n->layout, LAYOUT_REDACT)) /* switches have names, too */
			add_fabric(n->topology, n->layout);
	}
	if (n->topology != NULL &&
	    layout_has(n->layout, LAYOUT_REDACT)) /* its name here is the layout's, or a stand-in */
		cJSON_ReplaceItemInObject(n->topology, "node", cJSON_CreateString(layout_text(n->layout, LAYOUT_NODE)));
	if (n->topology != NULL)
		cJSON_AddItemToObject(json, "topology", cJSON_Duplicate(n->topology, true));
	cJSON *clock = cJSON_AddObjectToObject(json, "clock");
	cJSON_AddStringToObject(clock, "source", tick_is_tsc ? "tsc" : "monotonic");
}

int meta_node(struct output *o, struct node_meta *n, bool whole)
{
	int64_t exits = exits_bytes(n); /* before they are read: what comes after makes it differ the next time */
	whole |= !n->written;
	if (!whole && exits == n->exits_bytes)
		return 0;
	cJSON *json = cJSON_CreateObject();
	if (whole)
		add_description_of_node(json, n);
	cJSON_AddItemToObject(json, "exits", exits_of(n));
	add_untraced(json, n);
	add_outcome(json, n->exits_fd);
	if (n->agent_ns > 0) {
		cJSON_AddNumberToObject(json, "agent_ns", (double)n->agent_ns);
		cJSON_AddNumberToObject(json, "agent_beside_ns", (double)n->agent_beside_ns);
	}
	int rc = put_json(o, MPIC_META, MPIC_NODE, n->seq++, json);
	if (rc == 0) {
		n->written |= whole;
		n->exits_bytes = exits;
	}
	return rc;
}

void meta_node_done(struct node_meta *n)
{
	cJSON_Delete(n->topology);
	n->topology = NULL;
}

static cJSON *argv_of(const struct segfile *f)
{
	cJSON *list = cJSON_CreateArray();
	size_t len = f->argv_len_bytes < sizeof(f->argv) ? f->argv_len_bytes : sizeof(f->argv) - 1;
	for (size_t at = 0; at < len; at += strnlen(f->argv + at, len - at) + 1) {
		char word[sizeof(f->argv)];
		snprintf(word, sizeof(word), "%.*s", (int)strnlen(f->argv + at, len - at), f->argv + at);
		cJSON_AddItemToArray(list, cJSON_CreateString(word));
	}
	return list;
}

static const char *reason_name(uint64_t reason)
{
	static const char *const names[] = {
		"", "budget", "spool_full", "dictionary_full", "profile_mode", "pcontrol", "spool_refused", "confined"};
	return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "unknown";
}

/* If all that had the number were asked. */
static void add_processor(cJSON *one, const struct thread_area *a)
{
	if (a->counted_before + (atomic_load(&a->counted) != THREAD_UNCOUNTED) < a->threads_before + 1)
		return;
	cJSON_AddNumberToObject(one, "running_ns", (double)(a->running_before_ns + atomic_load(&a->running_ns)));
	cJSON_AddNumberToObject(one, "ready_ns", (double)(a->ready_before_ns + atomic_load(&a->ready_ns)));
}

static cJSON *threads_of(const struct process *p)
{
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < p->nthreads; i++) {
		const struct drained_thread *t = &p->threads[i];
		if (t->area == NULL)
			continue;
		cJSON *one = cJSON_CreateObject();
		cJSON_AddNumberToObject(one, "thread", i);
		cJSON_AddNumberToObject(one, "calls", (double)t->calls);
		cJSON_AddNumberToObject(one, "events", (double)t->events);
		cJSON_AddNumberToObject(one, "lost", (double)(t->area->lost + t->area->dropped));
		cJSON_AddNumberToObject(one, "slow_calls", (double)t->area->slow_calls);
		cJSON_AddNumberToObject(one, "slow_ticks", (double)t->area->slow_ticks);
		cJSON_AddNumberToObject(one, "recording_calls", (double)t->area->recording_calls);
		cJSON_AddNumberToObject(one, "recording_ticks", (double)t->area->recording_ticks);
		cJSON_AddNumberToObject(one, "defs_missing", (double)t->area->defs_missing);
		if (t->area->threads_before > 0) {
			cJSON_AddNumberToObject(one, "threads_before", t->area->threads_before);
			cJSON_AddNumberToObject(one, "unused_ticks", (double)t->area->unused_ticks);
		}
		add_processor(one, t->area);
		bool ours = t->area->dropped > 0 &&
			    (t->area->lost == 0 || t->area->dropped_from_tick < t->area->lost_from_tick);
		add_tick(one, "lost_from_tick", ours ? t->area->dropped_from_tick : t->area->lost_from_tick);
		cJSON_AddStringToObject(one, "lost_reason", ours ? "output_full" : reason_name(t->area->lost_reason));
		cJSON_AddItemToArray(list, one);
	}
	return list;
}

static void add_string(cJSON *json, const char *name, const char *text, size_t cap)
{
	char copy[4096 + 1];
	snprintf(copy, sizeof(copy), "%.*s", (int)strnlen(text, cap), text);
	cJSON_AddStringToObject(json, name, copy);
}

/* In every META of a process: whose it is, and whether it is the one that a successor of the agent sees. */
static void add_identity(cJSON *json, const struct segfile *f)
{
	cJSON_AddNumberToObject(json, "pid", f->pid);
	cJSON_AddNumberToObject(json, "rank", f->rank);
	cJSON_AddNumberToObject(json, "size", f->size);
	if (f->rank < 0 && f->launched_rank >= 0) {
		cJSON_AddNumberToObject(json, "launched_rank", f->launched_rank);
		cJSON_AddNumberToObject(json, "launched_size", f->launched_size);
	}
	add_tick(json, "start_tick", f->start_tick);
}

static cJSON *description_of(const struct segfile *f)
{
	cJSON *json = cJSON_CreateObject();
	add_identity(json, f);
	cJSON_AddNumberToObject(json, "world", f->appnum);
	add_string(json, "namespace", f->job_namespace, sizeof(f->job_namespace));
	cJSON_AddNumberToObject(json, "calls_before_init", (double)f->calls_before_init);
	if (f->parents > 0) {
		add_string(json, "parent_namespace", f->parent_namespace, sizeof(f->parent_namespace));
		cJSON_AddNumberToObject(json, "parents", f->parents);
	}
	add_string(json, "host", f->host, sizeof(f->host));
	add_string(json, "exe", f->exe, sizeof(f->exe));
	cJSON_AddItemToObject(json, "argv", argv_of(f));
	cJSON_AddNumberToObject(json, "argv_missing_bytes", f->argv_missing_bytes);
	cJSON_AddNumberToObject(json, "modules_missing", f->modules_missing);
	cJSON_AddNumberToObject(json, "modules_replaced", f->modules_replaced);
	add_string(json, "library", f->library, sizeof(f->library));
	add_string(json, "transports", f->transports, sizeof(f->transports));
	cJSON_AddNumberToObject(json, "thread_level", f->thread_level);
	add_string(json, "cpus", f->cpus, sizeof(f->cpus));
	cJSON_AddNumberToObject(json, "cpu", f->cpu);
	add_string(json, "switches", f->switches, sizeof(f->switches));
	add_tick(json, "init_exit_tick", f->init_exit_tick);
	cJSON_AddNumberToObject(json, "overhead_ns", f->overhead_ps / 1000.0);
	cJSON_AddNumberToObject(json, "recording_ticks", f->recording_ticks_m / 1000.0);
	cJSON_AddNumberToObject(json, "inside_ticks", f->inside_ticks_m / 1000.0);
	return json;
}

/* Absent: none. */
static void add_count(cJSON *json, const char *name, _Atomic uint64_t *count)
{
	uint64_t n = atomic_load_explicit(count, memory_order_relaxed);
	if (n > 0)
		cJSON_AddNumberToObject(json, name, (double)n);
}

static void add_progress(cJSON *json, const struct process *p)
{
	uint32_t state = atomic_load_explicit(&p->file->state, memory_order_acquire);
	cJSON_AddStringToObject(json, "state",
				state == SEGFILE_FINALIZED ? "finalized"
				: state == SEGFILE_ABORTED ? "aborted"
				: p->lost		   ? "lost"
							   : "running");
	add_tick(json, "end_tick", p->file->end_tick);
	if (p->seen_tick != 0)
		add_tick(json, "seen_tick", p->seen_tick);
	if (p->gone_tick != 0)
		add_tick(json, "gone_tick", p->gone_tick);
	add_tick(json, "finalize_enter_tick", p->file->finalize_enter_tick);
	if (counters_absent() != NULL)
		cJSON_AddStringToObject(json, "counters_absent", counters_absent());
#define ADD_COUNT(name, lacks, noun, said) add_count(json, #name, &p->file->name);
	UNCOUNTED(ADD_COUNT)
#undef ADD_COUNT
	cJSON_AddItemToObject(json, "threads", threads_of(p));
	cJSON *open = p->gone && state != SEGFILE_FINALIZED ? open_calls(p) : NULL;
	if (open != NULL)
		cJSON_AddItemToObject(json, "open", open);
}

static uint32_t crc_of(const cJSON *json)
{
	char *text = cJSON_PrintUnformatted(json);
	uint32_t crc = text != NULL ? crc32c(0, text, strlen(text)) : 0;
	cJSON_free(text);
	return crc;
}

int meta_process(struct output *o, struct process *p, bool whole)
{
	cJSON *json = description_of(p->file);
	uint32_t crc = crc_of(json);
	if (!whole && crc != 0 && crc == p->description_crc) {
		cJSON_Delete(json);
		json = cJSON_CreateObject();
		add_identity(json, p->file);
	}
	add_progress(json, p);
	int rc = put_json(o, MPIC_META, p->index, p->meta_seq++, json);
	p->description_crc = rc == 0 ? crc : 0;
	return rc;
}

int meta_end(struct output *o, uint32_t processes, uint64_t events, uint64_t lost)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "processes", processes);
	cJSON_AddNumberToObject(json, "events", (double)events);
	cJSON_AddNumberToObject(json, "blocks", (double)o->blocks);
	cJSON_AddNumberToObject(json, "failed_blocks", (double)o->failed_blocks);
	cJSON_AddNumberToObject(json, "lost", (double)lost);
	return put_json(o, MPIC_END, MPIC_NODE, o->id, json);
}
