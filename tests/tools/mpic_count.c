/* mpic_count.c FILE - what a .mpic holds, counted straight from its blocks, without the analysis: one JSON object
 * {finished, damaged_bytes, end, processes: [{meta, events, missing_blocks, undefined, ops, totals}]}. ops = calls
 * by operation in the events, totals = in the profile; undefined = events whose signature is not defined. */
#include "format/mpic.h"
#include "base/json.h"
#include "postproc/read/meta.h"
#include "format/sig.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS 65536

struct signature {
	uint16_t op;
	bool defined, polls, continues;
};

struct counted {
	char *names[OPS];
	uint64_t ops[OPS], totals[OPS];
	uint64_t events, missing_blocks, undefined;
	struct signature *sigs; /* of the current thread */
	uint32_t nsigs;
	cJSON *meta;
};

static struct signature *signature(struct counted *c, uint32_t id)
{
	static struct signature none;
	if (id >= MPIC_SIGS_MAX)
		return &none;
	if (id >= c->nsigs) {
		uint32_t n = id + 1024;
		c->sigs = realloc(c->sigs, n * sizeof(*c->sigs));
		if (c->sigs == NULL)
			abort();
		memset(c->sigs + c->nsigs, 0, (n - c->nsigs) * sizeof(*c->sigs));
		c->nsigs = n;
	}
	return &c->sigs[id];
}

static void take_defs(struct counted *c, struct cursor payload)
{
	struct mpic_def d;
	while (mpic_next_def(&payload, &d) == 1) {
		if (d.type == MPIC_DEF_OP && d.id < OPS && c->names[d.id] == NULL)
			c->names[d.id] = strndup((const char *)d.name.data, d.name.len_bytes);
		if (d.type != MPIC_DEF_SIG || d.nwords < 2)
			continue;
		uint64_t w = d.words[0];
		unsigned shape = w >> 16 & 0xff;
		bool continues = (shape == SIG_START || shape == SIG_COMPLETE) && w >> 56 == 1;
		*signature(c, d.id) = (struct signature){(uint16_t)w, true, (w >> 24 & SIG_POLLS) != 0, continues};
	}
}

static void take_events(struct counted *c, struct cursor payload)
{
	static struct mpic_events it;
	struct mpic_event ev;
	uint32_t n;
	if (mpic_events_begin(&it, payload, &n) < 0)
		return;
	while (mpic_events_next(&it, &ev) == 1) {
		const struct signature *s = signature(c, ev.sig);
		c->events++;
		c->undefined += !s->defined;
		c->ops[s->op] += s->polls && ev.nextra > 0 ? ev.extra[0] : !s->continues;
	}
}

static void take_totals(struct counted *c, struct cursor payload)
{
	struct mpic_total t;
	while (mpic_next_total(&payload, &t) == 1)
		c->totals[signature(c, t.sig)->op] += t.calls;
}

static void take_thread(struct counted *c, const struct mpic_file *f, size_t first, size_t end)
{
	uint64_t expected = 0;
	_cleanup_buf_ struct buf payload = {0};
	size_t profile = end;
	free(c->sigs);
	c->sigs = NULL;
	c->nsigs = 0;
	for (size_t i = first; i < end; i++) { /* by kind: META, DEFS, EVENTS, PROFILE */
		const struct mpic_block *b = &f->blocks[i];
		if (mpic_read(f, b, &payload, NULL) < 0)
			continue;
		struct cursor at = cursor_over(payload.data, payload.len_bytes);
		if (b->kind == MPIC_META) {
			meta_supersede(&c->meta, cJSON_ParseWithLength((const char *)payload.data, payload.len_bytes));
		} else if (b->kind == MPIC_DEFS) {
			take_defs(c, at);
		} else if (b->kind == MPIC_EVENTS) {
			c->missing_blocks += b->seq - expected;
			expected = b->seq + 1;
			take_events(c, at);
		} else if (b->kind == MPIC_PROFILE) {
			profile = i;
		}
	}
	if (profile < end && mpic_read(f, &f->blocks[profile], &payload, NULL) == 0)
		take_totals(c, cursor_over(payload.data, payload.len_bytes));
}

static void put_ops(cJSON *json, const char *name, const struct counted *c, const uint64_t *counts)
{
	cJSON *o = cJSON_AddObjectToObject(json, name);
	for (uint32_t i = 0; i < OPS; i++)
		if (counts[i] > 0)
			cJSON_AddNumberToObject(o, c->names[i] != NULL ? c->names[i] : "?", (double)counts[i]);
}

static cJSON *count_process(const struct mpic_file *f, size_t first, size_t end)
{
	struct counted *c = calloc(1, sizeof(*c));
	cJSON *json = cJSON_CreateObject();
	if (c == NULL)
		abort();
	for (size_t i = first, n; i < end; i += n) {
		for (n = 1; i + n < end && f->blocks[i + n].thread == f->blocks[i].thread;)
			n++;
		take_thread(c, f, i, i + n);
	}
	cJSON_AddItemToObject(json, "meta", c->meta != NULL ? c->meta : cJSON_CreateObject());
	cJSON_AddNumberToObject(json, "events", (double)c->events);
	cJSON_AddNumberToObject(json, "missing_blocks", (double)c->missing_blocks);
	cJSON_AddNumberToObject(json, "undefined", (double)c->undefined);
	put_ops(json, "ops", c, c->ops);
	put_ops(json, "totals", c, c->totals);
	for (uint32_t i = 0; i < OPS; i++)
		free(c->names[i]);
	free(c->sigs);
	free(c);
	return json;
}

static cJSON *end_of(const struct mpic_file *f)
{
	_cleanup_buf_ struct buf text = {0};
	for (size_t i = 0; i < f->nblocks; i++)
		if (f->blocks[i].kind == MPIC_END && mpic_read(f, &f->blocks[i], &text, NULL) == 0)
			return cJSON_ParseWithLength((const char *)text.data, text.len_bytes);
	return cJSON_CreateNull();
}

int main(int argc, char **argv)
{
	struct mpic_file f;
	struct error e;
	if (argc != 2 || mpic_open(argv[1], &f, &e) < 0) {
		fprintf(stderr, "%s\n", argc == 2 ? e.text : "usage: mpic_count FILE");
		return 3;
	}
	cJSON *json = cJSON_CreateObject();
	cJSON_AddBoolToObject(json, "finished", f.finished);
	cJSON_AddNumberToObject(json, "damaged_bytes", (double)f.damaged_bytes);
	cJSON_AddItemToObject(json, "end", end_of(&f));
	cJSON *list = cJSON_AddArrayToObject(json, "processes");
	for (size_t i = 0, n; i < f.nblocks; i += n) {
		for (n = 1; i + n < f.nblocks && f.blocks[i + n].process == f.blocks[i].process;)
			n++;
		if (f.blocks[i].process != MPIC_NODE)
			cJSON_AddItemToArray(list, count_process(&f, i, i + n));
	}
	char *text = cJSON_PrintUnformatted(json);
	puts(text);
	cJSON_free(text);
	cJSON_Delete(json);
	mpic_close(&f);
	return 0;
}
