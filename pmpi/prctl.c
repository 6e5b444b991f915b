/* prctl.c - a program that forbids itself system calls, with death as the answer (seccomp(2)), dies of those that the
 * tracer makes while it records. Who has no privilege has to give up new ones before that (PR_SET_NO_NEW_PRIVS), and
 * libseccomp does so for all; seccomp(2) itself has no function in libc, so it comes by syscall(). The tracer is told
 * while it may still take what it will need.
 *
 * In: prctl() and syscall() of the program.  Out: they are libc's, or of who comes behind us. */
#include "pmpi/lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENTS 4

typedef long syscall_fn(long number, long a, long b, long c, long d, long e, long f);

static syscall_fn find_syscall;
syscall_fn *syscall_behind __attribute__((visibility("hidden"))) = find_syscall;
void syscall_tell(long number, long a) __attribute__((visibility("hidden")));
static int (*behind)(int option, ...);
static mpitrace_confining_fn *confining;

/* Now, since a program may call it where none of the loader's locks may be waited for: in a child, in a handler. */
__attribute__((constructor)) static void find(void)
{
	behind = (int (*)(int, ...))lookup(RTLD_NEXT, "prctl");
	syscall_fn *next = (syscall_fn *)lookup(RTLD_NEXT, "syscall");
	if (next != NULL)
		syscall_behind = next;
}

/* Before that: of another library's constructor. */
static long find_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	syscall_fn *next = (syscall_fn *)lookup(RTLD_NEXT, "syscall");
	if (next != NULL)
		return next(number, a, b, c, d, e, f);
	errno = ENOSYS;
	return -1;
}

static bool confines(int option)
{
	return option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP;
}

void confining_watch(mpitrace_confining_fn *tell)
{
	__atomic_store_n(&confining, tell, __ATOMIC_RELEASE); /* partner: in prctl() */
}

__attribute__((visibility("default"))) int prctl(int option, ...)
{
	mpitrace_confining_fn *tell = __atomic_load_n(&confining, __ATOMIC_ACQUIRE); /* partner: confining_watch() */
	unsigned long a[ARGUMENTS];
	va_list list;
	va_start(list, option);
	for (int i = 0; i < ARGUMENTS; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	if (confines(option) && tell != NULL)
		tell();
	return behind != NULL ? behind(option, a[0], a[1], a[2], a[3])
			      : (int)syscall(SYS_prctl, (long)option, a[0], a[1], a[2], a[3]);
}

void syscall_tell(long number, long a)
{
	mpitrace_confining_fn *tell = __atomic_load_n(&confining, __ATOMIC_ACQUIRE); /* partner: confining_watch() */
	bool confines_by_seccomp = number == SYS_seccomp && a != SECCOMP_GET_ACTION_AVAIL;
	if ((confines_by_seccomp || (number == SYS_prctl && confines((int)a))) && tell != NULL)
		tell();
}

/* Nothing of the caller's stack is read or written: fewer arguments may have been passed, and other threads write what
 * stands where the last one would be. */
#define STRING(x) #x
#define NUMBER(x) STRING(x)

/* clang-format off */
#ifdef __aarch64__
__asm__("	.text\n"
	"	.globl syscall\n"
	"	.type syscall, %function\n"
	"syscall:\n"
	"	hint #34\n" /* bti c */
	"	cmp x0, #" NUMBER(SYS_seccomp) "\n"
	"	b.eq 1f\n"
	"	cmp x0, #" NUMBER(SYS_prctl) "\n"
	"	b.eq 1f\n"
	"0:	adrp x17, syscall_behind\n"
	"	ldr x17, [x17, :lo12:syscall_behind]\n"
	"	br x17\n"
	"1:	stp x29, x30, [sp, #-80]!\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]\n"
	"	stp x2, x3, [sp, #32]\n"
	"	stp x4, x5, [sp, #48]\n"
	"	str x6, [sp, #64]\n"
	"	bl syscall_tell\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x2, x3, [sp, #32]\n"
	"	ldp x4, x5, [sp, #48]\n"
	"	ldr x6, [sp, #64]\n"
	"	ldp x29, x30, [sp], #80\n"
	"	b 0b\n"
	"	.size syscall, .-syscall\n");
#else
__asm__("	.text\n"
	"	.globl syscall\n"
	"	.type syscall, @function\n"
	"syscall:\n"
	"	endbr64\n"
	"	cmpq $" NUMBER(SYS_seccomp) ", %rdi\n"
	"	je 1f\n"
	"	cmpq $" NUMBER(SYS_prctl) ", %rdi\n"
	"	je 1f\n"
	"0:	jmp *syscall_behind(%rip)\n"
	"1:	pushq %rdi; pushq %rsi; pushq %rdx; pushq %rcx; pushq %r8; pushq %r9; subq $8, %rsp\n"
	"	call syscall_tell\n"
	"	addq $8, %rsp; popq %r9; popq %r8; popq %rcx; popq %rdx; popq %rsi; popq %rdi\n"
	"	jmp 0b\n"
	"	.size syscall, .-syscall\n");
#endif
/* clang-format on */
