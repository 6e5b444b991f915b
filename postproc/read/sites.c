/* sites.c - see sites.h. A site is (operation, module, offset), of a caller without the operation. The address of a
 * signature is a return address; when it lies in an MPI library (Fortran bindings calling C), the first frame outside
 * of one is taken. */
#include "postproc/read/sites.h"
#include "base/json.h"
#include "base/path.h"

#include <stdio.h>

struct wanted_module {
	const struct step *step;
	const char *path, *build_id;
};

static bool same_module(const void *context, uint32_t at)
{
	const struct wanted_module *w = context;
	const struct module *m = &w->step->modules.at[at];
	return strcmp(m->path, w->path) == 0 && strcmp(m->build_id, w->build_id) == 0;
}

static void to_hex(struct span bytes, char *to, size_t size)
{
	to[0] = '\0';
	for (size_t i = 0; i < bytes.len_bytes && 2 * i + 2 < size; i++)
		snprintf(to + 2 * i, 3, "%02x", bytes.data[i]);
}

uint32_t sites_module(struct step *s, struct span path, struct span build_id)
{
	struct module m = {.path = strndup((const char *)path.data, path.len_bytes)};
	if (m.path == NULL)
		return NONE;
	to_hex(build_id, m.build_id, sizeof(m.build_id));
	uint64_t hash = index_hash(INDEX_SEED, m.path, strlen(m.path));
	struct wanted_module w = {s, m.path, m.build_id};
	uint32_t at = index_find(&s->module_index, hash, same_module, &w);
	if (at != INDEX_NONE || vec_push(&s->modules, m) < 0) {
		free(m.path);
		return at;
	}
	at = (uint32_t)s->modules.n - 1;
	return index_add(&s->module_index, hash, at) < 0 ? NONE : at;
}

static const struct module_at *module_of(const struct process *p, uint64_t address)
{
	for (size_t i = p->modules.n; i-- > 0;) /* the newest mapping wins */
		if (address >= p->modules.at[i].begin && address < p->modules.at[i].end)
			return &p->modules.at[i];
	return NULL;
}

