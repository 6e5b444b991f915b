/* callsite.c - return addresses further up the stack: behind MPI's Fortran layer, and `stack=N` frames.
 *
 * How a caller's frame is found follows from the place in the code alone (cfi.h): looked up once a place and
 * remembered, so that a step is two loads, also where frames vary in size (alloca). Nothing is known of the stack but
 * that the frame of the wrapper is on it: it may be a fibre's, of a signal, in pieces, gone tomorrow. So a load is made
 * where that frame's page is, or within the thread's own stack, which stays; anything else is asked for first. What a
 * step yields must be code of a loaded module. */
#include "pmpi/cfi.h"
#include "pmpi/confined.h"
#include "pmpi/modules.h"
#include "pmpi/record.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ull	     /* or a part of one */
#define OWN_PAGES_MAX 65536u /* looked at in one go */
#define RULES_KNOWN 8192u
#define PROBES 16
#define BEING_WRITTEN 1u
#define LAYER_FRAMES_MAX 8
#define INSIDE_FRAMES_MAX 128 /* between a call of the program and one that MPI makes for it */

unsigned stack_frames;

static struct known_rule {
	uint64_t pc; /* 0 = an empty place, or BEING_WRITTEN */
	struct frame_rule rule;
} rules[RULES_KNOWN];

/* Calls of those that MPI's Fortran layer makes for itself, too, by the place in that function of the layer which the
 * program called. */
#define QUERIES_KNOWN 256u

static struct query {
	uint64_t key; /* 0 = an empty place, or BEING_WRITTEN */
	bool own;     /* the layer's, not the program's */
} queries[QUERIES_KNOWN];

/* A function that has called another. */
struct frame {
	uint64_t pc, sp, bp;
	struct frame_rule rule;
	bool last; /* there is none above */
};

/* ---- memory ---- */

/* mincore(2) first: the kernel grows the main stack down to any address that it is asked to read below it. Then a
 * system call that reads eight bytes and does nothing with them, since its first argument is nonsense. */
static bool is_readable(uint64_t page)
{
	unsigned char in_core;
	int saved = errno;
	bool good = !confined && mincore((void *)(uintptr_t)(page & -page_bytes), 1, &in_core) == 0 &&
		    syscall(SYS_rt_sigprocmask, ~0, page, NULL, 8) != 0 && errno == EINVAL;
	errno = saved;
	return good;
}

/* All that lies between a frame and the top of the thread's own stack can be read: then it is a frame of that stack.
 * After n times in vain the next 2^n requests are not looked into. */
COLD static bool is_on_own_stack(struct own_stack *own, uint64_t frame)
{
	uint64_t page = (frame & -PAGE) + PAGE;
	if (own->skip > 0) {
		own->skip--;
		return false;
	}
	if (own->low - page <= OWN_PAGES_MAX * PAGE)
		while (page < own->low && is_readable(page))
			page += PAGE;
	bool good = page == own->low;
	own->vain = good || own->vain == 16 ? own->vain : own->vain + 1;
	own->skip = good ? 0 : 1u << own->vain;
	own->low = good ? frame & -PAGE : own->low;
	return good;
}

/* `frame` is one on the stack that runs: its own page is there. */
static bool load(struct stream *s, uint64_t frame, uint64_t at, uint64_t *ret_value)
{
	struct own_stack *own = &s->own_stack;
	bool near = (at ^ frame) < PAGE, below_top = at >= frame && at < own->high;
	if (at % 8 != 0)
		return false;
	if (!near && !(below_top && (frame >= own->low || is_on_own_stack(own, frame))) && (at & -PAGE) != own->asked) {
		if (!is_readable(at & -PAGE))
			return false;
		own->asked = at & -PAGE;
	}
	*ret_value = *(const uint64_t *)(uintptr_t)at;
	return true;
}

/* ---- steps ---- */

