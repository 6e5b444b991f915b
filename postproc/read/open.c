/* open.c - the calls in which a process died, or is. In: "open" of its META (collect/open.c), samples of its node.
 * Out: process.open, each with a signature that no event has. */
#include "base/json.h"
#include "postproc/read/ends.h"
#include "postproc/read/load.h"
#include "postproc/read/replay.h"

#include <math.h>
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

static int add_open(struct process *p, uint32_t thread, uint32_t sig, int64_t enter)
{
	return vec_push(&p->open, (struct open_sig){.thread = thread,
						    .sig = sig,
						    .enter_ns = enter,
						    .since_s = NAN,
						    .served_s = NAN,
						    .needs = NONE});
}

static int open_words(struct process *p, uint32_t thread, int64_t enter, const uint64_t *words, uint32_t n)
{
	struct sig fresh = sig_of_thread(thread);
	int code = sig_read(p, words, n, &fresh);
	if (code < 0)
		return code == -EBADMSG ? 0 : code;
	fresh.open = true;
	if (vec_push(&p->sigs, fresh) < 0)
		return -ENOMEM;
	return add_open(p, thread, (uint32_t)p->sigs.n - 1, enter);
}

static int open_sig(struct process *p, uint32_t thread, int64_t enter, int64_t id)
{
	const struct thread *t = &p->threads.at[thread];
	if (id < 0 || (uint64_t)id >= t->sig_of.n || t->sig_of.at[id] == 0)
		return 0;
	p->sigs.at[t->sig_of.at[id] - 1].open = true;
	return add_open(p, thread, t->sig_of.at[id] - 1, enter);
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
		code = n >= 2 ? open_words(p, (uint32_t)thread, enter, words, n)
			      : open_sig(p, (uint32_t)thread, enter, json_int(item, "sig", -1));
	}
	return code;
}

/* ---- samples ---- */

static struct open_sig *open_of(const struct process *p, uint32_t thread)
{
	for (size_t i = 0; i < p->open.n; i++)
		if (p->open.at[i].thread == thread)
			return &p->open.at[i];
	return NULL;
}

static int64_t enter_tick(const struct live_node *n, const struct live_thread *t)
{
	return n->tick > t->age_ticks ? (int64_t)(n->tick - t->age_ticks) : 0;
}

int open_sampled(struct process *p, uint32_t thread, const struct live_node *n, const struct live_thread *t)
{
	return t->nwords >= 2 ? open_words(p, thread, enter_tick(n, t), t->words, t->nwords)
			      : open_sig(p, thread, enter_tick(n, t), t->sig);
}

int open_note_sample(struct process *p, struct open_sig *o, const struct live_node *n, const struct live_thread *t)
{
	int code = 0;
	o->stands = t->still > 0;
	o->held_up = t->held_up;
	o->since_s = n->ns_per_tick > 0 ? (double)t->age_ticks * n->ns_per_tick / 1e9 : NAN;
	if (t->served_tick > 0)
		o->served_s = o->since_s - (double)(n->tick - t->served_tick) * n->ns_per_tick / 1e9;
	o->next_serial = t->next_serial;
	o->first_started = (uint32_t)p->started.n;
	o->nstarted = t->nstarted;
	for (uint32_t i = 0; i < t->nstarted && code == 0; i++)
		code = vec_push(&p->started, t->started[i]);
	return code;
}

static int note_process(struct process *p, const struct live_node *n, const struct live_process *known)
{
	int code = 0;
	size_t noted = 0;
	for (uint32_t i = 0; i < known->threads.n && i < p->threads.n && code == 0; i++) {
		const struct live_thread *t = &known->threads.at[i];
		struct open_sig *o = open_of(p, i);
		if (t->open && o != NULL && o->enter_ns == enter_tick(n, t)) {
			code = open_note_sample(p, o, n, t);
			noted += o->stands;
		}
	}
	if (noted == p->open.n) /* else one of them may have started more since */
		p->other_threads = known->other_threads;
	return code;
}

/* Its agent did not live to see its end: what it was in at the end only samples tell. */
static bool was_cut(const struct step *s, const struct process *p)
{
	return !s->nodes.at[p->node].file.finished && !ends_said(p) && p->open.n == 0;
}

static int take_samples(struct process *p, const struct live_node *n, const struct live_process *known)
{
	int code = 0;
	for (uint32_t i = 0; i < known->threads.n && i < p->threads.n && code == 0; i++) {
		size_t before = p->open.n;
		if (known->threads.at[i].open)
			code = open_sampled(p, i, n, &known->threads.at[i]);
		for (size_t k = before; k < p->open.n; k++)
			p->open.at[k].sampled = true;
	}
	return code;
}

void open_forget(struct process *p, uint32_t thread, int64_t at_ns)
{
	size_t left = 0;
	for (size_t i = 0; i < p->open.n; i++) {
		const struct open_sig *o = &p->open.at[i];
		if (!o->sampled || o->thread != thread || o->enter_ns >= at_ns)
			p->open.at[left++] = *o;
	}
	p->open.n = left;
}

/* Of one that was killed: what the kernel counted of threads from the first sample that saw each to the last. */
static void note_processors(struct process *p, const struct live_process *known)
{
	if (!isnan(p->running_ns + p->ready_ns))
		return;
	double running_ns = 0, ready_ns = 0;
	uint32_t seen = 0;
	for (uint32_t i = 0; i < known->threads.n; i++) {
		const struct live_thread *t = &known->threads.at[i];
		running_ns += (double)t->cpu_ns;
		ready_ns += (double)t->wait_ns;
		seen += t->cpu_ns + t->wait_ns > 0;
	}
	if (seen < 2)
		return;
	p->running_ns = running_ns;
	p->ready_ns = ready_ns;
}

static bool any_asks(const struct step *s, uint32_t node)
{
	for (size_t i = 0; i < s->processes.n; i++) {
		const struct process *p = s->processes.at[i];
		if (p->node == node && (p->open.n > 0 || (p->threads.n > 1 && isnan(p->running_ns)) || was_cut(s, p)))
			return true;
	}
	return false;
}

int open_by_samples(struct step *s)
{
	int code = 0;
	for (uint32_t i = 0; i < s->nodes.n && code == 0; i++) {
		struct live_node n = {0};
		if (!any_asks(s, i))
			continue;
		code = replay_node(&s->nodes.at[i], &n);
		for (size_t k = 0; k < s->processes.n && code == 0; k++) {
			struct process *p = s->processes.at[k];
			if (p->node != i || p->index >= n.processes.n)
				continue;
			note_processors(p, &n.processes.at[p->index]);
			if (was_cut(s, p))
				code = take_samples(p, &n, &n.processes.at[p->index]);
			if (code == 0)
				code = note_process(p, &n, &n.processes.at[p->index]);
		}
		replay_done(&n);
	}
	return code;
}
