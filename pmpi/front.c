/* front.c - the preloaded library: exports MPI_* and PMPI_* of every MPI we know (stubs generated), and on the first
 * call finds out which MPI library this process uses, loads the tracer built for it and fills the slots.
 *
 * In: LD_PRELOAD, MPITRACE_DIR.  Out: slots that lead to wrappers, or straight to the MPI library when there is nothing
 * to trace. Needs nothing but libc: in a process without MPI it does nothing at all.
 *
 * The MPI library is found among the loaded objects, not by RTLD_NEXT: programs that load it RTLD_LOCAL (mpi4py, Julia)
 * have it outside the global scope.
 *
 * Between us and the MPI library there may be profiling libraries of the program's own. Such a tool wraps MPI_X, and
 * calls PMPI_X for it:
 *
 *   program's MPI_X -> front_enter -> wrapper, records -> front_on -> tool's MPI_X (what it calls is inside of MPI_X)
 *   tool's PMPI_X -> front_enter, leaves a note -> wrapper, is inside -> front_on, reads the note -> MPI library
 *
 * Where there is none for X, the wrapper calls the MPI library, and both names lead to the wrapper.
 *
 * A process that runs untraced leaves a line that says why, $MPITRACE_DIR/untraced: "<pid> failed <why>" where the
 * tracer could not be loaded, "<pid> silent <why>" where an MPI library is loaded and no call of it came. */
#include "pmpi/front.h"

#include "base/path.h"
#include "pmpi/lock.h"
#include "pmpi/lookup.h"
#include "pmpi/notes.h"
#include "pmpi/old_libc.h"
#include "pmpi/settings.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* stubs.S */
extern const char front_names[];
extern void *front_slots[];
extern const uint64_t front_count;
extern struct target front_targets[];
extern char front_stubs[], front_stubs_end[], front_enter[], front_on[];

/* The call that came by PMPI_X though a profiling library wraps MPI_X, from 1; 0 = none. */
__thread uint32_t front_note __attribute__((visibility("hidden"), tls_model("initial-exec")));

void *front_resolve(uint64_t index, void *caller, uint32_t by_pmpi) __attribute__((visibility("hidden")));

/* Saves what a call carries in registers, resolves all slots, then makes the call. The stub pushed the index; on
 * aarch64 it is in w17. */
#ifdef __aarch64__
__asm__("	.text\n"
	"	.hidden front_lazy\n"
	"	.globl front_lazy\n"
	"	.type front_lazy, %function\n"
	"front_lazy:\n"
	"	stp x29, x30, [sp, #-224]!\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]; stp x2, x3, [sp, #32]; stp x4, x5, [sp, #48]; stp x6, x7, [sp, #64]; str x8, "
	"[sp, #80]\n"
	"	stp q0, q1, [sp, #96]; stp q2, q3, [sp, #128]; stp q4, q5, [sp, #160]; stp q6, q7, [sp, #192]\n"
	"	mov w0, w17; mov x1, x30; mov w2, w16\n"
	"	bl front_resolve\n"
	"	mov x17, x0\n"
	"	ldp x0, x1, [sp, #16]; ldp x2, x3, [sp, #32]; ldp x4, x5, [sp, #48]; ldp x6, x7, [sp, #64]; ldr x8, "
	"[sp, #80]\n"
	"	ldp q0, q1, [sp, #96]; ldp q2, q3, [sp, #128]; ldp q4, q5, [sp, #160]; ldp q6, q7, [sp, #192]\n"
	"	ldp x29, x30, [sp], #224\n"
	"	br x17\n"
	"	.size front_lazy, .-front_lazy\n");
#else
__asm__("	.text\n"
	"	.hidden front_lazy\n"
	"	.globl front_lazy\n"
	"	.type front_lazy, @function\n"
	"front_lazy:\n"
	"	pushq %rax; pushq %rdi; pushq %rsi; pushq %rdx; pushq %rcx; pushq %r8; pushq %r9; pushq %r10\n"
	"	subq $128, %rsp\n"
	"	movups %xmm0, (%rsp); movups %xmm1, 16(%rsp); movups %xmm2, 32(%rsp); movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp); movups %xmm5, 80(%rsp); movups %xmm6, 96(%rsp); movups %xmm7, 112(%rsp)\n"
	"	movq 192(%rsp), %rdi; movq 200(%rsp), %rsi; movl %r11d, %edx\n"
	"	call front_resolve\n"
	"	movq %rax, 192(%rsp)\n"
	"	movups (%rsp), %xmm0; movups 16(%rsp), %xmm1; movups 32(%rsp), %xmm2; movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4; movups 80(%rsp), %xmm5; movups 96(%rsp), %xmm6; movups 112(%rsp), %xmm7\n"
	"	addq $128, %rsp\n"
	"	popq %r10; popq %r9; popq %r8; popq %rcx; popq %rdx; popq %rsi; popq %rdi; popq %rax\n"
	"	popq %r11\n"
	"	jmp *%r11\n"
	"	.size front_lazy, .-front_lazy\n");
