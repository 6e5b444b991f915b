/* open.c - see open.h. In: what pmpi/ stored before the call (format/segment.h).  Out: JSON. Handles and the library's
 * numbers become those of the trace. Nothing of it need be whole or true: it is the program's memory. */
#include "collect/open.h"

#include "format/mpic.h"
#include "format/sig.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TRIES 4

static uint32_t comm_of(const struct segfile *f, uint64_t handle)
{
	for (uint32_t i = 0; i < OPEN_COMM_PLACES; i++) {
		const struct open_comm *c = &f->comms[open_comm_place(handle, i)];
		if (c->handle == handle)
			return (uint32_t)c->id;
	}
	return MPIC_NO_COMM;
}

static uint32_t peer_of(const struct segfile *f, int32_t peer)
{
	if (peer >= 0)
		return (uint32_t)peer;
	return peer == f->proc_null ? (uint32_t)SIG_PROC_NULL : (uint32_t)SIG_ANY;
}

static uint64_t wildcards(const struct segfile *f, int32_t peer, int32_t tag)
{
	uint64_t flags = (peer == f->any_source ? SIG_ANY_SOURCE : 0) | (tag < 0 ? SIG_ANY_TAG : 0);
	return flags << 24;
}

static uint32_t put_requests(uint64_t *w, const struct open_words *o)
{
	uint32_t n = 3;
	uint32_t count = o->nrequests <= OPEN_REQUESTS_MAX ? o->nrequests : 0;
	w[2] = sig_pair(count, count);
	for (uint32_t i = 0; i < count; i++) {
		w[n++] = sig_run_word(o->requests[i].serial, 1, SIG_RUN_ABSOLUTE | SIG_RUN_OTHER_THREAD);
		w[n++] = o->requests[i].thread;
	}
	return n;
}

/* Of Start. */
static uint32_t put_group(uint64_t *w, uint32_t sig, const struct open_words *o)
{
	uint32_t n = open_kind(sig) == RMA_START && o->nrequests <= OPEN_GROUP_MAX ? o->nrequests : 0;
	w[0] = sig_head((uint16_t)(sig & OPEN_OP), SIG_RMA, 0, n, 0, open_kind(sig));
	memcpy(&w[5], o->requests, n * sizeof(w[0]));
	return n;
}

/* How many. */
static uint32_t put_words(uint64_t *w, uint32_t sig, const struct segfile *f, const struct open_words *o)
{
	uint32_t comm = comm_of(f, o->comm);
	enum sig_shape shape = open_shape(sig);
	w[0] = sig_head((uint16_t)(sig & OPEN_OP), shape, 0, 0, 0,
			shape == SIG_COLL || shape == SIG_RMA ? open_kind(sig) : 0);
	w[1] = o->address;
	w[2] = sig_pair(comm, peer_of(f, o->peer));
	w[3] = sig_pair((uint32_t)o->tag, MPIC_NO_TYPE);
	w[4] = 0;
	switch (shape) {
	case SIG_RECV:
	case SIG_PROBE:
		w[0] |= wildcards(f, o->peer, o->tag);
		return 5;
	case SIG_SEND:
		return 5;
	case SIG_SENDRECV:
		w[0] |= wildcards(f, o->recv_peer, o->recv_tag);
		w[5] = sig_pair(comm, peer_of(f, o->recv_peer));
		w[6] = sig_pair((uint32_t)o->recv_tag, MPIC_NO_TYPE);
		w[7] = 0;
		return 8;
	case SIG_COLL:
		w[3] = 0;
		return 5;
	case SIG_COMM:
		w[2] = sig_pair(comm, MPIC_NO_COMM);
		return 3;
	case SIG_RMA:
		w[2] = sig_pair((uint32_t)o->comm, peer_of(f, o->peer));
		w[3] = sig_pair((uint32_t)o->tag, (uint32_t)o->recv_tag);
		return 5 + put_group(w, sig, o);
	case SIG_COMPLETE:
		return put_requests(w, o);
	default: /* nothing but the operation is known */
		w[1] = 0;
		return 2;
	}
}