static bool is_mpi_library(const struct step *s, const struct module_at *at)
{
	static const char *const prefixes[] = {"libmpi", "libpmpi", "libopen-", "libfmpi"};
	if (at == NULL)
		return false;
	const char *name = path_name(s->modules.at[at->module].path);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static struct site place_of(const struct module_at *at, uint64_t address, uint32_t op)
{
	if (at == NULL)
		return (struct site){.op = op, .module = NONE, .offset = address};
	return (struct site){.op = op, .module = at->module, .offset = address - at->bias};
}

/* *ret_callers: the first of its frames that are further out. */
static struct site site_of(const struct step *s, const struct process *p, const struct sig *sig, uint32_t *ret_callers)
{
	uint64_t address = sig->call.address;
	const struct module_at *at = module_of(p, address);
	uint32_t i;
	for (i = 0; i < sig->call.nframes && is_mpi_library(s, at); i++) {
		const struct module_at *outer = module_of(p, sig->call.frames[i]);
		if (outer == NULL)
			break;
		at = outer;
		address = sig->call.frames[i];
	}
	*ret_callers = i;
	return place_of(at, address, sig->op);
}

struct wanted_site {
	const struct site *among;
	struct site site;
};

static bool same_site(const void *context, uint32_t at)
{
	const struct wanted_site *w = context;
	const struct site *x = &w->among[at];
	return x->op == w->site.op && x->module == w->site.module && x->offset == w->site.offset;
}

static uint64_t hash_of(const struct site *site)
{
	return index_mix(site->offset, (uint64_t)site->module << 32 | site->op);
}

/* ---- callers ---- */

static uint32_t frame_number(struct step *s, const struct module_at *at, uint64_t address)
{
	struct wanted_site w = {s->frames.at, place_of(at, address, NONE)};
	uint64_t hash = hash_of(&w.site);
	uint32_t found = index_find(&s->frame_index, hash, same_site, &w);
	if (found != INDEX_NONE)
		return found;
	found = (uint32_t)s->frames.n;
	return vec_push(&s->frames, w.site) < 0 || index_add(&s->frame_index, hash, found) < 0 ? NONE : found;
}

struct wanted_stack {
	const struct step *step;
	const uint32_t *frames;
	uint32_t n;
};

static bool same_stack(const void *context, uint32_t at)
{
	const struct wanted_stack *w = context;
	const struct stack *x = &w->step->stacks.at[at];
	return x->n == w->n && memcmp(w->step->stack_frames.at + x->first, w->frames, w->n * sizeof(*w->frames)) == 0;
}

/* Number of the stack of the last n of step.stack_frames, which go unless it is a new one. */
static int take_stack(struct step *s, uint32_t n, uint32_t *ret_stack)
{
	uint32_t first = (uint32_t)s->stack_frames.n - n;
	struct wanted_stack w = {s, s->stack_frames.at + first, n};
	uint64_t hash = index_hash(INDEX_SEED, w.frames, n * sizeof(*w.frames));
	*ret_stack = index_find(&s->stack_index, hash, same_stack, &w);
	if (*ret_stack == INDEX_NONE && s->stacks.n < MPIX_STACKS_MAX) {
		*ret_stack = (uint32_t)s->stacks.n;
		return vec_push(&s->stacks, (struct stack){first, n}) < 0
			       ? -ENOMEM
			       : index_add(&s->stack_index, hash, *ret_stack);
	}
	s->stack_frames.n = first;
	s->stacks_left_out += *ret_stack == INDEX_NONE;
	return 0;
}

/* As far as its files are known: what is above is anybody's guess. */
static int add_stack(struct step *s, const struct process *p, struct sig *sig, uint32_t callers)
{
	uint32_t n = 0;
	for (uint32_t i = callers; i < sig->call.nframes; i++, n++) {
		const struct module_at *at = module_of(p, sig->call.frames[i]);
		if (at == NULL)
			break;
		uint32_t frame = frame_number(s, at, sig->call.frames[i]);
		if (frame == NONE || vec_push(&s->stack_frames, frame) < 0)
			return -ENOMEM;
	}
	return n > 0 ? take_stack(s, n, &sig->stack) : 0;
}

int sites_add(struct step *s, const struct process *p, struct sig *sig)
{
	if (sig->call.address == 0 || (sig->calls == 0 && !sig->open))
		return 0;
	uint32_t callers;
	struct wanted_site w = {s->sites.at, site_of(s, p, sig, &callers)};
	uint64_t hash = hash_of(&w.site);
	int code = add_stack(s, p, sig, callers);
	sig->site = index_find(&s->site_index, hash, same_site, &w);
	if (sig->site != INDEX_NONE || code < 0)
		return code;
	sig->site = (uint32_t)s->sites.n;
	return vec_push(&s->sites, w.site) < 0 ? -ENOMEM : index_add(&s->site_index, hash, sig->site);
}

struct site *sites_place(struct step *s, size_t i)
{
	return i < s->sites.n ? &s->sites.at[i] : &s->frames.at[i - s->sites.n];
}

size_t sites_places(const struct step *s)
{
	return s->sites.n + s->frames.n;
}

void sites_done(struct step *s)
{
	for (size_t i = 0; i < sites_places(s); i++) {
		free(sites_place(s, i)->file);
		free(sites_place(s, i)->function);
	}
	for (size_t i = 0; i < s->modules.n; i++)
		free(s->modules.at[i].path);
	vec_done(&s->sites);
	vec_done(&s->frames);
	vec_done(&s->stacks);
	vec_done(&s->stack_frames);
	vec_done(&s->modules);
	index_done(&s->site_index);
	index_done(&s->frame_index);
	index_done(&s->stack_index);
	index_done(&s->module_index);
}
