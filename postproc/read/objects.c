/* objects.c - see objects.h. As with communicators, identity is the id that the members agreed on. */
#include "postproc/read/objects.h"
#include "base/json.h"
#include "base/utf8.h"
#include "postproc/read/load.h"

#define LOCAL_ID_MAX (1u << 22) /* a larger local id is damage */

struct wanted_object {
	const struct object *at;
	size_t n;
	bool window;
	uint64_t global_id;
};

/* Windows and files share one index: odd numbers are files. */
static bool same_object(const void *context, uint32_t at)
{
	const struct wanted_object *w = context;
	return (at & 1) == !w->window && at / 2 < w->n && w->at[at / 2].global_id == w->global_id;
}

static uint32_t mapped(const uint32_t *at, size_t n, uint32_t id)
{
	return id < n ? at[id] - 1 : NONE; /* 0, not defined, becomes NONE */
}

static int map_id(struct step *s, uint32_t **at, size_t *n, size_t *cap, uint32_t id, uint32_t value)
{
	int code = budget_reach_(&s->kept, at, n, cap, sizeof(**at), id);
	if (code == 0)
		(*at)[id] = value + 1;
	return code == -ENOMEM ? code : 0;
}

static int add(struct step *s, const struct process *p, const struct mpic_def *d, uint32_t *ret_at)
{
	bool window = d->type == MPIC_DEF_WINDOW;
	struct wanted_object w = {window ? s->windows.at : s->files.at, window ? s->windows.n : s->files.n, window,
				  d->global_id};
	uint64_t hash = index_mix(d->global_id, window);
	uint32_t found = index_find(&s->object_index, hash, same_object, &w);
	if (found != INDEX_NONE) {
		*ret_at = found / 2;
		return 0;
	}
	struct object o = {.global_id = d->global_id,
			   .comm = mapped(p->comms.at, p->comms.n, d->comm),
			   .created_by = mapped(p->ops.at, p->ops.n, d->created_by),
			   .mode = d->mode};
	if (!window && (o.name = utf8_clean(d->name.data, d->name.len_bytes)) == NULL)
		return -ENOMEM;
	if ((window ? vec_push(&s->windows, o) : vec_push(&s->files, o)) < 0) {
		free(o.name);
		return -ENOMEM;
	}
	*ret_at = (uint32_t)w.n;
	return index_add(&s->object_index, hash, (uint32_t)w.n * 2 + !window);
}

static int join_object(struct step *s, struct process *p, const struct mpic_def *d)
{
	uint32_t at;
	if (d->id >= LOCAL_ID_MAX)
		return 0;
	int code = add(s, p, d, &at);
	if (code < 0)
		return code;
	if (d->type == MPIC_DEF_FILE)
		return map_id(s, &p->files.at, &p->files.n, &p->files.cap, d->id, at);
	if (__builtin_add_overflow(s->windows.at[at].bytes, d->size_bytes, &s->windows.at[at].bytes))
		s->windows.at[at].bytes = UINT64_MAX;
	return map_id(s, &p->windows.at, &p->windows.n, &p->windows.cap, d->id, at);
}

static void name_window(struct step *s, struct process *p, const struct mpic_def *d)
{
	uint32_t at = mapped(p->windows.at, p->windows.n, d->id);
	if (at == NONE)
		return;
	free(s->windows.at[at].name);
	s->windows.at[at].name = utf8_clean(d->name.data, d->name.len_bytes);
}

int objects_join(struct step *s, struct process *p)
{
	int code = 0;
	for (size_t i = 0; i < p->defs.n && code == 0; i++)
		if (p->defs.at[i].type == MPIC_DEF_WINDOW || p->defs.at[i].type == MPIC_DEF_FILE)
			code = join_object(s, p, &p->defs.at[i]);
	for (size_t i = 0; i < p->defs.n && code == 0; i++)
		if (p->defs.at[i].type == MPIC_DEF_WINDOW_NAME)
			name_window(s, p, &p->defs.at[i]);
	return code;
}

uint32_t objects_of(const struct process *p, const struct sig_call *call)
{
	if (call->shape == SIG_RMA)
		return mapped(p->windows.at, p->windows.n, call->object);
	return call->shape == SIG_IO ? mapped(p->files.at, p->files.n, call->object) : NONE;
}

void objects_done(struct step *s)
{
	for (size_t i = 0; i < s->windows.n; i++)
		free(s->windows.at[i].name);
	for (size_t i = 0; i < s->files.n; i++)
		free(s->files.at[i].name);
	vec_done(&s->windows);
	vec_done(&s->files);
	index_done(&s->object_index);
}
