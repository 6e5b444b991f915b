/* open.c - the calls in which a process died. In: "open" of its META (collect/open.c).  Out: process.open, each with a
 * signature that no event has. */
#include "base/json.h"
#include "postproc/read/load.h"

#include <stdlib.h>

#define WORDS_MAX 64

/* Words as text; 0 where it is nothing like that. */
static uint32_t read_words(const cJSON *item, uint64_t *words)
{
	uint32_t n = 0;
	for (const cJSON *w = json_first(item, "words"); w != NULL; w = w->next) {
		const char *text = cJSON_GetStringValue(w);
		if (text == NULL || n == WORDS_MAX)
			return 0;
		words[n++] = strtoull(text, NULL, 16);
	}
	return n;
}

int step_open_words(struct process *p, uint32_t thread, int64_t enter, const uint64_t *words, uint32_t n)
{
	struct sig fresh = {.thread = thread,
			    .op = NONE,
			    .comm = NONE,
			    .site = NONE,
			    .stack = NONE,
			    .object = NONE,
			    .defined = true,
			    .open = true};
	struct buf copy = {0};
	buf_bytes(&copy, words, n * sizeof(*words));
	if (buf_failed(&copy) || vec_push(&p->payloads, copy) < 0) {
		buf_done(&copy);
		return -ENOMEM;
	}
	if (sig_decode((const uint64_t *)(const void *)copy.data, n, &fresh.call) < 0)
		return 0;
	if (vec_push(&p->sigs, fresh) < 0)
		return -ENOMEM;
	return vec_push(&p->open, (struct open_sig){thread, (uint32_t)p->sigs.n - 1, enter});
}

int step_open_sig(struct process *p, uint32_t thread, int64_t enter, int64_t id)
{
	const struct thread *t = &p->threads.at[thread];
	if (id < 0 || (uint64_t)id >= t->sig_of.n || t->sig_of.at[id] == 0)
		return 0;
	p->sigs.at[t->sig_of.at[id] - 1].open = true;
	return vec_push(&p->open, (struct open_sig){thread, t->sig_of.at[id] - 1, enter});
}

int open_load(struct process *p)
{
	uint64_t words[WORDS_MAX];
	int code = 0;
	for (const cJSON *item = json_first(p->meta, "open"); item != NULL && code == 0; item = item->next) {
		int64_t thread = json_int(item, "thread", -1);
		if (thread < 0 || (uint64_t)thread >= p->threads.n)
			continue;
		uint32_t n = read_words(item, words);
		int64_t enter = json_tick(item, "enter_tick");
		code = n >= 2 ? step_open_words(p, (uint32_t)thread, enter, words, n)
			      : step_open_sig(p, (uint32_t)thread, enter, json_int(item, "sig", -1));
	}
	return code;
}
