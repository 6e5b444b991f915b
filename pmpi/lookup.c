/* lookup.c - see lookup.h; and dlsym() for the program. Who opens the MPI library and asks for its functions by name
 * (Julia, ctypes, plugins) never meets the symbols that a preloaded library exports. So a function of the MPI library
 * is answered with the front's PMPI_X: it leads to the library and past profiling libraries, as the handle does.
 *
 * All else is libc's, with the caller's return address: what RTLD_NEXT and RTLD_DEFAULT mean depends on it. Sanitizers
 * and allocators call dlsym() before any constructor ran: nothing here needs one, or memory. */
#include "pmpi/lookup.h"

#include "base/libmpi.h"
#include "base/path.h"
#include "pmpi/old_libc.h"
#include "pmpi/settings.h"

#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void *dlsym_fn(void *handle, const char *name);

dlsym_fn *lookup_libc __attribute__((visibility("hidden")));
void *lookup_for_program(void *handle, const char *name) __attribute__((visibility("hidden")));

#ifdef __aarch64__
__asm__("	.text\n"
	"	.globl dlsym\n"
	"	.type dlsym, %function\n"
	"dlsym:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]\n"
	"	bl lookup_for_program\n"
	"	mov x16, x0\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	cbnz x16, 1f\n"
	"	adrp x17, lookup_libc\n"
	"	ldr x17, [x17, :lo12:lookup_libc]\n"
	"	br x17\n"
	"1:	mov x0, x16\n"
	"	ret\n"
	"	.size dlsym, .-dlsym\n");
#else
__asm__("	.text\n"
	"	.globl dlsym\n"
	"	.type dlsym, @function\n"
	"dlsym:\n"
	"	pushq %rdi; pushq %rsi; subq $8, %rsp\n"
	"	call lookup_for_program\n"
	"	addq $8, %rsp; popq %rsi; popq %rdi\n"
	"	testq %rax, %rax\n"
	"	jne 1f\n"
	"	jmp *lookup_libc(%rip)\n"
	"1:	ret\n"
	"	.size dlsym, .-dlsym\n");
#endif

struct wanted {
	const char *name;
	void *found;
};

static bool is_within(const struct dl_phdr_info *info, uintptr_t address)
{
	uintptr_t at = address - info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    at - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

/* Some loaders (musl) leave offsets in there, others have made them addresses. */
static const void *table(const struct dl_phdr_info *info, const ElfW(Dyn) * d, ElfW(Sxword) tag)
{
	for (; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return (const void *)(d->d_un.d_ptr + (d->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr : 0));
	return NULL;
}

static void *symbol_in(const struct dl_phdr_info *info, const ElfW(Dyn) * d, const char *name)
{
	const ElfW(Sym) *s = table(info, d, DT_SYMTAB);
	const char *names = table(info, d, DT_STRTAB);
	const uint32_t *hash = table(info, d, DT_HASH);
	for (uint32_t n = s != NULL && names != NULL && hash != NULL ? hash[1] : 0; n > 0; n--, s++)
		if (s->st_shndx != SHN_UNDEF && strcmp(names + s->st_name, name) == 0)
			return (void *)(info->dlpi_addr + s->st_value);
	return NULL;
}

static int find_symbol(struct dl_phdr_info *info, size_t size, void *context)
{
	struct wanted *w = context;
	(void)size;
	if (is_within(info, (uintptr_t)find_symbol))
		return 0;
	for (int i = 0; i < info->dlpi_phnum && w->found == NULL; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			w->found = symbol_in(info, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
					     w->name);
	return w->found != NULL;
}

/* Where there is no dlvsym(): of another libc, or an older one in a program that is not linked with libdl. */
static void *search(void *handle, const char *name)
{
	struct wanted w = {name, NULL};
	if (handle == RTLD_NEXT)
		dl_iterate_phdr(find_symbol, &w);
	return w.found;
}

static dlsym_fn *libc(void)
{
	dlsym_fn *f = __atomic_load_n(&lookup_libc, __ATOMIC_RELAXED);
	if (__builtin_expect(f == NULL, false)) {
		f = (dlsym_fn *)(dlvsym != NULL ? dlvsym(RTLD_NEXT, "dlsym", OLDEST_LIBC) : search(RTLD_NEXT, "dlsym"));
		if (f == NULL)
			f = search;
		__atomic_store_n(&lookup_libc, f, __ATOMIC_RELAXED);
	}
	return f;
}

void *lookup(void *handle, const char *name)
{
	void *found = libc()(handle, name);
	__asm__ volatile(""); /* no tail call: who asks is the front */
	return found;
}

bool lookup_is_libmpi(const char *path)
{
	static const char *const prefixes[] = LIBMPI_NAMES;
	const char *base = path_name(path);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(base, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static int is_in_libmpi(struct dl_phdr_info *info, size_t size, void *address)
{
	(void)size;
	return info->dlpi_name != NULL && lookup_is_libmpi(info->dlpi_name) && is_within(info, (uintptr_t)address);
}

/* Our PMPI_X. */
static void *stub(const char *mpi)
{
	static void *self;
	Dl_info info;
	char name[128] = "P";
	if (self == NULL && dladdr((void *)(uintptr_t)stub, &info) != 0)
		self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (self == NULL || strlen(mpi) + 2 > sizeof(name))
		return NULL;
	memcpy(name + 1, mpi, strlen(mpi) + 1);
	return lookup(self, name);
}

static mpitrace_closing_fn *closing;

void lookup_watch(mpitrace_closing_fn *tell)
{
	__atomic_store_n(&closing, tell, __ATOMIC_RELEASE); /* partner: in lookup_tell() */
}

void lookup_tell(void *handle)
{
	mpitrace_closing_fn *tell = __atomic_load_n(&closing, __ATOMIC_ACQUIRE); /* partner: in lookup_watch() */
	if (tell != NULL)
		tell(handle);
}

/* NULL: libc is to answer. Who has opened a library asks it for something: where UCX has put its own dlclose() into
 * the program, which calls libc's, that it was closed is seen by what comes next. The tracer itself has no handles. */
void *lookup_for_program(void *handle, const char *name)
{
	dlsym_fn *f = libc();
	if (handle != RTLD_NEXT && handle != RTLD_DEFAULT)
		lookup_tell(NULL);
	const char *mpi = name != NULL && name[0] == 'P' ? name + 1 : name;
	if (name == NULL || strncmp(mpi, "MPI_", 4) != 0 || handle == RTLD_NEXT || handle == RTLD_DEFAULT ||
	    setting("MPITRACE_DIR") == NULL)
		return NULL;
	void *found = f(handle, name);
	return found != NULL && dl_iterate_phdr(is_in_libmpi, found) != 0 ? stub(mpi) : NULL;
}
