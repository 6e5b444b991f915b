/* callsite.c - return addresses further up the stack: behind MPI's Fortran layer, and `stack=N` frames.
 *
 * An unwinder that reads DWARF costs a microsecond. But at one return address a frame has one size, so its
 * distance to the caller's frame is looked up once (libgcc's unwinder) and remembered: later steps are one load
 * each. A step never leaves the part of the stack that the unwinder has seen, and what it yields must be code of a
 * loaded module; else the frame is measured again. Where the size turns out to vary (alloca), the unwinder is
 * asked every time. */
#include "pmpi/modules.h"
#include "pmpi/record.h"

#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

#define FRAMES_KNOWN 4096u
#define WALK_MAX 64
#define PROBES 16

#define VARIES 0u

unsigned stack_frames;
/* The outermost stack pointer that the unwinder saw in this thread: reading below it is safe. */
static __thread uint64_t stack_top __attribute__((tls_model("initial-exec")));

static struct frame_size {
	uint64_t pc;
	uint64_t size_bytes; /* from this frame's stack pointer to its caller's; or VARIES */
} frames[FRAMES_KNOWN];

/* Return addresses in MPI's Fortran layer whose calls are of those that it makes for itself, too. */
#define QUERIES_KNOWN 256u

static struct query {
	uint64_t pc; /* 0 = an empty place */
	bool own;    /* the layer's, not the program's */
} queries[QUERIES_KNOWN];

struct walk {
	uint64_t previous_pc, previous_sp;
	int steps;
	uint64_t pc, sp;	       /* the frame whose caller is wanted */
	uint64_t caller_pc, caller_sp; /* 0: not found */
};

/* The entry of pc, or where it goes: some probes on, or over the first one when all are taken. */
static struct frame_size *place(uint64_t pc)
{
	uint32_t home = (uint32_t)((pc * 0x9e3779b97f4a7c15ull) >> 52);
	for (uint32_t i = 0; i < PROBES; i++) {
		struct frame_size *f = &frames[(home + i) % FRAMES_KNOWN];
		if (f->pc == pc || f->pc == 0)
			return f;
	}
	return &frames[home];
}

static void learn(uint64_t pc, uint64_t size_bytes)
{
	struct frame_size *f = place(pc);
	bool differs = f->pc == pc && f->size_bytes != size_bytes;
	*f = (struct frame_size){pc, differs ? VARIES : size_bytes};
}

static _Unwind_Reason_Code measure_one(struct _Unwind_Context *context, void *data)
{
	struct walk *w = data;
	uint64_t sp = _Unwind_GetCFA(context), pc = _Unwind_GetIP(context);
	if (w->previous_pc != 0 && sp > w->previous_sp) {
		learn(w->previous_pc, sp - w->previous_sp);
		if (w->previous_pc == w->pc && w->previous_sp == w->sp) {
			w->caller_pc = pc;
			w->caller_sp = sp;
		}
	}
	if (sp > stack_top)
		stack_top = sp;
	w->previous_pc = pc;
	w->previous_sp = sp;
	return ++w->steps < WALK_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static bool known_step(uint64_t *pc, uint64_t *sp)
{
	const struct frame_size *f = place(*pc);
	uint64_t up = *sp + f->size_bytes;
	if (f->pc != *pc || f->size_bytes == VARIES || up > stack_top)
		return false;
	uint64_t caller = ((const uint64_t *)up)[-1];
	if (!modules_have(caller))
		return false;
	*pc = caller;
	*sp = up;
	return true;
}

static bool step(uint64_t *pc, uint64_t *sp)
{
	struct walk w = {.pc = *pc, .sp = *sp};
	if (known_step(pc, sp))
		return true;
	_Unwind_Backtrace(measure_one, &w);
	if (w.caller_pc == 0 || !modules_have(w.caller_pc))
		return false;
	*pc = w.caller_pc;
	*sp = w.caller_sp;
	return true;
}

static bool in_fortran_layer(uint64_t pc)
{
	return pc - mpi_code_begin[0] < mpi_code_len[0] || pc - mpi_code_begin[1] < mpi_code_len[1];
}

/* Open MPI's Fortran layer asks for the size of a communicator to convert arrays (ompi_gatherv_f calls
 * MPI_Comm_size). */
static bool layer_asks(uint32_t op)
{
	return op == OP_MPI_Comm_size || op == OP_MPI_Comm_remote_size || op == OP_MPI_Comm_rank ||
	       op == OP_MPI_Comm_test_inter || op == OP_MPI_Cartdim_get || op == OP_MPI_Type_size;
}

/* The program's call comes through the layer's function of that name: mpi_comm_size_, ompi_comm_size_f,
 * MPI_COMM_SIZE ... */
static bool is_function_of(uint32_t op, uint64_t pc)
{
	Dl_info info;
	const char *want = op_names[op] + strlen("MPI_");
	if (dladdr((void *)(uintptr_t)pc, &info) == 0 || info.dli_sname == NULL)
		return true;
	return strcasestr(info.dli_sname, want) != NULL;
}

static bool is_layers_own(uint32_t op, uint64_t pc)
{
	struct query *q = &queries[(pc * 0x9e3779b97f4a7c15ull) >> 56];
	uint64_t known = __atomic_load_n(&q->pc, __ATOMIC_ACQUIRE);
	if (known == pc)
		return q->own;
	bool own = !is_function_of(op, pc);
	if (known == 0 && __atomic_compare_exchange_n(&q->pc, &known, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		q->own = own;
		__atomic_store_n(&q->pc, pc, __ATOMIC_RELEASE);
	}
	return own;
}

/* The wrapper's frame pointer was pushed below its return address: the caller's stack pointer is 16 above it. */
uint64_t callsite_behind(uint32_t op, uint64_t address, const void *frame)
{
	uint64_t pc = address, sp = (uint64_t)(uintptr_t)frame + 16;
	if (__builtin_expect(layer_asks(op), false) && in_fortran_layer(pc) && is_layers_own(op, pc))
		return 0;
	for (int i = 0; i < 8 && in_fortran_layer(pc); i++)
		if (!step(&pc, &sp))
			return address;
	return pc;
}

uint32_t callsite_frames(uint64_t *ret_frames, uint32_t max, uint64_t address, uint64_t frame)
{
	uint64_t pc = address, sp = frame + 16;
	uint32_t n = 0;
	if (frame == 0) /* not inside a call of the program: nothing to walk */
		return 0;
	while (n < max && step(&pc, &sp))
		if (!in_fortran_layer(pc))
			ret_frames[n++] = pc;
	return n;
}
