/* prctl.c - a program that forbids itself system calls, with death as the answer (seccomp(2)), dies of those that the
 * tracer makes while it records. Who has no privilege has to give up new ones before that (PR_SET_NO_NEW_PRIVS), and
 * libseccomp does so for all: the tracer is told while it may still take what it will need.
 *
 * In: prctl() of the program.  Out: it is libc's, or of who comes behind us. */
#include "pmpi/lookup.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENTS 4

static int (*behind)(int option, ...);
static mpitrace_confining_fn *confining;

/* Now, since a program may call it where none of the loader's locks may be waited for: in a child, in a handler. */
__attribute__((constructor)) static void find(void)
{
	behind = (int (*)(int, ...))lookup(RTLD_NEXT, "prctl");
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
	if ((option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) && tell != NULL)
		tell();
	return behind != NULL ? behind(option, a[0], a[1], a[2], a[3])
			      : (int)syscall(SYS_prctl, (long)option, a[0], a[1], a[2], a[3]);
}
