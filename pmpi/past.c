/* past.c - see past.h. A library that is opened with RTLD_DEEPBIND finds MPI_X in the MPI library that it needs, before
 * what is preloaded. Nobody sees its calls; what shows is where its references to MPI's functions lead in the end (the
 * dynamic section's relocations: System V gABI, 5; ld.so(8)). Where they are bound at the first call, only those count
 * that were called. */
#include "pmpi/past.h"

#include "pmpi/modules.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARIES_MAX 64u /* of which something is known already; of others a second look counts again */

/* A library's dynamic section. */
struct object {
	uintptr_t base;
	const Elf64_Sym *symbols;
	const char *strings;
	size_t strings_len;
	const Elf64_Rela *calls, *others;
	size_t ncalls, nothers;
};

static struct library {
	uintptr_t base;
	uint32_t n;
} libraries[LIBRARIES_MAX];

/* glibc makes most of these pointers absolute when it loads a library. */
static const void *at(uintptr_t base, uint64_t value)
{
	return (const void *)(value < base ? base + value : value);
}

static struct object object_of(uintptr_t base, const ElfW(Dyn) * d)
{
	struct object o = {.base = base};
	for (; d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_SYMTAB:
			o.symbols = at(base, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			o.strings = at(base, d->d_un.d_ptr);
			break;
		case DT_STRSZ:
			o.strings_len = d->d_un.d_val;
			break;
		case DT_JMPREL:
			o.calls = at(base, d->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			o.ncalls = d->d_un.d_val / sizeof(*o.calls);
			break;
		case DT_RELA:
			o.others = at(base, d->d_un.d_ptr);
			break;
		case DT_RELASZ:
			o.nothers = d->d_un.d_val / sizeof(*o.others);
			break;
		default:
			break;
		}
	return o;
}

static int by_name(const void *name, const void *op_name)
{
	return strcmp(name, *(const char *const *)op_name);
}

/* MPI_X or PMPI_X; not data, as MPI_F_STATUS_IGNORE. */
static bool is_call(const char *name)
{
	name += name[0] == 'P';
	return strncmp(name, "MPI_", 4) == 0 && bsearch(name, op_names, OP_COUNT, sizeof(op_names[0]), by_name) != NULL;
}

static uint32_t bound(const struct object *o, const Elf64_Rela *r, size_t n)
{
	uint32_t found = 0;
	for (const Elf64_Rela *end = r + n; r != NULL && r < end; r++) {
		uint64_t symbol = ELF64_R_SYM(r->r_info), target;
		if (symbol == 0)
			continue;
		uint32_t name = o->symbols[symbol].st_name;
		if (name >= o->strings_len || !is_call(o->strings + name))
			continue;
		memcpy(&target, (const void *)(o->base + r->r_offset), sizeof(target));
		found += modules_is_mpi(target);
	}
	return found;
}

/* What has been counted of it before is not counted again. */
static void note(uintptr_t base, uint32_t n)
{
	struct library *l = libraries;
	while (l < libraries + LIBRARIES_MAX && l->base != base && l->n != 0)
		l++;
	uint32_t before = l < libraries + LIBRARIES_MAX && l->base == base ? l->n : 0;
	if (n <= before)
		return;
	if (l < libraries + LIBRARIES_MAX)
		*l = (struct library){base, n};
	atomic_fetch_add(&segfile->functions_past, n - before);
}

static void scan_object(uintptr_t base, const ElfW(Dyn) * dynamic)
{
	struct object o = object_of(base, dynamic);
	if (o.symbols != NULL && o.strings != NULL && !modules_is_mpi((uintptr_t)dynamic))
		note(base, bound(&o, o.calls, o.ncalls) + bound(&o, o.others, o.nothers));
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size, (void)context;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			scan_object(info->dlpi_addr, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
	return 0;
}

void past_note(const struct link_map *closing)
{
	if (closing == NULL)
		dl_iterate_phdr(visit_object, NULL);
	else if (closing->l_ld != NULL)
		scan_object(closing->l_addr, closing->l_ld);
}