#endif

#define FRONT_STUB_BYTES 64 /* generate.py: tool_stubs() */

struct search {
	char path[4096];
};

static int note_libmpi(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *s = context;
	(void)size;
	if (info->dlpi_name == NULL || !lookup_is_libmpi(info->dlpi_name) || strlen(info->dlpi_name) >= sizeof(s->path))
		return 0;
	memcpy(s->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
	return 1;
}

static void *loaded_libmpi(void)
{
	struct search s = {""};
	if (dl_iterate_phdr(note_libmpi, &s) == 0)
		return NULL;
	return dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD);
}

/* Where functions are looked for. */
struct scope {
	void *libmpi; /* NULL: not loaded */
	void *caller; /* the object that calls: what it was loaded with may be in no other's sight (RTLD_LOCAL) */
};

static void *object_of(void *address)
{
	Dl_info info;
	if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static int is_ours(void *function)
{
	return (char *)function >= front_stubs && (char *)function < front_stubs_end;
}

/* What the program would call, were we not there. */
static void *behind_us(const struct scope *s, const char *name)
{
	void *function = lookup(RTLD_NEXT, name);
	if (function == NULL && s->caller != NULL)
		function = lookup(s->caller, name);
	if ((function == NULL || is_ours(function)) && s->libmpi != NULL)
		function = lookup(s->libmpi, name);
	return function != NULL && !is_ours(function) ? function : NULL;
}

/* MPI_X and PMPI_X are often one function under two names; where they are two, both are the library's. */
static void find_target(const struct scope *s, const char *name, struct target *ret_target)
{
	char pmpi[256] = "P";
	*ret_target = (struct target){.name = name};
	if (strlen(name) + 2 > sizeof(pmpi))
		return;
	memcpy(pmpi + 1, name, strlen(name) + 1);
	void *first = behind_us(s, name);
	void *last = behind_us(s, pmpi);
	if (last == NULL && s->libmpi != NULL)
		last = lookup(s->libmpi, name);
	ret_target->pmpi = ret_target->next = last;
	if (first != NULL && first != last && (s->libmpi == NULL || first != lookup(s->libmpi, name)))
		ret_target->tool = first;
}

/* By the file's name: libraries with an ABI of their own know the functions of the standard's as well. */
static const char *flavour_of(void *libmpi)
{
	struct link_map *map;
	if (dlinfo(libmpi, RTLD_DI_LINKMAP, &map) == 0 &&
	    strncmp(path_name(map->l_name), "libmpi_abi", strlen("libmpi_abi")) == 0)
		return "abi";
	return lookup(libmpi, "ompi_mpi_comm_world") != NULL ? "openmpi" : "mpich";
}

/* What dlerror() says is for us: the program gets none of it. */
static mpitrace_bind_fn *open_tracer(const char *path, const char *flavour)
{
	char name[64];
	void *tracer = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *error = dlerror();
	if (tracer == NULL) {
		note_untraced("failed", "", error != NULL ? error : path);
		return NULL;
	}
	snprintf(name, sizeof(name), MPITRACE_BIND "%s", flavour);
	mpitrace_bind_fn *bind = (mpitrace_bind_fn *)lookup(tracer, name);
	if (bind == NULL) {
		(void)dlerror();
		dlclose(tracer);
		note_untraced("failed", path, ": is not a tracer for this MPI library");
		return NULL;
	}
	lookup_watch((mpitrace_closing_fn *)lookup(tracer, MPITRACE_CLOSING));
	confining_watch((mpitrace_confining_fn *)lookup(tracer, MPITRACE_CONFINING));
	return bind;
}

/* What is loaded afterwards may lie where this one was. */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
	int (*libcs)(void *) = (int (*)(void *))lookup(RTLD_NEXT, "dlclose");
	lookup_tell(handle);
	return libcs != NULL ? libcs(handle) : -1;
}

