/* meta.c - see meta.h. */
#include "collect/meta.h"

#include "topology/topology.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	static const char *const numbers[] = {"nodeid", "nnodes", "ntasks", "restart", NULL};
	static const char *const strings[] = {"node",	  "cluster", "job_id", "step_id", "nodelist", "program",
					      "switches", "slurm",   "submit", "mode",	  NULL};
	for (int i = 0; numbers[i] != NULL; i++)
		cJSON_AddNumberToObject(json, numbers[i], (double)layout_number(l, numbers[i], 0));
	for (int i = 0; strings[i] != NULL; i++)
		cJSON_AddStringToObject(json, strings[i], layout_get(l, strings[i], ""));
	cJSON *argv = cJSON_Parse(layout_get(l, "argv", "[]"));
	cJSON_AddItemToObject(json, "argv", cJSON_IsArray(argv) ? argv : cJSON_CreateArray());
	if (argv != NULL && !cJSON_IsArray(argv))
		cJSON_Delete(argv);
}

/* "<global task> <wait status>" a line. */
static cJSON *exits_of(const char *stepdir)
{
	cJSON *list = cJSON_CreateArray();
	char path[4096];
	int task, status;
	snprintf(path, sizeof(path), "%s/exits", stepdir);
	FILE *f = fopen(path, "re");
	for (unsigned n = 0; f != NULL && n < EXITS_MAX && fscanf(f, "%d %d", &task, &status) == 2; n++) {
		cJSON *one = cJSON_CreateObject();
		cJSON_AddNumberToObject(one, "task", task);
		cJSON_AddNumberToObject(one, "status", status);
		cJSON_AddItemToArray(list, one);
	}
	if (f != NULL)
		fclose(f);
	return list;
}

void meta_node(struct output *o, const struct layout *l, const char *stepdir, uint64_t seq)
{
	cJSON *json = cJSON_CreateObject();
	struct error e;
	add_layout(json, l);
	cJSON *topology = topo_node(&e);
	if (topology != NULL)
		cJSON_AddItemToObject(json, "topology", topology);
	cJSON *clock = cJSON_AddObjectToObject(json, "clock");
	cJSON_AddStringToObject(clock, "source", tick_is_tsc ? "tsc" : "monotonic");
	cJSON_AddItemToObject(json, "exits", exits_of(stepdir));
	put_json(o, MPIC_META, MPIC_NODE, seq, json);
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
	static const char *const names[] = {"", "budget", "spool_full", "dictionary_full", "profile_mode", "pcontrol"};
	return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "unknown";
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
		cJSON_AddNumberToObject(one, "defs_missing", (double)t->area->defs_missing);
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

int meta_process(struct output *o, struct process *p)
{
	const struct segfile *f = p->file;
	uint32_t state = atomic_load_explicit(&f->state, memory_order_acquire);
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "pid", f->pid);
	cJSON_AddNumberToObject(json, "rank", f->rank);
	cJSON_AddNumberToObject(json, "size", f->size);
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
	add_string(json, "library", f->library, sizeof(f->library));
	cJSON_AddNumberToObject(json, "thread_level", f->thread_level);
	add_string(json, "cpus", f->cpus, sizeof(f->cpus));
	cJSON_AddNumberToObject(json, "cpu", f->cpu);
	add_string(json, "switches", f->switches, sizeof(f->switches));
	cJSON_AddStringToObject(json, "state",
				state == SEGFILE_FINALIZED ? "finalized"
				: state == SEGFILE_ABORTED ? "aborted"
				: p->lost		   ? "lost"
							   : "running");
	add_tick(json, "start_tick", f->start_tick);
	add_tick(json, "end_tick", f->end_tick);
	add_tick(json, "init_exit_tick", f->init_exit_tick);
	add_tick(json, "finalize_enter_tick", f->finalize_enter_tick);
	cJSON_AddNumberToObject(json, "overhead_ns", f->overhead_ps / 1000.0);
	cJSON_AddItemToObject(json, "threads", threads_of(p));
	return put_json(o, MPIC_META, p->index, p->meta_seq++, json);
}

int meta_end(struct output *o, uint32_t processes, uint64_t events, uint64_t lost)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "processes", processes);
	cJSON_AddNumberToObject(json, "events", (double)events);
	cJSON_AddNumberToObject(json, "blocks", (double)o->blocks);
	cJSON_AddNumberToObject(json, "failed_blocks", (double)o->failed_blocks);
	cJSON_AddNumberToObject(json, "lost", (double)lost);
	return put_json(o, MPIC_END, MPIC_NODE, 0, json);
}
