/* step.c - what does not belong to reading: operations by name, reasons, classes, the end. */
#include "postproc/read/step.h"
#include "base/peers.h"
#include "postproc/read/comms.h"
#include "postproc/read/load.h"
#include "postproc/read/objects.h"
#include "postproc/read/sites.h"
#include "postproc/read/types.h"

#include <stdarg.h>
#include <stdio.h>

#define RATE_SPAN_NS 10000000 /* a reading's own error, some 100 ns, is then 10 ppm */

bool step_is_written_here(const struct step *s)
{
	return s->peers == NULL || s->peers->rank == 0;
}

void step_reason(struct step *s, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n >= 0 && vec_push(&s->reasons, text) < 0)
		free(text);
}

struct wanted_op {
	const struct step *step;
	const char *name;
};

static bool same_op(const void *context, uint32_t at)
{
	const struct wanted_op *w = context;
	return strcmp(w->step->ops.at[at], w->name) == 0;
}

uint32_t step_op(struct step *s, const char *name)
{
	uint64_t hash = index_hash(INDEX_SEED, name, strlen(name));
	struct wanted_op w = {s, name};
	uint32_t at = index_find(&s->op_index, hash, same_op, &w);
	if (at != INDEX_NONE)
		return at;
	char *copy = strdup(name);
	if (copy == NULL || vec_push(&s->ops, copy) < 0) {
		free(copy);
		return NONE;
	}
	at = (uint32_t)s->ops.n - 1;
	return index_add(&s->op_index, hash, at) < 0 ? NONE : at;
}

static enum mpix_class class_by_name(const char *name)
{
	static const struct {
		const char *prefix;
		enum mpix_class class;
	} rows[] = {
		{"MPI_Wait", MPIX_WAIT},	  {"MPI_Test", MPIX_WAIT},	{"MPI_Win_fence", MPIX_SYNC},
		{"MPI_Win_", MPIX_RMA},		  {"MPI_File_", MPIX_IO},	{"MPI_Put", MPIX_RMA},
		{"MPI_Get_accumulate", MPIX_RMA}, {"MPI_Accumulate", MPIX_RMA}, {"MPI_Rput", MPIX_RMA},
		{"MPI_Rget", MPIX_RMA},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strncmp(name, rows[i].prefix, strlen(rows[i].prefix)) == 0)
			return rows[i].class;
	return MPIX_OTHER;
}

bool step_is_message(const char *op)
{
	return strcasestr(op, "send") != NULL || strcasestr(op, "recv") != NULL;
}

const bool uncounted_lacks[UNCOUNTED_ROWS] = {
#define LACKS(name, lacks, noun, said) [UNCOUNTED_##name] = (lacks),
	UNCOUNTED(LACKS)
#undef LACKS
};

bool process_is_whole(const struct process *p)
{
	for (size_t i = 0; i < p->threads.n; i++)
		if (p->threads.at[i].lost > 0 || p->threads.at[i].gap || p->threads.at[i].not_taken)
			return false;
	for (int i = 0; i < UNCOUNTED_ROWS; i++)
		if (uncounted_lacks[i] && p->uncounted[i] > 0)
			return false;
	return p->bad_blocks == 0 && p->bad_totals == 0;
}

bool process_is_known(const struct process *p)
{
	return process_is_whole(p) && p->uncounted[UNCOUNTED_calls_in_callbacks] == 0;
}

uint64_t thread_unusable(const struct thread *t)
{
	uint64_t known = t->read + t->left_out;
	return t->left_out + (t->written > known ? t->written - known : 0);
}

bool step_is_finalize(const struct step *s, const struct sig *sig)
{
	return sig->op != NONE && strcmp(s->ops.at[sig->op], "MPI_Finalize") == 0;
}

enum mpix_class step_class(const struct step *s, const struct sig *sig)
{
	switch (sig->call.shape) {
	case SIG_SEND:
	case SIG_RECV:
	case SIG_SENDRECV:
	case SIG_START:
		return MPIX_P2P;
	case SIG_PROBE:
	case SIG_COMPLETE:
		return MPIX_WAIT;
	case SIG_COLL:
		return sig->call.coll == COLL_BARRIER ? MPIX_SYNC : MPIX_COLL;
	case SIG_IO:
		return MPIX_IO;
	case SIG_RMA:
		return sig->call.rma == RMA_FENCE ? MPIX_SYNC : MPIX_RMA;
	default:
		return sig->op == NONE ? MPIX_OTHER : class_by_name(s->ops.at[sig->op]);
	}
}

uint64_t step_events(const struct process *p)
{
	uint64_t n = 0;
	for (size_t i = 0; p != NULL && i < p->threads.n; i++)
		n += p->threads.at[i].events;
	return n;
}

void node_done(struct node *n)
{
	free(n->name);
	cJSON_Delete(n->meta);
	mpic_close(&n->file);
	vec_done(&n->clock);
}

bool node_rate_is_known(const struct node *n)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	for (size_t i = 0; i < n->clock.n; i++) {
		int64_t ns = n->clock.at[i].monotonic_ns;
		first = ns < first ? ns : first;
		last = ns > last ? ns : last;
	}
	return n->monotonic || n->hz > 0 || (last > first && (uint64_t)last - (uint64_t)first >= RATE_SPAN_NS);
}

void step_done(struct step *s)
{
	for (size_t i = 0; i < s->processes.n; i++) {
		process_done(s->processes.at[i]);
		free(s->processes.at[i]);
	}
	for (size_t i = 0; i < s->nodes.n; i++)
		node_done(&s->nodes.at[i]);
	for (size_t i = 0; i < s->ops.n; i++)
		free(s->ops.at[i]);
	for (size_t i = 0; i < s->reasons.n; i++)
		free(s->reasons.at[i]);
	comms_done(s);
	objects_done(s);
	types_done(s);
	vec_done(&s->worlds);
	sites_done(s);
	vec_done(&s->processes);
	vec_done(&s->nodes);
	vec_done(&s->ops);
	vec_done(&s->reasons);
	index_done(&s->op_index);
	free(s->ranks);
	memset(s, 0, sizeof(*s));
}
