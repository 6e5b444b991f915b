/* callsite.c - return addresses further up the stack: behind MPI's Fortran layer, and `stack=N` frames.
 *
 * An unwinder that reads DWARF costs a microsecond. But at one return address a frame has one size, so its
 * distance to the caller's frame is looked up once (libgcc's unwinder) and remembered: later steps are one load each.
 * What a step yields must be code of a loaded module, else the frame is measured again. */
#include "pmpi/modules.h"
#include "pmpi/record.h"

#include <pthread.h>
#include <unwind.h>

#define FRAMES_KNOWN 4096u
#define WALK_MAX 64
#define PROBES 16

unsigned stack_frames;

static struct frame_size {
	uint64_t pc;
	uint64_t size_bytes; /* from this frame's stack pointer to its caller's */
} frames[FRAMES_KNOWN];

struct walk {
	uint64_t previous_pc, previous_sp;
	int steps;
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

static _Unwind_Reason_Code measure_one(struct _Unwind_Context *context, void *data)
{
	struct walk *w = data;
	uint64_t sp = _Unwind_GetCFA(context);
	if (w->previous_pc != 0 && sp > w->previous_sp)
		*place(w->previous_pc) = (struct frame_size){w->previous_pc, sp - w->previous_sp};
	w->previous_pc = _Unwind_GetIP(context);
	w->previous_sp = sp;
	return ++w->steps < WALK_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* Where this thread's stack ends: a frame whose size varies (alloca) may lead anywhere, but must not lead out. */
static uint64_t stack_end(void)
{
	static __thread uint64_t end __attribute__((tls_model("initial-exec")));
	pthread_attr_t attr;
	void *base;
	size_t len_bytes;
	if (end == 0 && pthread_getattr_np(pthread_self(), &attr) == 0) {
		if (pthread_attr_getstack(&attr, &base, &len_bytes) == 0)
			end = (uint64_t)(uintptr_t)base + len_bytes;
		pthread_attr_destroy(&attr);
	}
	return end;
}

static bool known_step(uint64_t *pc, uint64_t *sp)
{
	const struct frame_size *f = place(*pc);
	if (f->pc != *pc)
		return false;
	uint64_t up = *sp + f->size_bytes;
	if (up - 8 < *sp || up > stack_end())
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
	struct walk w = {0};
	if (known_step(pc, sp))
		return true;
	_Unwind_Backtrace(measure_one, &w);
	return known_step(pc, sp);
}

static bool in_fortran_layer(uint64_t pc)
{
	return pc - mpi_code_begin[0] < mpi_code_len[0] || pc - mpi_code_begin[1] < mpi_code_len[1];
}

/* The wrapper's frame pointer was pushed below its return address: the caller's stack pointer is 16 above it. */
uint64_t callsite_behind(uint64_t address, const void *frame)
{
	uint64_t pc = address, sp = (uint64_t)(uintptr_t)frame + 16;
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
