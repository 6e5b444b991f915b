/* sites.c - see sites.h. A site is (operation, module, offset). The address of a signature is a
 * return address; when it lies in an MPI library (Fortran bindings calling C), the first frame
 * outside of one is taken. */
#include "postproc/read/sites.h"
#include "base/json.h"

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
	const char *path = s->modules.at[at->module].path, *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static struct site site_of(const struct step *s, const struct process *p, const struct sig *sig)
{
	uint64_t address = sig->call.address;
	const struct module_at *at = module_of(p, address);
	for (uint32_t i = 0; i < sig->call.nframes && is_mpi_library(s, at); i++) {
		const struct module_at *outer = module_of(p, sig->call.frames[i]);
		if (outer == NULL)
			break;
		at = outer;
		address = sig->call.frames[i];
	}
	struct site site = {.op = sig->op, .module = NONE, .offset = address};
	if (at != NULL) {
		site.module = at->module;
		site.offset = address - at->bias;
	}
	return site;
}

struct wanted_site {
	const struct step *step;
	struct site site;
};

static bool same_site(const void *context, uint32_t at)
{
	const struct wanted_site *w = context;
	const struct site *x = &w->step->sites.at[at];
	return x->op == w->site.op && x->module == w->site.module && x->offset == w->site.offset;
}

int sites_add(struct step *s, const struct process *p, struct sig *sig)
{
	if (sig->call.address == 0 || (sig->calls == 0 && !sig->open))
		return 0;
	struct wanted_site w = {s, site_of(s, p, sig)};
	uint64_t hash = index_mix(w.site.offset, (uint64_t)w.site.module << 32 | w.site.op);
	sig->site = index_find(&s->site_index, hash, same_site, &w);
	if (sig->site != INDEX_NONE)
		return 0;
	sig->site = (uint32_t)s->sites.n;
	return vec_push(&s->sites, w.site) < 0 ? -ENOMEM : index_add(&s->site_index, hash, sig->site);
}

void sites_done(struct step *s)
{
	for (size_t i = 0; i < s->sites.n; i++) {
		free(s->sites.at[i].file);
		free(s->sites.at[i].function);
	}
	for (size_t i = 0; i < s->modules.n; i++)
		free(s->modules.at[i].path);
	vec_done(&s->sites);
	vec_done(&s->modules);
	index_done(&s->site_index);
	index_done(&s->module_index);
}
