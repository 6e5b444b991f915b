/* folded.c - one line a stack and its weight, as flame graph tools read it: program; callers, where they were recorded;
 * function of the call site; MPI function. The weight is time in MPI or in wait states, in microseconds. Stacks are
 * few: they are summed in memory. */
#include "base/index.h"
#include "base/path.h"
#include "base/vec.h"
#include "reports/export/format.h"

#include <math.h>
#include <stdlib.h>

struct stack {
	uint32_t callsite, op, callers; /* callers: as struct mpix_event's stack */
	bool open;
	double ns;
};

struct folded {
	VEC(struct stack) stacks;
	struct index index;
	struct stack wanted;
};

static bool same_stack(const void *context, uint32_t at)
{
	const struct folded *f = context;
	const struct stack *s = &f->stacks.at[at], *w = &f->wanted;
	return s->callsite == w->callsite && s->op == w->op && s->callers == w->callers && s->open == w->open;
}

static int folded_begin(struct exporting *x)
{
	x->state = calloc(1, sizeof(struct folded));
	return x->state != NULL ? 0 : fail(x->e, -ENOMEM, "out of memory");
}

/* ns. Between the tests of a run the program computes: each counts as calls of its call site take in the mean. */
static double weight_of(const struct exporting *x, const struct mpix_event *call)
{
	double span = (double)(call->end_ns - call->start_ns);
	const cJSON *site = call->calls > 1 ? definition(&x->defs.callsites, call->callsite) : NULL;
	double calls = json_number(site, "calls"), s = json_number(site, "time_s");
	if (x->choice->waits)
		return (double)call->wait_ns;
	return calls > 0 && s >= 0 ? fmin(span, (double)call->calls * s * 1e9 / calls) : span;
}

static int folded_event(struct exporting *x, const struct export_event *ev)
{
	struct folded *f = x->state;
	const struct mpix_event *call = ev->call;
	uint64_t hash = index_mix(call->callsite, (uint64_t)call->stack << 32 | call->op);
	f->wanted = (struct stack){call->callsite, call->op, call->stack, opens_has(call), 0};
	uint32_t at = index_find(&f->index, hash, same_stack, f);
	if (at == INDEX_NONE) {
		at = (uint32_t)f->stacks.n;
		if (vec_push(&f->stacks, f->wanted) < 0 || index_add(&f->index, hash, at) < 0)
			return fail(x->e, -ENOMEM, "out of memory");
	}
	f->stacks.at[at].ns += fmax(0, weight_of(x, call));
	return 0;
}

/* A frame must not hold what separates frames, lines and weights. */
static void put_frame(struct out *o, const char *text)
{
	for (; *text != 0; text++)
		out_char(o, *text == ';' ? ':' : (unsigned char)*text < ' ' ? '?' : *text);
}

static void put_caller(struct out *o, const cJSON *frame)
{
	const char *name = json_text(frame, "function_short", json_text(frame, "function", NULL));
	if (name == NULL) {
		put_frame(o, json_text(frame, "module_short", json_text(frame, "module", "?")));
		out_char(o, '+');
		name = json_text(frame, "address", "?");
	}
	put_frame(o, name);
	out_char(o, ';');
}

static const cJSON *caller_of(const struct definitions *defs, const cJSON *number)
{
	double id = json_number_of(number);
	return definition(&defs->frames, id >= 0 && id < DEFINITION_NONE ? (uint32_t)id : DEFINITION_NONE);
}

/* From main inwards: what starts it is the same in all programs. */
static bool is_main(const cJSON *place)
{
	return strcmp(json_text(place, "function", ""), "main") == 0;
}

static void put_callers(struct out *o, const struct definitions *defs, const struct stack *s)
{
	const cJSON *list = json_item(definition(&defs->stacks, s->callers - 1), "frames"), *last = NULL;
	bool whole = is_main(definition(&defs->callsites, s->callsite));
	for (const cJSON *x = list != NULL ? list->child : NULL; x != NULL && !whole; x = x->next) {
		last = x;
		whole = is_main(caller_of(defs, x));
	}
	for (; last != NULL; last = last != list->child ? last->prev : NULL)
		put_caller(o, caller_of(defs, last));
}

static int by_weight(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;
	return (x->ns < y->ns) - (x->ns > y->ns);
}

static int folded_end(struct exporting *x)
{
	struct folded *f = x->state;
	struct out *o = &x->out;
	const char *program = path_name(json_text(json_item(x->defs.analysis, "job"), "program", "program"));
	x->counts.left_out_what = "stacks of less than a microsecond";
	vec_sort(&f->stacks, by_weight);
	for (size_t i = 0; i < f->stacks.n; i++) {
		const struct stack *s = &f->stacks.at[i];
		const char *label = definitions_label(&x->defs, s->callsite);
		if (s->ns < 500) {
			x->counts.left_out++;
			continue;
		}
		put_frame(o, program);
		out_char(o, ';');
		put_callers(o, &x->defs, s);
		if (label[0] != 0) {
			put_frame(o, label);
			out_char(o, ';');
		}
		put_frame(o, x->info->ops[s->op]);
		if (s->open)
			out_text(o, ";(never ended)");
		out_char(o, ' ');
		out_u64(o, (uint64_t)(s->ns / 1000 + 0.5));
		out_char(o, '\n');
	}
	return 0;
}

static void folded_done(struct exporting *x)
{
	struct folded *f = x->state;
	if (f == NULL)
		return;
	vec_done(&f->stacks);
	index_done(&f->index);
	free(f);
}

const struct export_format export_folded = {.name = "folded",
					    .roles = EXPORT_ROLE(EXPORT_WAITS),
					    .begin = folded_begin,
					    .event = folded_event,
					    .end = folded_end,
					    .done = folded_done};