/* Of a program that goes on meanwhile: the same before and after all else was read, or it is in one call after the
 * other. */
static bool read_call(const struct thread_area *area, struct open_call *ret_call, struct open_words *ret_words)
{
	const struct open_call *open = (const void *)((const char *)area + THREAD_OPEN_OFFSET);
	for (int i = 0; i < TRIES; i++) {
		struct open_call call = {.inside = __atomic_load_n(&open->inside, __ATOMIC_ACQUIRE),
					 .sig = __atomic_load_n(&open->sig, __ATOMIC_ACQUIRE),
					 .enter_tick = __atomic_load_n(&open->enter_tick, __ATOMIC_ACQUIRE)};
		*ret_words = area->open;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		*ret_call = call;
		if (__atomic_load_n(&open->inside, __ATOMIC_RELAXED) == call.inside &&
		    __atomic_load_n(&open->sig, __ATOMIC_RELAXED) == call.sig &&
		    __atomic_load_n(&open->enter_tick, __ATOMIC_RELAXED) == call.enter_tick)
			return call.inside != 0;
	}
	return false;
}

bool open_call_now(const struct process *p, uint32_t thread, struct open_now *ret_now)
{
	struct open_call call;
	struct open_words words;
	if (!read_call(p->threads[thread].area, &call, &words))
		return false;
	*ret_now = (struct open_now){.enter_tick = call.enter_tick};
	if ((call.sig & OPEN_BY_NAME) == 0)
		ret_now->sig = call.sig;
	else
		ret_now->nwords = put_words(ret_now->words, call.sig, p->file, &words);
	return true;
}

uint32_t started_now(const struct process *p, uint32_t thread, uint64_t *ret_next_serial, uint32_t *ret_sigs)
{
	const uint64_t *area = (const void *)((const char *)p->threads[thread].area + THREAD_STARTED_OFFSET);
	uint64_t words[THREAD_STARTED], next = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < THREAD_STARTED; i++) {
		words[i] = __atomic_load_n(&area[i], __ATOMIC_RELAXED);
		if (words[i] != 0 && (uint32_t)words[i] % THREAD_STARTED == i && (uint32_t)words[i] >= next)
			next = (uint64_t)(uint32_t)words[i] + 1;
	}
	for (uint64_t serial = next; serial > 0 && n < THREAD_STARTED; n++) {
		uint64_t word = words[--serial % THREAD_STARTED];
		if ((uint32_t)word != (uint32_t)serial || word >> 32 == 0 || word >> 32 > MPIC_SIGS_MAX)
			break;
		ret_sigs[n] = (uint32_t)(word >> 32) - 1;
	}
	*ret_next_serial = next;
	return n;
}

static cJSON *one_call(const struct process *p, uint32_t thread)
{
	struct open_now now;
	char enter[32];
	if (!open_call_now(p, thread, &now))
		return NULL;
	cJSON *one = cJSON_CreateObject();
	cJSON_AddNumberToObject(one, "thread", thread);
	snprintf(enter, sizeof(enter), "%" PRIu64, now.enter_tick);
	cJSON_AddStringToObject(one, "enter_tick", enter);
	if (now.nwords == 0) {
		cJSON_AddNumberToObject(one, "sig", now.sig);
		return one;
	}
	cJSON *list = cJSON_AddArrayToObject(one, "words");
	for (uint32_t i = 0; i < now.nwords; i++) {
		char text[32];
		snprintf(text, sizeof(text), "%" PRIx64, now.words[i]);
		cJSON_AddItemToArray(list, cJSON_CreateString(text));
	}
	return one;
}

cJSON *open_calls(const struct process *p)
{
	cJSON *list = NULL;
	for (uint32_t i = 0; i < p->nthreads; i++) {
		cJSON *one = p->threads[i].area != NULL ? one_call(p, i) : NULL;
		if (one == NULL)
			continue;
		if (list == NULL)
			list = cJSON_CreateArray();
		cJSON_AddItemToArray(list, one);
	}
	return list;
}
