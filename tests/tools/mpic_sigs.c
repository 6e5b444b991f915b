/* mpic_sigs.c FILE... - what .mpic files say, one JSON object a line, for tests that look closer than the analysis
 * does: {"process", "meta": ...} of each process, {"process", "thread", "def", ...} for each definition,
 * {"process", "thread", "sig", ...} for each signature with its calls, {"process", "thread", "extra": [...]} for
 * each event with extra words. Ranks are those of MPI_COMM_WORLD. */
#include "format/mpic.h"
#include "format/sig.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#define SIGS_MAX 65536

static uint64_t calls[SIGS_MAX];

static void print(cJSON *line)
{
	char *text = cJSON_PrintUnformatted(line);
	puts(text);
	free(text);
	cJSON_Delete(line);
}

static cJSON *begin(const struct mpic_block *b)
{
	cJSON *line = cJSON_CreateObject();
	cJSON_AddNumberToObject(line, "process", b->process);
	cJSON_AddNumberToObject(line, "thread", b->thread);
	return line;
}

static void number(cJSON *line, const char *name, double value)
{
	cJSON_AddNumberToObject(line, name, value);
}

static void words(cJSON *line, const char *name, const uint64_t *w, uint32_t n)
{
	cJSON *list = cJSON_AddArrayToObject(line, name);
	for (uint32_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber((double)w[i]));
}

/* {first:32 | stride:16 | count:16} */
static void members(cJSON *line, const struct sig_call *c)
{
	cJSON *list = cJSON_AddArrayToObject(line, "group");
	for (uint32_t i = 0; i < c->nlist; i++)
		for (uint32_t k = 0; k < c->list[i] >> 48; k++)
			cJSON_AddItemToArray(list, cJSON_CreateNumber((int32_t)(uint32_t)c->list[i] +
								      (int)k * (int16_t)(c->list[i] >> 32 & 0xffff)));
}

static void sizes(cJSON *line, const struct sig_call *c)
{
	cJSON *list = cJSON_AddArrayToObject(line, "sizes");
	for (uint32_t i = 0; i < c->nlist; i++)
		for (uint32_t k = 0; k < c->list[i] >> 48; k++)
			cJSON_AddItemToArray(list, cJSON_CreateNumber((double)(c->list[i] & 0xffffffffffffull)));
}

static void print_sig(const struct mpic_block *b, const struct mpic_def *d)
{
	struct sig_call c;
	cJSON *line = begin(b);
	number(line, "sig", d->id);
	number(line, "calls", d->id < SIGS_MAX ? (double)calls[d->id] : -1);
	if (sig_decode(d->words, d->nwords, &c) < 0 || c.unknown) {
		cJSON_AddStringToObject(line, "error", "does not decode");
		print(line);
		return;
	}
	number(line, "op", c.op);
	number(line, "shape", c.shape);
	number(line, "flags", c.flags);
	number(line, "kind", (double)(d->words[0] >> 56));
	number(line, "comm", c.comm);
	number(line, "peer", c.peer);
	number(line, "tag", c.tag);
	number(line, "datatype", c.datatype);
	number(line, "count", (double)c.count);
	number(line, "object", c.object);
	number(line, "bytes", (double)c.bytes);
	number(line, "fetched_bytes", (double)c.fetched_bytes);
	number(line, "assertion", c.assertion);
	number(line, "lock_type", c.lock_type);
	number(line, "how", c.io_how);
	number(line, "send_bytes", (double)c.send_unit_bytes);
	number(line, "recv_bytes", (double)c.recv_unit_bytes);
	number(line, "new_comm", c.new_comm);
	words(line, "frames", c.frames, c.nframes);
	if (c.shape == SIG_RMA)
		members(line, &c);
	if (c.shape == SIG_COLL)
		sizes(line, &c);
	print(line);
}

