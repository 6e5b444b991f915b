/* front.c - the preloaded library: exports MPI_* and PMPI_* of every MPI we know (stubs generated), and on the first
 * call finds out which MPI library this process uses, loads the tracer built for it and fills the slots.
 *
 * In: LD_PRELOAD, MPITRACE_DIR.  Out: slots that lead to wrappers, or straight to the MPI library when there is nothing
 * to trace. Needs nothing but libc: in a process without MPI it does nothing at all.
 *
 * The MPI library is found among the loaded objects, not by RTLD_NEXT: programs that load it RTLD_LOCAL (mpi4py, Julia)
 * have it outside the global scope. */
#include "pmpi/front.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const char front_names[];
extern void *front_slots[];
extern const uint64_t front_count;

void *front_resolve(uint64_t index) __attribute__((visibility("hidden")));

/* Saves what a call carries in registers, resolves all slots, then makes the call. The stub pushed the index. */
__asm__("	.text\n"
	"	.hidden front_lazy\n"
	"	.globl front_lazy\n"
	"	.type front_lazy, @function\n"
	"front_lazy:\n"
	"	pushq %rax; pushq %rdi; pushq %rsi; pushq %rdx; pushq %rcx; pushq %r8; pushq %r9; pushq %r10\n"
	"	subq $128, %rsp\n"
	"	movups %xmm0, (%rsp); movups %xmm1, 16(%rsp); movups %xmm2, 32(%rsp); movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp); movups %xmm5, 80(%rsp); movups %xmm6, 96(%rsp); movups %xmm7, 112(%rsp)\n"
	"	movq 192(%rsp), %rdi\n"
	"	call front_resolve\n"
	"	movq %rax, 192(%rsp)\n"
	"	movups (%rsp), %xmm0; movups 16(%rsp), %xmm1; movups 32(%rsp), %xmm2; movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4; movups 80(%rsp), %xmm5; movups 96(%rsp), %xmm6; movups 112(%rsp), %xmm7\n"
	"	addq $128, %rsp\n"
	"	popq %r10; popq %r9; popq %r8; popq %rcx; popq %rdx; popq %rsi; popq %rdi; popq %rax\n"
	"	popq %r11\n"
	"	jmp *%r11\n"
	"	.size front_lazy, .-front_lazy\n");

struct search {
	char path[4096];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

static int is_libmpi(struct dl_phdr_info *info, size_t size, void *context)
{
	static const char *const prefixes[] = {"libmpi.so", "libmpich.so", "libmpi_ompi.so", NULL};
	struct search *s = context;
	(void)size;
	for (int i = 0; info->dlpi_name != NULL && prefixes[i] != NULL; i++)
		if (strncmp(base_name(info->dlpi_name), prefixes[i], strlen(prefixes[i])) == 0 &&
		    strlen(info->dlpi_name) < sizeof(s->path)) {
			memcpy(s->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
			return 1;
		}
	return 0;
}

static void *loaded_libmpi(void)
{
	struct search s = {""};
	if (dl_iterate_phdr(is_libmpi, &s) == 0)
		return NULL;
	return dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD);
}

/* Open the tracer for this MPI beside the front; NULL if it is not installed. */
static void *tracer_for(void *libmpi)
{
	char path[4096];
	Dl_info self;
	const char *name =
		dlsym(libmpi, "ompi_mpi_comm_world") != NULL ? "libmpitrace-openmpi.so" : "libmpitrace-mpich.so";
	if (dladdr((void *)(uintptr_t)front_resolve, &self) == 0 || self.dli_fname == NULL)
		return NULL;
	size_t dir_len = (size_t)(base_name(self.dli_fname) - self.dli_fname);
	if (dir_len + strlen(name) >= sizeof(path))
		return NULL;
	memcpy(path, self.dli_fname, dir_len);
	memcpy(path + dir_len, name, strlen(name) + 1);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static const struct wrapper *bind_tracer(void *libmpi)
{
	if (secure_getenv("MPITRACE_DIR") == NULL)
		return NULL;
	void *tracer = tracer_for(libmpi);
	if (tracer == NULL)
		return NULL;
	mpitrace_bind_fn *bind = (mpitrace_bind_fn *)dlsym(tracer, MPITRACE_BIND);
	return bind != NULL ? bind(libmpi) : NULL;
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

static void *real(void *libmpi, const char *name)
{
	char pmpi[256] = "P";
	if (libmpi == NULL || strlen(name) + 2 > sizeof(pmpi))
		return NULL;
	memcpy(pmpi + 1, name, strlen(name) + 1);
	void *function = dlsym(libmpi, pmpi);
	return function != NULL ? function : dlsym(libmpi, name);
}

/* Both lists are sorted by name: one walk. */
static void fill_slots(void *libmpi)
{
	const struct wrapper *w = bind_tracer(libmpi);
	const char *name = front_names;
	for (uint64_t i = 0; i < front_count; i++, name += strlen(name) + 1) {
		void *to = real(libmpi, name);
		while (w != NULL && w->name != NULL && strcmp(w->name, name) < 0)
			w++;
		if (to != NULL && w != NULL && w->name != NULL && strcmp(w->name, name) == 0)
			to = w->function;
		if (to == NULL)
			to = absent(name);
		__atomic_store_n(&front_slots[i], to, __ATOMIC_RELEASE);
	}
}

static const char *name_of(uint64_t index)
{
	const char *name = front_names;
	while (index-- > 0)
		name += strlen(name) + 1;
	return name;
}

/* Fill all slots, unless MPI is not loaded (yet): then only this call is answered. Returns where to go. */
void *front_resolve(uint64_t index)
{
	static atomic_int state; /* 0 untouched, 1 being resolved, 2 done */
	int untouched = 0;

	while (atomic_load(&state) != 2) {
		if (!atomic_compare_exchange_strong(&state, &untouched, 1)) {
			untouched = 0;
			sched_yield();
			continue;
		}
		void *libmpi = loaded_libmpi();
		if (libmpi == NULL) {
			atomic_store(&state, 0);
			return absent(name_of(index));
		}
		fill_slots(libmpi);
		atomic_store(&state, 2);
	}
	return __atomic_load_n(&front_slots[index], __ATOMIC_ACQUIRE);
}