/* The tracer for this MPI beside the front. */
static const struct wrapper *bind_tracer(void *libmpi)
{
	char path[4096];
	Dl_info self;
	const char *flavour = flavour_of(libmpi);
	if (setting("MPITRACE_DIR") == NULL || dladdr((void *)(uintptr_t)front_resolve, &self) == 0 ||
	    self.dli_fname == NULL)
		return NULL;
	int dir_len = (int)(path_name(self.dli_fname) - self.dli_fname);
	if (snprintf(path, sizeof(path), "%.*slibmpitrace-%s.so", dir_len, self.dli_fname, flavour) >=
	    (int)sizeof(path))
		return NULL;
	mpitrace_bind_fn *bind = open_tracer(path, flavour);
	return bind != NULL ? bind(front_targets, front_count) : NULL;
}

/* What a program gets that asks for MPI although no MPI library is loaded: "not initialised", or an error. */
static int says_no(int *flag)
{
	*flag = 0;
	return 0;
}

static int says_error(void)
{
	return 1;
}

static void *absent(const char *name)
{
	if (strcmp(name, "MPI_Initialized") == 0 || strcmp(name, "MPI_Finalized") == 0)
		return (void *)(uintptr_t)says_no;
	return (void *)(uintptr_t)says_error;
}

/* A library that translates one MPI into another has PMPI_X as well: what passes through us is not libmpi's. */
static int is_translated(const struct scope *s)
{
	void *init = behind_us(s, "PMPI_Init");
	return init != NULL && init != lookup(s->libmpi, "PMPI_Init");
}

static void find_targets(const struct scope *s)
{
	const char *name = front_names;
	for (uint64_t i = 0; i < front_count; i++, name += strlen(name) + 1) {
		find_target(s, name, &front_targets[i]);
		if (front_targets[i].tool != NULL)
			front_targets[i].next = front_on + i * FRONT_STUB_BYTES;
	}
}

/* wrapper: NULL, the call is not traced. */
static void fill_slot(uint64_t i, void *wrapper)
{
	struct target *t = &front_targets[i];
	void *to = t->pmpi != NULL ? t->pmpi : absent(t->name);
	if (t->tool != NULL) {
		t->wrapper = wrapper != NULL && t->pmpi != NULL ? wrapper : front_on + i * FRONT_STUB_BYTES;
		to = front_enter + i * FRONT_STUB_BYTES;
	} else if (wrapper != NULL && t->pmpi != NULL) {
		to = wrapper;
	}
	/* Partner: the load in each stub (of aarch64: ldar): who sees the slot sees its target. */
	__atomic_store_n(&front_slots[i], to, __ATOMIC_RELEASE);
}

/* Both lists are sorted by name: one walk. */
static void fill_slots(const struct scope *s)
{
	find_targets(s);
	const struct wrapper *w = is_translated(s) ? NULL : bind_tracer(s->libmpi);
	for (uint64_t i = 0; i < front_count; i++) {
		while (w != NULL && w->name != NULL && strcmp(w->name, front_targets[i].name) < 0)
			w++;
		int wrapped = w != NULL && w->name != NULL && strcmp(w->name, front_targets[i].name) == 0;
		fill_slot(i, wrapped ? w->function : NULL);
	}
}

static const char *name_of(uint64_t index)
{
	const char *name = front_names;
	while (index-- > 0)
		name += strlen(name) + 1;
	return name;
}

/* No MPI library that we know is loaded, or not yet: only this call is answered. Another MPI, or what stands in for one
 * in serial programs, stays where it is. */
static void without_libmpi(const struct scope *s, uint64_t i)
{
	struct target *t = &front_targets[i];
	find_target(s, name_of(i), t);
	if (t->tool != NULL && t->pmpi == NULL)
		t->pmpi = absent(t->name);
	if (t->pmpi != NULL)
		fill_slot(i, NULL);
}

static atomic_bool asked; /* a call came */

/* struct r_debug_extended of glibc 2.35 and later: the loader's other namespaces (dlmopen). */
struct namespaces {
	struct r_debug base;
	struct namespaces *next; /* from version 2 on */
};