static void print_def(const struct mpic_block *b, const struct mpic_def *d)
{
	char hex[32], name[MPIC_NAME_MAX + 1];
	cJSON *line = begin(b);
	number(line, "def", d->type);
	number(line, "id", d->id);
	snprintf(name, sizeof(name), "%.*s", (int)d->name.len_bytes, (const char *)d->name.data);
	cJSON_AddStringToObject(line, "name", name);
	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)d->global_id);
	cJSON_AddStringToObject(line, "global_id", hex);
	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)d->type_hash);
	cJSON_AddStringToObject(line, "hash", hex);
	number(line, "elements", (double)d->type_elements);
	number(line, "comm", d->comm);
	number(line, "mode", d->mode);
	number(line, "bytes", (double)d->size_bytes);
	number(line, "parent", d->parent);
	number(line, "size", d->size);
	print(line);
}

static void defs(const struct mpic_block *b, const struct buf *payload, bool sigs)
{
	struct cursor c = cursor_over(payload->data, payload->len_bytes);
	struct mpic_def d;
	while (mpic_next_def(&c, &d) == 1)
		if (d.type == MPIC_DEF_SIG && sigs)
			print_sig(b, &d);
		else if (d.type != MPIC_DEF_SIG && !sigs)
			print_def(b, &d);
}

static void totals(const struct buf *payload)
{
	struct cursor c = cursor_over(payload->data, payload->len_bytes);
	struct mpic_total t;
	while (mpic_next_total(&c, &t) == 1)
		if (t.sig < SIGS_MAX)
			calls[t.sig] = t.calls;
}

static void events(const struct mpic_block *b, const struct buf *payload)
{
	static struct mpic_events it;
	struct mpic_event ev;
	uint32_t n;
	if (mpic_events_begin(&it, cursor_over(payload->data, payload->len_bytes), &n) < 0)
		return;
	while (mpic_events_next(&it, &ev) == 1) {
		if (ev.nextra == 0)
			continue;
		cJSON *line = begin(b);
		number(line, "event_of", ev.sig);
		words(line, "extra", ev.extra, ev.nextra);
		print(line);
	}
}

static void meta(const struct mpic_block *b, const struct buf *payload)
{
	cJSON *line = begin(b);
	cJSON_AddItemToObject(line, "meta", cJSON_ParseWithLength((const char *)payload->data, payload->len_bytes));
	print(line);
}

/* Blocks stand by thread, then kind: definitions before totals, so signatures wait for the last block of their
 * thread. */
static void thread(const struct mpic_file *f, const struct mpic_block *b, size_t n)
{
	_cleanup_buf_ struct buf payload = {0};
	memset(calls, 0, sizeof(calls));
	for (size_t i = 0; i < n; i++) {
		if (mpic_read(f, &b[i], &payload, NULL) < 0)
			continue;
		if (b[i].kind == MPIC_DEFS)
			defs(&b[i], &payload, false);
		else if (b[i].kind == MPIC_META)
			meta(&b[i], &payload);
		else if (b[i].kind == MPIC_EVENTS)
			events(&b[i], &payload);
		else if (b[i].kind == MPIC_PROFILE)
			totals(&payload);
	}
	for (size_t i = 0; i < n; i++)
		if (b[i].kind == MPIC_DEFS && mpic_read(f, &b[i], &payload, NULL) == 0)
			defs(&b[i], &payload, true);
}

static void file(const struct mpic_file *f)
{
	for (size_t i = 0, n; i < f->nblocks; i += n) {
		const struct mpic_block *b = &f->blocks[i];
		for (n = 1; i + n < f->nblocks && b[n].process == b->process && b[n].thread == b->thread;)
			n++;
		if (b->process != MPIC_NODE)
			thread(f, b, n);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct mpic_file f;
		struct error e;
		if (mpic_open(argv[i], &f, &e) < 0) {
			fprintf(stderr, "%s\n", e.text);
			return 3;
		}
		file(&f);
		mpic_close(&f);
	}
	return 0;
}
