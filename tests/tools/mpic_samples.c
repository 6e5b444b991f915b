/* mpic_samples.c FILE - the samples in a .mpic, one JSON object a line, and behind them the totals that the last
 * profile of each thread has: {"seq", "bytes", "whole", "tick", "realtime_ns", "gap_ns", "processes": [{"process",
 * "state", "resident_bytes", "threads": [{"thread", "totals": [[sig, calls, ticks]], "open"|"still",
 * "system", "counters"}]}], "memory": [used, limit]}, {"profile": [[process, thread, sig, calls, ticks]]}. */
#include "format/mpic.h"
#include "format/mpic_sample.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>

struct at {
	cJSON *sample, *processes, *process, *thread;
};

static void push_numbers(cJSON *list, const uint64_t *numbers, size_t n)
{
	cJSON *row = cJSON_CreateArray();
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(row, cJSON_CreateNumber((double)numbers[i]));
	cJSON_AddItemToArray(list, row);
}

static void add_open(cJSON *thread, const struct mpic_sample_item *item)
{
	cJSON *open = cJSON_AddObjectToObject(thread, "open"), *words = cJSON_AddArrayToObject(open, "words");
	cJSON_AddNumberToObject(open, "age_ticks", (double)item->age_ticks);
	cJSON_AddNumberToObject(open, "sig", item->sig);
	for (uint32_t i = 0; i < item->nwords; i++) {
		char text[24];
		snprintf(text, sizeof(text), "%" PRIx64, item->words[i]);
		cJSON_AddItemToArray(words, cJSON_CreateString(text));
	}
}

static void add_system(cJSON *thread, const struct mpic_system *s)
{
	cJSON *o = cJSON_AddObjectToObject(thread, "system");
	cJSON_AddNumberToObject(o, "cpu_ns", (double)s->cpu_ns);
	cJSON_AddNumberToObject(o, "wait_ns", (double)s->wait_ns);
	cJSON_AddNumberToObject(o, "slices", (double)s->slices);
	cJSON_AddNumberToObject(o, "minor_faults", (double)s->minor_faults);
	cJSON_AddNumberToObject(o, "major_faults", (double)s->major_faults);
	cJSON_AddNumberToObject(o, "cpu", (double)s->cpu);
	cJSON_AddNumberToObject(o, "run_state", (double)s->run_state);
	cJSON_AddNumberToObject(o, "involuntary", (double)s->involuntary);
}

static void add_item(struct at *at, const struct mpic_sample_item *item)
{
	const uint64_t total[3] = {item->sig, item->calls, item->ticks};
	cJSON *list, *o;
	switch (item->type) {
	case MPIC_SAMPLE_PROCESS:
		cJSON_AddItemToArray(at->processes, at->process = cJSON_CreateObject());
		cJSON_AddNumberToObject(at->process, "process", item->process);
		cJSON_AddNumberToObject(at->process, "state", item->state);
		cJSON_AddNumberToObject(at->process, "resident_bytes", (double)item->resident_bytes);
		cJSON_AddArrayToObject(at->process, "threads");
		break;
	case MPIC_SAMPLE_THREAD:
		at->thread = cJSON_CreateObject();
		cJSON_AddItemToArray(cJSON_GetObjectItem(at->process, "threads"), at->thread);
		cJSON_AddNumberToObject(at->thread, "thread", item->thread);
		cJSON_AddArrayToObject(at->thread, "totals");
		break;
	case MPIC_SAMPLE_TOTAL:
		push_numbers(cJSON_GetObjectItem(at->thread, "totals"), total, 3);
		break;
	case MPIC_SAMPLE_OPEN:
		add_open(at->thread, item);
		break;
	case MPIC_SAMPLE_STILL:
		cJSON_AddTrueToObject(at->thread, "still");
		break;
	case MPIC_SAMPLE_SYSTEM:
		add_system(at->thread, &item->system);
		break;
	case MPIC_SAMPLE_MEMORY:
		list = cJSON_AddArrayToObject(at->sample, "memory");
		cJSON_AddItemToArray(list, cJSON_CreateNumber((double)item->used_bytes));
		cJSON_AddItemToArray(list, cJSON_CreateNumber((double)item->limit_bytes));
		break;
	case MPIC_SAMPLE_COUNTERS:
		o = cJSON_AddObjectToObject(at->thread, "counters");
		cJSON_AddNumberToObject(o, "cycles", (double)item->counters.cycles);
		cJSON_AddNumberToObject(o, "instructions", (double)item->counters.instructions);
		cJSON_AddNumberToObject(o, "user_ns", (double)item->counters.user_ns);
		break;
	case MPIC_SAMPLE_STARTED:
		cJSON_AddNumberToObject(at->thread, "next_serial", (double)item->next_serial);
		list = cJSON_AddArrayToObject(at->thread, "started");
		for (uint32_t i = 0; i < item->nstarted; i++)
			cJSON_AddItemToArray(list, cJSON_CreateNumber(item->started[i]));
		break;
	case MPIC_SAMPLE_OTHERS:
		cJSON_AddNumberToObject(at->process, "others", (double)item->others);
		break;
	}
}

