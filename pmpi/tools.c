/* tools.c - see tools.h. A library that wraps MPI_X and calls PMPI_X for it passes on a call of the program. But those
 * that it makes for itself (its communicator, its sums in MPI_Finalize) come the same way, and are no calls of the
 * program.
 *
 * They are told apart by the function of the library that calls, or the next one up the stack whose name is that of
 * an MPI call: MPI_Finalize does not call PMPI_Gather for the program. Looked up once for each place in the library,
 * unless helpers stand between, or the stack could not be followed: what calls those may vary, and no call of the
 * program may be lost. An executable that exports MPI functions itself holds such a library; where it keeps them to
 * itself, nothing tells them from the program.
 *
 * What a function MPI_X sends or receives by another call may stand in place of the program's, or beside it: nobody
 * knows, but where MPI begins or ends. One that makes PMPI_X in two places passes on the program's in one of them, or
 * in either. Both are counted. */
#include "pmpi/tools.h"

#include "base/path.h"
#include "pmpi/record.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#define TOOLS_MAX 16u
#define PLACES_KNOWN 1024u
#define PROBES 8
#define WALK_MAX 64

static struct range {
	uint64_t begin, end;
} tools[TOOLS_MAX];
static uint32_t ntools;
static bool front_seen;

/* What a library makes there: a call of its own; one that may stand in place of the program's; the program's; or one of
 * which that is not known. */
enum made { MADE_OWN, MADE_INSTEAD, MADE_PASSED, MADE_DOUBTFUL };

static struct place {
	uint64_t pc;	   /* 0 = empty, 1 = being written */
	uint64_t function; /* of that library, named after a call; 0: none is */
	enum made made;
} places[PLACES_KNOWN];

static const struct range *tool_of(uint64_t pc)
{
	for (uint32_t i = 0; i < ntools; i++)
		if (pc - tools[i].begin < tools[i].end - tools[i].begin)
			return &tools[i];
	return NULL;
}

/* What a library that comes behind us wraps, whatever else: it wants to know when MPI begins or ends. It can only be
 * ahead of Fortran's layer. */
static uintptr_t entries[8];
static bool program_is_tool;

static void find_entries(void)
{
	static const char *const names[] = {"mpi_init_",  "mpi_init_thread_",  "mpi_finalize_",	 "mpi_init_f08_",
					    "mpi_init__", "mpi_init_thread__", "mpi_finalize__", "mpi_finalize_f08_"};
	_Static_assert(sizeof(names) / sizeof(names[0]) == sizeof(entries) / sizeof(entries[0]), "one of each");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		entries[i] = (uintptr_t)dlsym(RTLD_DEFAULT, names[i]);
}

static bool holds_an_entry(uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i] - begin < end - begin)
			return true;
	return false;
}

/* Defined there, and not only named: the place through which an executable calls a function may pass for its
 * address. */
static bool exports_mpi(const struct range *program)
{
	for (uint32_t op = 0; op < OP_COUNT; op++) {
		uintptr_t found = (uintptr_t)dlsym(RTLD_DEFAULT, op_names[op]);
		const Elf64_Sym *symbol = NULL;
		Dl_info info;
		if (found - program->begin < program->end - program->begin &&
		    dladdr1((void *)found, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL &&
		    symbol->st_shndx != SHN_UNDEF)
			return true;
	}
	return false;
}

/* It comes first. */
static int range_of_program(struct dl_phdr_info *info, size_t size, void *context)
{
	struct range *r = context;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		r->begin = r->end == 0 || begin < r->begin ? begin : r->begin;
		r->end = begin + p->p_memsz > r->end ? begin + p->p_memsz : r->end;
	}
	return 1;
}

void tools_prepare(void)
{
	struct range program = {0};
	dl_iterate_phdr(range_of_program, &program);
	find_entries();
	program_is_tool = exports_mpi(&program);
	(void)dlerror(); /* what was not found is nothing to the program */
}

/* Modules come in the loader's order: the program, what is preloaded, the rest. */
bool tools_note(uint64_t begin, uint64_t end, const char *path, bool is_program)
{
	front_seen |= strncmp(path_name(path), "libmpitrace.so", strlen("libmpitrace.so")) == 0;
	bool is_tool = is_program ? program_is_tool : !front_seen || holds_an_entry(begin, end);
	if (ntools == TOOLS_MAX || !is_tool)
		return false;
	tools[ntools++] = (struct range){begin, end};
	return true;
}