/* As debuggers do: glibc's name for it, `_r_debug`, may be a copy in the program that the loader does not know. */
static const struct namespaces *namespaces_of(const struct dl_phdr_info *program)
{
	for (int i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &program->dlpi_phdr[i];
		const ElfW(Dyn) *d = (const ElfW(Dyn) *)(program->dlpi_addr + h->p_vaddr);
		for (; h->p_type == PT_DYNAMIC && d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_DEBUG)
				return (const struct namespaces *)d->d_un.d_ptr;
	}
	return NULL;
}

/* The loader's lists stay as they are as long as it goes through them. */
static int find_any(struct dl_phdr_info *program, size_t size, void *context)
{
	const struct namespaces *n = namespaces_of(program);
	const char **ret_name = context;
	(void)size;
	for (; n != NULL && *ret_name == NULL; n = n->base.r_version >= 2 ? n->next : NULL)
		for (const struct link_map *m = n->base.r_map; m != NULL && *ret_name == NULL; m = m->l_next)
			if (m->l_name != NULL && lookup_is_libmpi(m->l_name))
				*ret_name = path_name(m->l_name);
	return 1;
}

__attribute__((destructor)) static void say_silent(void)
{
	char before[128];
	const char *name = NULL;
	if (atomic_load(&asked))
		return;
	dl_iterate_phdr(find_any, &name);
	if (name == NULL || setting("MPITRACE_DIR") == NULL)
		return;
	snprintf(before, sizeof(before), "%s is loaded, and no call of it came to the tracer: ", name);
	note_untraced("silent", before,
		      "there was none, or it is loaded past preloaded libraries (RTLD_DEEPBIND, dlmopen)");
}

#define WAIT_NAP_NS 1000000
#define WAIT_NAPS 1000 /* for all calls that come too early, together */

/* Somebody else fills the slots. False: that lasts. Who loads a library has the loader's lock, and may call MPI from a
 * constructor, while who fills the slots waits for that lock. */
static int wait_for_slots(atomic_int *state)
{
	static atomic_int naps;
	const struct timespec nap = {0, WAIT_NAP_NS};
	while (atomic_load(state) == 1 && atomic_fetch_add(&naps, 1) < WAIT_NAPS)
		nanosleep(&nap, NULL);
	return atomic_load(state) != 1;
}

/* This thread fills the slots. The loader takes memory for that from the program, whose malloc() may call MPI. */
static __thread int is_filler __attribute__((tls_model("initial-exec")));

/* Fill all slots, unless there is no MPI. False: that has not come to an end, and may not before this call has. */
static int resolve_all(uint64_t index, void *caller)
{
	static atomic_int state; /* 0 untouched, 1 being resolved, 2 done */
	int untouched = 0;
	UNCANCELLED;

	atomic_store(&asked, true);
	while (atomic_load(&state) != 2) {
		if (is_filler)
			return 0;
		if (!atomic_compare_exchange_strong(&state, &untouched, 1)) {
			untouched = 0;
			if (!wait_for_slots(&state))
				return 0;
			continue;
		}
		is_filler = 1;
		struct scope s = {loaded_libmpi(), object_of(caller)};
		if (s.libmpi == NULL)
			without_libmpi(&s, index);
		else
			fill_slots(&s);
		is_filler = 0;
		atomic_store(&state, s.libmpi != NULL ? 2 : 0);
		if (s.libmpi == NULL)
			return 1;
	}
	return 1;
}

/* Where that call goes on without the tracer. In the middle of dlopen() another one would end the program: then what is
 * known already, or what all see. */
static void *past_us(uint64_t index, void *caller)
{
	struct scope s = {NULL, NULL};
	struct target t = is_filler ? front_targets[index] : (struct target){0};
	if (!is_filler)
		s = (struct scope){loaded_libmpi(), object_of(caller)};
	if (t.pmpi == NULL)
		find_target(&s, name_of(index), &t);
	return t.tool != NULL ? t.tool : t.pmpi != NULL ? t.pmpi : absent(name_of(index));
}

/* Where the first call goes: as its slot says, and front_enter. */
void *front_resolve(uint64_t index, void *caller, uint32_t by_pmpi)
{
	const struct target *t = &front_targets[index];
	if (!resolve_all(index, caller))
		return past_us(index, caller);
	void *to = __atomic_load_n(&front_slots[index], __ATOMIC_ACQUIRE);
	if (to == front_enter + index * FRONT_STUB_BYTES) {
		front_note = by_pmpi != 0 ? (uint32_t)index + 1 : front_note;
		return t->wrapper;
	}
	return is_ours(to) ? absent(name_of(index)) : to; /* still lazy */
}