static void print(cJSON *json)
{
	char *text = cJSON_PrintUnformatted(json);
	puts(text);
	cJSON_free(text);
	cJSON_Delete(json);
}

static int print_sample(const struct mpic_block *b, const struct buf *payload)
{
	struct mpic_sample head;
	struct mpic_sample_reader r;
	struct mpic_sample_item item;
	int more = mpic_sample_begin(cursor_over(payload->data, payload->len_bytes), &head, &r);
	if (more < 0)
		return more;
	cJSON *json = cJSON_CreateObject();
	cJSON_AddNumberToObject(json, "seq", (double)b->seq);
	cJSON_AddNumberToObject(json, "bytes", b->packed_len_bytes);
	cJSON_AddBoolToObject(json, "whole", head.whole);
	cJSON_AddNumberToObject(json, "tick", (double)head.tick);
	cJSON_AddNumberToObject(json, "realtime_ns", (double)head.realtime_ns);
	cJSON_AddNumberToObject(json, "gap_ns", (double)head.gap_ns);
	struct at at = {.sample = json, .processes = cJSON_AddArrayToObject(json, "processes")};
	while ((more = mpic_sample_next(&r, &item)) == 1)
		add_item(&at, &item);
	print(json);
	return more;
}

static bool is_last_profile(const struct mpic_file *f, size_t i)
{
	const struct mpic_block *b = &f->blocks[i], *next = i + 1 < f->nblocks ? b + 1 : NULL;
	return b->kind == MPIC_PROFILE &&
	       (next == NULL || next->kind != b->kind || next->process != b->process || next->thread != b->thread);
}

int main(int argc, char **argv)
{
	struct mpic_file f;
	struct error e;
	struct buf payload = {0};
	int code = argc == 2 ? mpic_open(argv[1], &f, &e) : -1;
	if (code < 0) {
		fprintf(stderr, "%s\n", argc == 2 ? e.text : "needs a file");
		return 3;
	}
	cJSON *last = cJSON_CreateObject(), *profile = cJSON_AddArrayToObject(last, "profile");
	for (size_t i = 0; i < f.nblocks && code == 0; i++) {
		const struct mpic_block *b = &f.blocks[i];
		struct mpic_total t;
		if ((b->kind != MPIC_SAMPLE && !is_last_profile(&f, i)) || mpic_read(&f, b, &payload, NULL) < 0)
			continue;
		if (b->kind == MPIC_SAMPLE) {
			code = print_sample(b, &payload);
			continue;
		}
		struct cursor c = cursor_over(payload.data, payload.len_bytes);
		while (mpic_next_total(&c, &t) == 1)
			push_numbers(profile, (const uint64_t[]){b->process, b->thread, t.sig, t.calls, t.ticks}, 5);
	}
	print(last);
	buf_done(&payload);
	mpic_close(&f);
	return code < 0 ? 1 : 0;
}