/* MPI_Bcast, mpi_bcast_, mpi_bcast_f08_ ...: the call `op`, or another? MPI_Init and MPI_Init_thread are one. */
static bool is_name_of(const char *name, uint32_t op)
{
	static const char *const tails[] = {"", "_", "__", "_f", "_f08", "_f08_", "_f08ts_", "_c"};
	size_t len = strlen(op_names[op]);
	if (strncasecmp(name, "MPI_Init", 8) == 0 && strncmp(op_names[op], "MPI_Init", 8) == 0)
		return strcmp(op_names[op], "MPI_Initialized") != 0;
	if (strncasecmp(name, op_names[op], len) != 0)
		return false;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
		if (strcmp(name + len, tails[i]) == 0)
			return true;
	return false;
}

/* The function there, if it is named after an MPI call, which is *ret_op; else 0: programs have an MPI_Something of
 * their own, too. */
static uint64_t function_at(uint64_t pc, const char **ret_name, uint32_t *ret_op)
{
	Dl_info info;
	if (dladdr((void *)(uintptr_t)(pc - 1), &info) == 0 || info.dli_sname == NULL ||
	    strncasecmp(info.dli_sname, "MPI_", strlen("MPI_")) != 0)
		return 0;
	*ret_name = info.dli_sname;
	for (uint32_t op = 0; op < OP_COUNT; op++)
		if (op_names[op] != NULL && is_name_of(info.dli_sname, op)) {
			*ret_op = op;
			return (uintptr_t)info.dli_saddr;
		}
	return 0;
}

/* Where a library sets itself up, sums up, or is spoken to, its calls are its own. */
static bool is_frame(uint32_t op)
{
	static const char *const names[] = {"MPI_Init", "MPI_Finalize", "MPI_Session_", "MPI_Abort", "MPI_Pcontrol"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(op_names[op], names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* *ret_always: each call from there is the same. */
static struct place resolve_place(struct stream *s, uint32_t op, uint64_t address, uint64_t frame, bool *ret_always)
{
	const struct range *tool = tool_of(address);
	struct place p = {.pc = address, .made = MADE_PASSED};
	uint64_t up[WALK_MAX];
	const char *name = NULL;
	bool whole;
	uint32_t n = callsite_walk(s, frame, up, WALK_MAX, &whole), i = 0, helpers = 0, wrapper = 0;
	while (i < n && up[i] != address)
		i++;
	for (; i < n && p.function == 0 && tool_of(up[i]) == tool; i++) {
		p.function = function_at(up[i], &name, &wrapper);
		helpers += p.function == 0;
	}
	if (p.function != 0 && !is_name_of(name, op))
		p.made = is_frame(wrapper) || call_is_local(op) ? MADE_OWN : MADE_INSTEAD;
	*ret_always = p.made < MADE_PASSED ? helpers == 0 : p.function != 0 || i < n || whole;
	return p;
}

static bool remembered(uint32_t home, uint64_t address, struct place *ret_place)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		const struct place *p = &places[(home + i) % PLACES_KNOWN];
		if (__atomic_load_n(&p->pc, __ATOMIC_ACQUIRE) == address) { /* partner: the release store below */
			*ret_place = *p;
			return true;
		}
	}
	return false;
}

static bool passes_elsewhere(const struct place *from)
{
	for (uint32_t i = 0; i < PLACES_KNOWN && from->function != 0; i++) {
		uint64_t pc = __atomic_load_n(&places[i].pc, __ATOMIC_ACQUIRE); /* partner: the release store below */
		if (pc > 1 && pc != from->pc && places[i].function == from->function && places[i].made >= MADE_PASSED)
			return true;
	}
	return false;
}

static void remember(uint32_t home, const struct place *from)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct place *p = &places[(home + i) % PLACES_KNOWN];
		uint64_t none = 0;
		if (__atomic_compare_exchange_n(&p->pc, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			p->function = from->function;
			p->made = from->made;
			__atomic_store_n(&p->pc, from->pc, __ATOMIC_RELEASE); /* partner: in remembered() */
			return;
		}
	}
}

static void count(enum made made)
{
	_Atomic uint64_t *const counts[] = {[MADE_OWN] = &segfile->calls_of_tools,
					    [MADE_INSTEAD] = &segfile->calls_replaced,
					    [MADE_DOUBTFUL] = &segfile->calls_doubtful};
	if (made != MADE_PASSED)
		atomic_fetch_add_explicit(counts[made], 1, memory_order_relaxed);
}

bool tools_own(struct stream *s, uint32_t op, uint64_t address, uint64_t frame)
{
	bool always;
	struct place p;
	uint32_t home = (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 54);
	if (tool_of(address) == NULL)
		return false;
	if (!remembered(home, address, &p)) {
		p = resolve_place(s, op, address, frame, &always);
		if (p.made == MADE_PASSED && passes_elsewhere(&p))
			p.made = MADE_DOUBTFUL;
		if (always)
			remember(home, &p);
	}
	count(p.made);
	return p.made < MADE_PASSED;
}