/* False: no code of a loaded module. `k`: an empty place, or NULL. */
COLD static bool learn(struct known_rule *k, uint64_t pc, struct frame_rule *ret_rule)
{
	uint64_t none = 0;
	if (!modules_have(pc))
		return false;
	*ret_rule = cfi_rule(pc);
	if (k == NULL ||
	    !__atomic_compare_exchange_n(&k->pc, &none, BEING_WRITTEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return true;
	k->rule = *ret_rule;
	__atomic_store_n(&k->pc, pc, __ATOMIC_RELEASE); /* partner: the load in rule_of() */
	return true;
}

static bool rule_of(uint64_t pc, struct frame_rule *ret_rule)
{
	uint32_t home = (uint32_t)((pc * 0x9e3779b97f4a7c15ull) >> 51);
	for (uint32_t i = 0; i < PROBES; i++) {
		struct known_rule *k = &rules[(home + i) % RULES_KNOWN];
		uint64_t known = __atomic_load_n(&k->pc, __ATOMIC_ACQUIRE);
		if (known == pc)
			*ret_rule = k->rule;
		if (known == pc || known == 0)
			return known == pc || learn(k, pc, ret_rule);
	}
	return learn(NULL, pc, ret_rule); /* all places that it may have are taken */
}

/* Of a function of ours with that frame: the caller's frame pointer, and the return address behind it. */
static const uint64_t *pushed_in(uint64_t frame)
{
#ifdef __aarch64__ /* anywhere in the frame: the last one below its end (AAPCS64, 6.4.6) */
	const uint64_t *record = __builtin_frame_address(0);
	while (record[0] > (uintptr_t)record && record[0] < frame + 16)
		record = (const uint64_t *)(uintptr_t)record[0];
	return record;
#else
	return (const uint64_t *)(uintptr_t)frame;
#endif
}

/* A return address without the signature that the processor may have put into its upper bits; older ones do nothing. */
static uint64_t unsigned_address(uint64_t address)
{
#ifdef __aarch64__
	register uint64_t x30 __asm__("x30") = address;
	__asm__("hint #7" : "+r"(x30)); /* xpaclri */
	return x30;
#else
	return address;
#endif
}

/* The caller of the wrapper with that frame. */
static bool first(struct stream *s, uint64_t frame, struct frame *ret_frame)
{
	const uint64_t *pushed = pushed_in(frame);
	s->own_stack.asked = 0; /* what was there may be gone */
	*ret_frame = (struct frame){.pc = unsigned_address(pushed[1]), .sp = frame + 16, .bp = pushed[0]};
	return rule_of(ret_frame->pc, &ret_frame->rule);
}

/* To the caller. False: there is none that is known. */
static bool step(struct stream *s, uint64_t from, struct frame *f)
{
	struct frame_rule r = f->rule;
	struct frame up = {.bp = r.bp_from == BP_SAME ? f->bp : 0};
	uint64_t cfa = (r.cfa_from == CFA_SP ? f->sp : f->bp) + (uint64_t)(int64_t)r.cfa_offset;
	f->last = r.cfa_from == CFA_END;
	if (r.cfa_from <= CFA_END || (r.cfa_from == CFA_AT_BP && !load(s, from, cfa, &cfa)))
		return false;
	if (cfa <= f->sp || !load(s, from, cfa + (uint64_t)(int64_t)r.ra_offset, &up.pc))
		return false;
	up.pc = unsigned_address(up.pc);
	f->last = up.pc == 0;
	if (!rule_of(up.pc, &up.rule))
		return false;
	if (r.bp_from == BP_AT_CFA || r.bp_from == BP_AT_BP) {
		uint64_t base = r.bp_from == BP_AT_CFA ? cfa : f->bp;
		if (!load(s, from, base + (uint64_t)(int64_t)r.bp_offset, &up.bp))
			return false;
	}
	up.sp = cfa;
	*f = up;
	return true;
}

static bool in_fortran_layer(uint64_t pc)
{
	return pc - mpi_code_begin[0] < mpi_code_len[0] || pc - mpi_code_begin[1] < mpi_code_len[1];
}

/* What the layer calls for itself, too. Open MPI's asks for the size of a communicator to convert arrays
 * (ompi_gatherv_f calls MPI_Comm_size); MPICH's makes a datatype for a section of an array (mpi_sendrecv_f08ts_,
 * by helpers without a name, calls MPI_Type_create_hvector, MPI_Type_commit and MPI_Type_free). */
static bool layer_calls(uint32_t op)
{
	switch (op) {
	case OP_MPI_Comm_size:
	case OP_MPI_Comm_remote_size:
	case OP_MPI_Comm_rank:
	case OP_MPI_Comm_test_inter:
	case OP_MPI_Cartdim_get:
	case OP_MPI_Type_size:
	case OP_MPI_Type_contiguous:
	case OP_MPI_Type_vector:
	case OP_MPI_Type_create_hvector:
	case OP_MPI_Type_commit:
	case OP_MPI_Type_free:
		return true;
	default:
		return false;
	}
}

/* The program's call comes through the layer's function of that name: mpi_comm_size_, ompi_comm_size_f,
 * MPI_COMM_SIZE ...; mpi_type_hvector_ may call MPI_Type_create_hvector. */
static bool is_function_of(uint32_t op, uint64_t pc)
{
	Dl_info info;
	const char *want = op_names[op] + strlen("MPI_");
	bool makes_type = op != OP_MPI_Type_size && strncmp(want, "Type_", strlen("Type_")) == 0;
	if (dladdr((void *)(uintptr_t)(pc - 1), &info) == 0 || info.dli_sname == NULL)
		return true;
	return strcasestr(info.dli_sname, makes_type ? "type_" : want) != NULL;
}

/* pc: in the function of the layer that the program called. */
static bool is_layers_own(uint32_t op, uint64_t pc)
{
	uint64_t key = pc ^ (uint64_t)op << 48;
	struct query *q = &queries[(key * 0x9e3779b97f4a7c15ull) >> 56];
	uint64_t known = __atomic_load_n(&q->key, __ATOMIC_ACQUIRE);
	if (known == key)
		return q->own;
	bool own = !is_function_of(op, pc);
	if (known == 0 &&
	    __atomic_compare_exchange_n(&q->key, &known, BEING_WRITTEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		q->own = own;
		__atomic_store_n(&q->key, key, __ATOMIC_RELEASE); /* partner: the load above */
	}
	return own;
}

/* Of a wrapper that the layer called at `address`: who called the layer, or `address`. *ret_layer: where. */
static uint64_t caller_of_layer(struct stream *s, uint64_t address, uint64_t frame, uint64_t *ret_layer)
{
	struct frame f;
	bool good = first(s, frame, &f);
	*ret_layer = address;
	for (int i = 0; good && i < LAYER_FRAMES_MAX && in_fortran_layer(f.pc); i++) {
		*ret_layer = f.pc;
		good = step(s, frame, &f);
	}
	return good && !in_fortran_layer(f.pc) ? f.pc : address;
}

uint64_t callsite_behind(struct stream *s, uint32_t op, uint64_t address, uint64_t frame)
{
	uint64_t layer, caller = caller_of_layer(s, address, frame, &layer);
	if (__builtin_expect(layer_calls(op), false) && in_fortran_layer(layer) && is_layers_own(op, layer))
		return 0;
	return caller;
}

/* Is the frame of the open call above that of another wrapper? *ret_by_mpi: MPI stands between them. */
static enum { INSIDE_NO, INSIDE_YES, INSIDE_UNKNOWN } is_inside(struct stream *s, uint64_t frame, bool *ret_by_mpi)
{
	uint64_t above = s->open.inside + 16, pc = 0;
	struct frame f;
	bool good = first(s, frame, &f);
	*ret_by_mpi = false;
	for (int i = 0; good && f.sp < above && i < INSIDE_FRAMES_MAX; i++) {
		pc = f.pc;
		*ret_by_mpi |= modules_is_mpi(pc);
		good = step(s, frame, &f);
	}
	if (!good || f.sp < above)
		return !good && f.last ? INSIDE_NO : INSIDE_UNKNOWN;
	return f.sp == above && modules_is_ours(pc) ? INSIDE_YES : INSIDE_NO;
}

static void count(_Atomic uint64_t *calls)
{
	atomic_fetch_add_explicit(calls, 1, memory_order_relaxed);
}

bool callsite_is_inside(struct stream *s, uint32_t op, uint64_t address, uint64_t frame)
{
	bool is_below = frame < s->open.inside, by_mpi;
	uint64_t layer;
	if (is_below && in_fortran_layer(address))
		address = caller_of_layer(s, address, frame, &layer);
	if (is_below && modules_is_mpi(address))
		return true;
	modules_note(address);
	int inside = is_below ? is_inside(s, frame, &by_mpi) : INSIDE_NO;
	if (inside == INSIDE_NO)
		count(&segfile->calls_left);
	if (inside == INSIDE_UNKNOWN)
		count(&segfile->calls_unclear);
	if (inside == INSIDE_YES && by_mpi && !modules_is_part(address))
		count(call_is_local(op) ? &segfile->calls_in_callbacks : &segfile->messages_in_callbacks);
	return inside != INSIDE_NO;
}

uint32_t callsite_walk(struct stream *s, uint64_t frame, uint64_t *ret_addresses, uint32_t max, bool *ret_whole)
{
	struct frame f;
	uint32_t n = 0;
	bool good = first(s, frame, &f);
	for (; good && n < max; good = step(s, frame, &f))
		ret_addresses[n++] = f.pc;
	*ret_whole = n > 0 && (good || f.last);
	return n;
}

uint32_t callsite_frames(struct stream *s, uint64_t *ret_frames, uint32_t max, uint64_t address)
{
	uint64_t frame = s->open.inside;
	struct frame f;
	uint32_t n = 0;
	modules_note(address); /* a call site in an object that was loaded since */
	bool good = frame != 0 && first(s, frame, &f);
	for (int i = 0; good && i < LAYER_FRAMES_MAX && f.pc != address; i++)
		good = step(s, frame, &f);
	if (!good || f.pc != address)
		return 0;
	while (n < max && step(s, frame, &f))
		if (!in_fortran_layer(f.pc))
			ret_frames[n++] = f.pc;
	return n;
}
