/* tools.c - see tools.h. A library that wraps MPI_X and calls PMPI_X for it passes on a call of the program. But those
 * that it makes for itself (its communicator, its sums in MPI_Finalize) come the same way, and are no calls of the
 * program.
 *
 * They are told apart by the function of the library that calls, or the next one up the stack whose name is that of an
 * MPI call: MPI_Finalize does not call PMPI_Gather for the program. Found by libgcc's unwinder, once for each place in
 * the library, unless helpers stand between: what calls those may vary, and no call of the program may be lost.
 * Libraries that are linked into the executable are not told from the program. */
#include "pmpi/tools.h"

#include "pmpi/op_names.h"
#include "pmpi/library.h"

#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

#define TOOLS_MAX 16u
#define PLACES_KNOWN 1024u
#define WALK_MAX 64

static struct range {
	uint64_t begin, end;
} tools[TOOLS_MAX];
static uint32_t ntools;
static bool front_seen;

static struct place {
	uint64_t pc; /* 0 = empty, 1 = being written */
	bool own;
} places[PLACES_KNOWN];

static const struct range *tool_of(uint64_t pc)
{
	for (uint32_t i = 0; i < ntools; i++)
		if (pc - tools[i].begin < tools[i].end - tools[i].begin)
			return &tools[i];
	return NULL;
}

/* Behind us it can only be ahead of Fortran's layer. Whatever it wraps, it wants to know when MPI begins or ends. */
static bool holds_an_entry(uint64_t begin, uint64_t end)
{
	static const char *const names[] = {"mpi_init_",  "mpi_init_thread_",  "mpi_finalize_",	 "mpi_init_f08_",
					    "mpi_init__", "mpi_init_thread__", "mpi_finalize__", "mpi_finalize_f08_"};
	static uintptr_t entries[sizeof(names) / sizeof(names[0])];
	static bool looked;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !looked; i++)
		entries[i] = (uintptr_t)dlsym(RTLD_DEFAULT, names[i]);
	looked = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (entries[i] - begin < end - begin)
			return true;
	return false;
}

/* Modules come in the loader's order: the program, what is preloaded, the rest. */
bool tools_note(uint64_t begin, uint64_t end, const char *path)
{
	const char *slash = strrchr(path, '/');
	bool is_libmpi = (uintptr_t)pmpi.MPI_Init - begin < end - begin;
	front_seen |= strncmp(slash != NULL ? slash + 1 : path, "libmpitrace.so", strlen("libmpitrace.so")) == 0;
	if (ntools == TOOLS_MAX || is_libmpi || (front_seen && !holds_an_entry(begin, end)))
		return false;
	tools[ntools++] = (struct range){begin, end};
	return true;
}

struct walk {
	const struct range *tool;
	uint64_t address;
	char name[128]; /* of the function that is named after an MPI call; empty: none */
	int steps, helpers;
	bool inside;
};

static _Unwind_Reason_Code look_at(struct _Unwind_Context *context, void *data)
{
	struct walk *w = data;
	Dl_info info;
	uint64_t pc = _Unwind_GetIP(context);
	w->inside |= pc == w->address;
	if (++w->steps > WALK_MAX || (w->inside && tool_of(pc) != w->tool))
		return _URC_END_OF_STACK;
	if (!w->inside)
		return _URC_NO_REASON;
	if (dladdr((void *)(uintptr_t)(pc - 1), &info) == 0 || info.dli_sname == NULL ||
	    strncasecmp(info.dli_sname, "MPI_", strlen("MPI_")) != 0) {
		w->helpers++;
		return _URC_NO_REASON;
	}
	strncat(w->name, info.dli_sname, sizeof(w->name) - 1);
	return _URC_END_OF_STACK;
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

static bool is_own(const struct range *tool, uint32_t op, uint64_t address, bool *ret_always)
{
	struct walk w = {.tool = tool, .address = address};
	_Unwind_Backtrace(look_at, &w);
	bool own = w.name[0] != '\0' && !is_name_of(w.name, op);
	*ret_always = !own || w.helpers == 0;
	return own;
}

bool tools_own(uint32_t op, uint64_t address)
{
	const struct range *tool = tool_of(address);
	bool always;
	if (tool == NULL)
		return false;
	struct place *p = &places[(address * 0x9e3779b97f4a7c15ull) >> 54];
	uint64_t known = __atomic_load_n(&p->pc, __ATOMIC_ACQUIRE); /* partner: the release store below */
	if (known == address)
		return p->own;
	bool own = is_own(tool, op, address, &always);
	if (always && known == 0 &&
	    __atomic_compare_exchange_n(&p->pc, &known, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		p->own = own;
		__atomic_store_n(&p->pc, address, __ATOMIC_RELEASE);
	}
	return own;
}
